"""Tries test files on faulty sources, one after the other, each in a fork of a process that has pytest and the libraries loaded.

    python -m tests.house.judging < jobs.json > verdicts.json

1. It runs in a copy of the tree, writes each faulty source there, and puts the right one back.
2. Nothing of ours is imported before the fork, so that each fork sees the source as it stands.
3. A verdict is pytest's exit code, or -1 for a test that did not end: by its own CPU time, or by the clock if it only waits.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Final

LOADED: Final = ("pytest", "hypothesis.strategies", "trio.testing", "msgspec", "attrs", "cattrs", "yaml", "structlog")
OPTIONS: Final = [
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",  # loaded before the fork
    "--hypothesis-profile=quick",
]
LONGEST: Final = 90.0
"""Seconds a test file: many times what the slowest takes, since the machine may be busy."""
MOST_CPU: Final = 15
"""Seconds of CPU: an endless loop is found out as soon, however busy the machine is."""
HUNG: Final = -1


def main() -> None:
    """Read jobs as `[[source, text, test], …]`, write their verdicts as `[code, …]`."""
    for name in LOADED:
        importlib.import_module(name)
    json.dump([judge(Path(source), text, test) for source, text, test in json.load(sys.stdin)], sys.stdout)


def judge(source: Path, text: str, test: str) -> int:
    right = source.read_bytes()
    source.write_text(text, encoding="utf-8")
    try:
        return in_a_fork(test)
    finally:
        source.write_bytes(right)


def in_a_fork(test: str) -> int:
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.setsid()  # so that whatever a test started ends with it
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, MOST_CPU + 1))
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            import pytest

            code = int(pytest.main([*OPTIONS, test]))
        finally:
            os._exit(code)
    return waited(child, time.monotonic() + LONGEST)


def waited(child: int, until: float) -> int:
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return HUNG if code in {-signal.SIGXCPU, -signal.SIGKILL} else code
        if time.monotonic() > until:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return HUNG
        time.sleep(0.01)


if __name__ == "__main__":
    main()
