"""Processes that are killed in the middle of their work, forked from one that is warm: two hundred cost one start of Python."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

Say = Callable[[str], None]


def killed(work: Callable[[Say], None], *, words: int, seconds: float) -> list[str]:
    """What a process of its own says of its work before it is killed: so many words after the first one, and so long a while, later.

    A word that the kill cut off was not said. The first one says that it is ready, and is none.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:

        def say(word: str) -> None:
            os.write(writing, word.encode() + b"\n")

        try:
            os.close(reading)
            work(say)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as heard:
        assert heard.readline().endswith(b"\n")
        lines = [heard.readline() for _ in range(words)]
        threading.Event().wait(seconds)  # the moment itself: nothing is awaited
        os.kill(pid, signal.SIGKILL)
        lines += heard.readlines()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    return [line.decode().strip() for line in lines if line.endswith(b"\n")]
