"""A disk in memory that knows what a power cut may leave of it.

1. What was synced is kept: a file's bytes and size by `sync`, the names in a folder by `sync_folder`. Nothing else promises anything.
2. Of what was not, each sector, each size and each name may be as it was at any moment since, whatever became of the others: bytes that
   were never written to read as zeros, a file may be longer than what is in it, a name may be missing, or still be there.
3. When the cut comes, every call raises `PowerCut`, and nothing changes any more.
"""

from __future__ import annotations

import errno
import itertools
import os
import posixpath
import random
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import attrs

from sapwood.store.disk import Status

SECTOR: Final = 512
"""Bytes that a medium writes whole or not at all."""


class PowerCut(BaseException):
    """No `Exception`: nothing that runs on this machine can handle it."""


@attrs.define(eq=False)
class File:
    """A file, as it was at each moment since it was last synced; the last one is now."""

    inode: int
    moments: list[bytes] = attrs.field(factory=lambda: [b""])
    locked_by: int | None = None

    @property
    def content(self) -> bytes:
        return self.moments[-1]


@attrs.frozen
class Folder:
    """A folder; what is in it is known by its path."""


Node = File | Folder
T = TypeVar("T")
FOLDER: Final = Folder()

Choose = Callable[[int], int]
"""Which of so many moments."""


def all_lost(_moments: int) -> int:
    return 0


def all_kept(moments: int) -> int:
    return moments - 1


def any_of(seed: int) -> Choose:
    return random.Random(seed).randrange  # noqa: S311 - nobody is to be kept from guessing


class PowerDisk:
    """The calls of `Disk`, on absolute paths; it knows no links."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.cut_at: int | None = None
        """Before which call the power is cut, counted from 0."""
        self.boot = 0
        self._inodes = itertools.count(1)
        self._names: dict[str, list[Node | None]] = {"/": [FOLDER]}
        """What stood at each path at each moment since its folder was last synced; the last one stands there now."""
        self._open: dict[int, File] = {}

    def put(self, path: str, content: bytes) -> None:
        """A file that has been on the medium for long, in a folder that has too."""
        for folder in reversed(_above(path)):
            self._names[folder] = [FOLDER]
        self._names[path] = [File(next(self._inodes), [content])]

    def after(self, size: Choose, sector: Choose, name: Choose) -> PowerDisk:
        """A disk with what the medium may hold, started again."""
        disk = PowerDisk()
        disk.boot = self.boot + 1
        disk._inodes = self._inodes
        files: dict[File, File] = {}
        for path in sorted(self._names):
            node = _one_of(self._names[path], name)
            if node is None or any(folder not in disk._names for folder in _above(path)):
                continue
            if isinstance(node, File):
                node = files.setdefault(node, File(node.inode, [_medium(node.moments, size, sector)]))
            disk._names[path] = [node]
        return disk

    def _call(self, name: str) -> None:
        if self.cut_at is not None and len(self.calls) >= self.cut_at:
            raise PowerCut
        self.calls.append(name)

    def _node(self, path: str) -> Node:
        for folder in reversed(_above(path)):
            above = self._names.get(folder, [None])[-1]
            if above is None:
                raise _error(errno.ENOENT)
            if isinstance(above, File):
                raise _error(errno.ENOTDIR)
        node = self._names.get(path, [None])[-1]
        if node is None:
            raise _error(errno.ENOENT)
        return node

    def _file(self, path: str) -> File:
        node = self._node(path)
        if isinstance(node, Folder):
            raise _error(errno.EISDIR)
        return node

    def _set(self, path: str, node: Node | None) -> None:
        self._names.setdefault(path, [None]).append(node)

    def _free(self, path: str) -> None:
        if not isinstance(self._node(posixpath.dirname(path)), Folder):
            raise _error(errno.ENOTDIR)
        if self._names.get(path, [None])[-1] is not None:
            raise _error(errno.EEXIST)

    def _opened(self, file: File) -> int:
        descriptor = 1_000_000 + len(self.calls)  # no real one
        self._open[descriptor] = file
        return descriptor

    def open_read(self, path: str) -> int:
        self._call("open_read")
        return self._opened(self._file(path))

    def open_append(self, path: str) -> int:
        self._call("open_append")
        return self._opened(self._file(path))

    def create(self, path: str) -> int:
        self._call("create")
        self._free(path)
        file = File(next(self._inodes))
        self._set(path, file)
        return self._opened(file)

    def read(self, descriptor: int, offset: int, length: int) -> bytes:
        self._call("read")
        return self._open[descriptor].content[offset : offset + max(length, 0)]

    def write(self, descriptor: int, data: bytes) -> int:
        self._call("write")
        file = self._open[descriptor]
        file.moments.append(file.content + data)
        return len(data)

    def position(self, descriptor: int) -> int:
        self._call("position")
        return len(self._open[descriptor].content)

    def truncate(self, descriptor: int, size: int) -> None:
        self._call("truncate")
        file = self._open[descriptor]
        file.moments.append(file.content[:size].ljust(size, b"\0"))

    def status(self, descriptor: int) -> Status:
        self._call("status")
        return _status(self._open[descriptor])

    def status_at(self, path: str) -> Status:
        self._call("status_at")
        return _status(self._file(path))

    def sync(self, descriptor: int) -> None:
        self._call("sync")
        del self._open[descriptor].moments[:-1]

    def sync_folder(self, path: str) -> None:
        self._call("sync_folder")
        self._node(path)
        for name, moments in self._names.items():
            if posixpath.dirname(name) == path:
                del moments[:-1]

    def exchange(self, descriptor: int, new: int) -> None:
        self._call("exchange")
        old, file = self._open[descriptor], self._open.pop(new)
        self._open[descriptor] = file
        if old.locked_by == descriptor:
            old.locked_by = None
        if file.locked_by == new:
            file.locked_by = descriptor

    def close(self, descriptor: int) -> None:
        self._call("close")
        file = self._open.pop(descriptor)
        if file.locked_by == descriptor:
            file.locked_by = None

    def unlink(self, path: str) -> None:
        self._call("unlink")
        self._file(path)
        self._set(path, None)

    def rename(self, path: str, new: str) -> None:
        self._call("rename")
        self._set(new, self._file(path))
        self._set(path, None)

    def link(self, path: str, new: str) -> None:
        self._call("link")
        file = self._file(path)
        self._free(new)
        self._set(new, file)

    def make_folder(self, path: str) -> Sequence[str]:
        self._call("make_folder")
        made = [one for one in reversed([path, *_above(path)]) if self._names.get(one, [None])[-1] is None]
        for one in made:
            self._set(one, FOLDER)
        return made

    def check_folder(self, path: str) -> None:
        self._call("check_folder")

    def real_path(self, path: str) -> str:
        self._call("real_path")
        return path

    def lock(self, descriptor: int) -> bool:
        self._call("lock")
        file = self._open[descriptor]
        if file.locked_by not in {None, descriptor}:
            return False
        file.locked_by = descriptor
        return True

    def unlock(self, descriptor: int) -> None:
        self._call("unlock")
        file = self._open[descriptor]
        if file.locked_by == descriptor:
            file.locked_by = None

    def lock_holder(self, descriptor: int) -> int | None:
        self._call("lock_holder")
        return None

    def process(self, pid: int) -> str | None:
        self._call("process")
        return f"of boot {self.boot}"


def _medium(moments: Sequence[bytes], size: Choose, sector: Choose) -> bytes:
    """What may be there of a file."""
    length = len(_one_of(moments, size))
    sectors = [_one_of(moments, sector)[at : at + SECTOR].ljust(SECTOR, b"\0") for at in range(0, length, SECTOR)]
    return b"".join(sectors)[:length]


def _one_of(moments: Sequence[T], choose: Choose) -> T:
    return moments[choose(len(moments))]


def _status(file: File) -> Status:
    return Status(size=len(file.content), device=1, inode=file.inode)


def _above(path: str) -> list[str]:
    """The folders that a path lies in, the nearest first."""
    folders: list[str] = []
    while path != "/":
        path = posixpath.dirname(path)
        folders.append(path)
    return folders


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
