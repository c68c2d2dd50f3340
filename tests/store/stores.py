"""Stores to test with, and what is asked of them again and again."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from sapwood.events.base import Json
from sapwood.events.codec import encode_header
from sapwood.events.entries import Header
from sapwood.events.errors import Writer
from sapwood.events.ids import EntryId, SessionId
from sapwood.store.disk import Disk, RealDisk
from sapwood.store.jsonl import JsonlStore, open_jsonl
from sapwood.store.memory import MemoryStore
from sapwood.store.port import Store
from sapwood.store.testing import StoreMaker
from tests.build import HEADER, TIME
from tests.store.faults import FaultyDisk

DATA: Final = Path(__file__).resolve().parents[1] / "data"
HEAD: Final = encode_header(HEADER) + b"\n"


def line(entry_id: str, parent: str | None = None, kind: str = "custom", **fields: Json) -> bytes:
    """An entry's line, as another program may write it."""
    return json.dumps({"type": kind, "id": entry_id, "parentId": parent, "timestamp": TIME, **fields}).encode()


def file_of(*lines: bytes, head: bytes = HEAD) -> bytes:
    return head + b"".join(one + b"\n" for one in lines)


def first_free(taken: Container[str]) -> EntryId:
    return next(EntryId(one) for one in map("n{}".format, itertools.count()) if one not in taken)


def me() -> Writer:
    return Writer(pid=os.getpid(), host="here", since=TIME)


def opened(
    path: str | Path, disk: Disk | None = None, *, new: Callable[[], Header] = lambda: HEADER, read_only: bool = False
) -> JsonlStore:
    return open_jsonl(
        path, disk=disk or RealDisk(), new=new, new_id=first_free, now=lambda: TIME, me=me, read_only=read_only
    )


def reread(path: str | Path) -> JsonlStore:
    """What is in a file, while somebody may have it open."""
    return opened(path, read_only=True)


def lines_of(store: Store) -> list[bytes]:
    return [store.line(index) for index in range(len(store.tree))]


def ids_of(store: Store) -> list[str]:
    return [store.tree.id(index) for index in range(len(store.tree))]


def shape_of(store: Store) -> list[tuple[str, str, int | None, bool, Sequence[int]]]:
    tree = store.tree
    return [
        (tree.id(index), tree.kind(index), tree.parent(index), tree.detached(index), list(tree.children(index)))
        for index in range(len(tree))
    ]


def header_of(version: int | None, session_id: str = "old") -> bytes:
    versioned = {} if version is None else {"version": version}
    return json.dumps(
        {"type": "session", **versioned, "id": session_id, "timestamp": TIME, "cwd": "/home/dev"}
    ).encode()


def old_file(*more: bytes) -> bytes:
    """A version 1 session of three entries."""
    old = [b'{"type":"message","timestamp":"t","n":%d}' % number for number in range(3)]
    return file_of(*old, *more, head=header_of(None) + b"\n")


def folder_of(path: Path) -> dict[str, bytes]:
    """The files of a folder, without the records of who writes them."""
    return {one.name: one.read_bytes() for one in path.parent.iterdir() if one.suffix != ".lock"}


class Watched:
    """A file whose bytes and time must not change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before = self._now()

    def _now(self) -> tuple[bytes, int, int]:
        status = self.path.stat()
        return self.path.read_bytes(), status.st_mtime_ns, status.st_ino

    def assert_untouched(self) -> None:
        assert self._now() == self.before


def memory_maker() -> StoreMaker:
    def reopen(store: Store) -> Store:
        lines = lines_of(store)
        store.close()
        return MemoryStore(store.header, lines)

    return StoreMaker(new=lambda: MemoryStore(HEADER), reopen=reopen)


def jsonl_maker(folder: Path) -> StoreMaker:
    """Stores in files; a write that is refused has taken 40 bytes first."""
    numbers = itertools.count()
    disks: dict[str, FaultyDisk] = {}

    def open_at(path: str) -> JsonlStore:
        disk = disks[path] = FaultyDisk()
        disk.takes_before_failing = 40
        return opened(path, disk, new=lambda: Header(version=3, id=SessionId(path), timestamp=TIME))

    def reopen(store: Store) -> Store:
        store.close()
        return open_at(store.where)

    def refusing(store: Store) -> AbstractContextManager[None]:
        return _failing_writes(disks[store.where])

    return StoreMaker(
        new=lambda: open_at(str(folder / f"{next(numbers)}.jsonl")),
        reopen=reopen,
        refusing=refusing,
        second=lambda store, read_only: opened(store.where, read_only=read_only),
    )


@contextmanager
def _failing_writes(disk: FaultyDisk) -> Generator[None]:
    with disk.failing(28, names=("write",)):
        yield
