"""Files and processes of a size: what is made, and what it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import attrs

from sapwood.events.codec import encode_header
from tests.build import HEADER, TIME

ROOT: Final = Path(__file__).resolve().parents[2]
MB: Final = 1_000_000


def message(entry_id: str, parent: str | None, role: str, words: str) -> bytes:
    """An entry's line, made without a look at what is in it: there are hundreds of megabytes of them."""
    said = {"role": role, "content": words, "timestamp": 0}
    row = {"type": "message", "id": entry_id, "parentId": parent, "timestamp": TIME, "message": said}
    return json.dumps(row).encode() + b"\n"


def put(path: Path, lines: Iterable[bytes]) -> Path:
    with path.open("wb") as file:
        file.write(encode_header(HEADER) + b"\n")
        file.writelines(lines)
    return path


def with_a_hole(path: Path, size: int) -> Path:
    """A session that takes no room on the disk: what stands between its first and its last lines reads as zeros."""
    put(path, [message("a", None, "user", f"about {path.stem}")])
    os.truncate(path, size)
    with path.open("ab") as file:
        file.write(b"\n" + message("z", "a", "user", "the last words"))
    return path


@attrs.frozen
class Ran:
    """What a process printed, and took."""

    output: str
    first_line_after: float
    """Seconds."""
    most_memory: int
    """Bytes."""


def ran(*args: str) -> Ran:
    """A Python process, and its own figures."""
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, *args], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        after = time.perf_counter() - began
        rest = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return Ran(first + rest, after, used.ru_maxrss * 1024)
