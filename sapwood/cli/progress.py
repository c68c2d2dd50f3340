"""What is being done, when it takes longer than a person waits without wondering: on a terminal alone, and gone when it is done."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from sapwood.words.wording import one_line

PATIENCE: Final = 1.0
"""Seconds until something is said."""
_ERASE: Final = "\r\x1b[2K"


@contextmanager
def said_if_slow(what: str, patience: float = PATIENCE) -> Generator[None]:
    """Say on the standard error what is being done if it takes longer than `patience` seconds, and take it away at the end."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    said = threading.Event()

    def say() -> None:
        said.set()
        with suppress(OSError):
            stream.write(f"{one_line(what, 70)} …")
            stream.flush()

    timer = threading.Timer(patience, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            with suppress(OSError):
                stream.write(_ERASE)
                stream.flush()
