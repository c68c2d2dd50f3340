"""A file put back to its path, from what is still open of it (S9).

1. What stands at the path gets a name of its own beside it first. What somebody puts there in that very moment is theirs to miss.
2. The path changes in one step, to a file that is whole and on the medium, and ours to write already.
3. What fails leaves everything as it was; behind that step nothing fails that matters.
4. Whoever reads meanwhile, in another thread, reads on by the same descriptor: the old file, and then the new one. If the system does not
   let it stand for another file, there is a new one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import attrs

from sapwood.store.disk import MOST_NAMES, Disk, Status, new_beside, write_all
from sapwood.store.lock import WriterLock

PIECE: Final = 1 << 20
"""Bytes that are copied at a time."""


@attrs.frozen
class PutBack:
    """What came of it."""

    reading: int
    """The descriptor for reading: the old one, unless the system did not let it stand for another file. Its lock is held."""
    writing: int
    """One for appending to the copy."""
    opened: Status
    """Which file it is."""
    moved: str | None
    """Where the path's file went, if there was one."""
    folders: Sequence[str]
    """Whose names are not on the medium yet."""


def put_back(disk: Disk, descriptor: int, path: str, lock: WriterLock) -> PutBack | None:
    """Copy an open file to its path. None if it still stands there. Raises what the disk says, and `SessionInUse`."""
    target = path
    try:
        if disk.status(descriptor).is_same_file(disk.status_at(path)):
            return None
    except FileNotFoundError:
        target = disk.real_path(path)  # a symlink that leads nowhere is no loss: it leads there again
    folder = os.path.dirname(target)  # noqa: PTH120 - the port speaks in plain text paths
    with lock.keeping_out(path):
        made = disk.make_folder(folder)
        name, writing = new_beside(disk, target, "restoring")
        try:
            _copy(disk, descriptor, writing)
            opened = disk.status(writing)
            reading, moved = _take_place(disk, name, target)
        except BaseException:
            with suppress(OSError):
                disk.close(writing)
            with suppress(OSError):
                disk.unlink(name)
            raise
    lock.give_back()
    reading = _exchanged(disk, descriptor, reading)
    lock.move(reading, path)
    return PutBack(reading, writing, opened, moved, (folder, *map(os.path.dirname, made)))


def _exchanged(disk: Disk, descriptor: int, new: int) -> int:
    try:
        disk.exchange(descriptor, new)
    except OSError:
        with suppress(OSError):
            disk.close(descriptor)
        return new
    return descriptor


def _copy(disk: Disk, source: int, target: int) -> None:
    at = 0
    while piece := disk.read(source, at, PIECE):
        at += len(piece)
        write_all(disk, target, piece)
    disk.sync(target)


def _take_place(disk: Disk, name: str, path: str) -> tuple[int, str | None]:
    """Put the copy in the path's place; it opened for reading and locked, and where the path's file went."""
    reading = disk.open_read(name)
    try:
        disk.lock(reading)  # before anybody can find it
        moved = _set_aside(disk, path)
        try:
            disk.rename(name, path)
        except BaseException:
            _undo(disk, path, moved)
            raise
    except BaseException:
        with suppress(OSError):
            disk.close(reading)
        raise
    return reading, moved


def _set_aside(disk: Disk, path: str) -> str | None:
    """A second name for what stands at the path."""
    for n in range(1, MOST_NAMES):
        with suppress(FileExistsError):
            try:
                disk.link(path, f"{path}.replaced-{n}")
            except FileNotFoundError:
                return None
            return f"{path}.replaced-{n}"
    raise FileExistsError(errno.EEXIST, "every name beside it is taken")


def _undo(disk: Disk, path: str, moved: str | None) -> None:
    """Take the second name away, if the first one still stands."""
    if moved is not None:
        with suppress(OSError):
            if disk.status_at(moved).is_same_file(disk.status_at(path)):
                disk.unlink(moved)
