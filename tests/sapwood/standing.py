"""Sessions that stand in folders, each written at its hour."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.entries import Header
from sapwood.events.ids import SessionId
from sapwood.events.times import iso
from tests.build import TIME, assistant, message_entry, usage, user

WRITTEN = 1_772_323_200
"""2026-03-01, in seconds."""


def put(folder: Path, name: str, said: str = "hello", cwd: str = "/home/dev", hour: int = 0) -> Path:
    """A session that was written at an hour of a day."""
    header = Header(version=3, id=SessionId(name), timestamp=TIME, cwd=cwd)
    entries = [
        msgspec.structs.replace(one, timestamp=iso(WRITTEN * 1000 + hour * 3_600_000))
        for one in (message_entry("u", user(said)), message_entry("a", assistant("yes", usage=usage(7)), "u"))
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_bytes(b"\n".join([encode_header(header), *map(encode_entry, entries), b""]))
    seconds = WRITTEN + hour * 3600
    os.utime(path, (seconds, seconds))
    return path
