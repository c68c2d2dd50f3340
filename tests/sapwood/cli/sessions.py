"""Session files for tests of the command line."""

from __future__ import annotations

from pathlib import Path

from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.entries import Entry
from tests.build import HEADER

DATA = Path(__file__).parents[2] / "data"
REAL = Path(__file__).parents[4] / "shared" / "data" / "pi-session-v1.jsonl"
"""A real session of a thousand entries; it is not part of the project."""


def session_file(folder: Path, *entries: Entry, name: str = "s.jsonl") -> Path:
    """A file with a header and these entries."""
    path = folder / name
    lines = [encode_header(HEADER), *map(encode_entry, entries), b""]
    path.write_bytes(b"\n".join(lines))
    return path
