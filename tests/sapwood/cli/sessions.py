"""Session files for tests of the command line."""

from __future__ import annotations

from pathlib import Path

from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.entries import Entry
from tests.build import HEADER

DATA = Path(__file__).parents[2] / "data"
LATER = b'{"type":"session","version":9,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
"""A session of a version that there is not yet."""
READ_ONLY = "format version 9: this release writes up to 3, so it can be read only"


def session_file(folder: Path, *entries: Entry, name: str = "s.jsonl") -> Path:
    """A file with a header and these entries."""
    path = folder / name
    lines = [encode_header(HEADER), *map(encode_entry, entries), b""]
    path.write_bytes(b"\n".join(lines))
    return path
