"""What it costs to open a session as far as its tree, against a bare `msgspec.json.decode` of its lines into three fields.

Both sides read the file and cut it into lines. A real session of 2025 (version 1, a thousand entries of a kilobyte), which is not ours to
pass on and is looked for beside the checkout; and one that is made here: version 3, twenty thousand entries, text of a few hundred bytes.
Then the memory that an open session holds.

    uv run python -m benchmarks opening
"""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.harness import Ratio, compare, limit
from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.entries import SESSION_VERSION, Header, MessageEntry
from sapwood.events.errors import Writer
from sapwood.events.ids import EntryId, SessionId
from sapwood.events.messages import UserMessage
from sapwood.store.disk import RealDisk
from sapwood.store.jsonl import JsonlStore, open_jsonl
from tests.real import REAL

REPO: Final = Path(__file__).resolve().parents[1]

ENTRIES: Final = 20_000
TEXT_BYTES: Final = 300
"""A real entry has about a thousand bytes; a shorter one makes what we add weigh more."""
JUST_GROWN: Final = 22_000
"""A dict has just doubled then, and is emptiest: the worst that an entry can cost."""
AGAIN: Final = 20
"""The real session is opened in two milliseconds, which is no more than the clock's own grain."""

BOUND: Final = 2.0
MADE_BOUND: Final = 2.5
"""Of the session that is made here: its lines are shorter, so that the index weighs more; quiet it is 1.8."""
BYTES_AN_ENTRY: Final = 200.0
"""S16. Ids, index, parents, kinds, places in the file."""

TIME: Final = "2026-01-01T00:00:00.000Z"
HEADER: Final = Header(version=SESSION_VERSION, id=SessionId("s1"), timestamp=TIME, cwd="/home/dev")


class ThreeFields(msgspec.Struct, frozen=True, gc=False):
    """The least that a tree can be made of. Version 1 has no ids, so there is less to do for the bare side."""

    type: str
    id: str = ""
    parentId: str | None = None  # noqa: N815 - the wire's spelling


def bare(path: Path) -> None:
    """Read, cut, decode, and keep nothing."""
    decode = msgspec.json.Decoder(ThreeFields).decode
    for line in path.read_bytes().split(b"\n"):
        if line:
            decode(line)


def opened(path: Path, *, read_only: bool = True) -> JsonlStore:
    """An open store."""
    return open_jsonl(
        path,
        disk=RealDisk(),
        new=lambda: HEADER,
        new_id=lambda _: EntryId("ffffffff"),
        now=lambda: TIME,
        read_only=read_only,
        me=lambda: Writer(pid=0),
    )


def open_and_close(path: Path) -> None:
    """As far as the tree needs."""
    opened(path).close()


def times(count: int, work: Callable[[], None]) -> None:
    """The same work over and over."""
    for _ in range(count):
        work()


def line(number: int) -> bytes:
    """The nth entry of a chain."""
    return encode_entry(
        MessageEntry(
            id=EntryId(f"{number * 2_654_435_761 & 0xFFFFFFFF:08x}"),  # scattered, as chance would
            parent_id=EntryId(f"{(number - 1) * 2_654_435_761 & 0xFFFFFFFF:08x}") if number else None,
            timestamp=TIME,
            message=UserMessage(content="x" * TEXT_BYTES, timestamp=0),
        )
    )


def generated(path: Path, entries: int) -> Path:
    """A version 3 session of so many entries."""
    path.write_bytes(b"\n".join([encode_header(HEADER), *map(line, range(entries)), b""]))
    return path


def bytes_an_entry(path: Path) -> float:
    """What an open session holds, by Python's own count."""
    opened(path).close()
    tracemalloc.start()
    try:
        store = opened(path)
        held, _ = tracemalloc.get_traced_memory()
        store.close()
        return held / len(store.tree)
    finally:
        tracemalloc.stop()


def run() -> Iterator[Ratio]:
    """Opening over bare decoding, twice; memory."""
    with tempfile.TemporaryDirectory() as folder:
        long = generated(Path(folder) / "long.jsonl", ENTRIES)
        if REAL.exists():
            yield compare(
                "open a real session / decode its lines",
                partial(open_and_close, REAL),
                partial(bare, REAL),
                bound=BOUND,
            )
        else:
            print(f"skipped: there is no {REAL}")
        yield compare(
            f"open {ENTRIES:,} entries / decode their lines",
            partial(open_and_close, long),
            partial(bare, long),
            bound=MADE_BOUND,
        )
        fullest = generated(Path(folder) / "fullest.jsonl", JUST_GROWN)
        yield limit("bytes of memory an entry of an open session", bytes_an_entry(fullest), BYTES_AN_ENTRY)


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
