"""One writer a session (S10).

1. The lock is the kernel's, on the open file itself: it holds for every path, symlink and hard link to it, in this process and in others,
   and it ends with the process that holds it, however that ends. No record and no clock decides anything, and a process number only that
   a forked child, which shares the lock, is not who took it.
2. Beside the file, under the name that its path comes to, lies a record of who holds it, for whoever is refused. One that is missing,
   damaged or left behind by a dead process only means that less is known; anything else that has that name is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

import attrs
import msgspec

from sapwood.events.base import Wire
from sapwood.events.errors import SessionInUse, Writer
from sapwood.store.disk import Disk, write_all

SUFFIX: Final = ".lock"
LONGEST: Final = 4096
"""Bytes of a record that are looked at: ours has about a hundred."""
_BEGINNING: Final = b'{"pid":'
"""How a record begins. What begins otherwise, or is longer, is somebody else's: it stays, and the lock holds without a record."""


class _Record(Wire, frozen=True, kw_only=True):
    pid: int
    host: str
    since: str
    process: str
    """What tells this process from an older or a later one with its number."""


class WriterLock:
    """The right to write one session: taken for a descriptor, given back at the end."""

    def __init__(self, disk: Disk, me: Callable[[], Writer]) -> None:
        self._disk = disk
        self._me = me
        self._descriptor: int | None = None
        self._holder: Writer | None = None
        """Who took it, as others are told: this process, or the one that it was forked from. Stays when it is given back."""
        self._record: tuple[str, bytes] | None = None

    @property
    def taken_elsewhere(self) -> bool:
        """Whether the process that took it is another one than this: a forked child shares the descriptor, and has nothing to give back."""
        return self._holder is not None and self._holder.pid != os.getpid()

    def keep_children_out(self, path: str) -> None:
        """A forked child has all that its parent had, and is a second writer: `SessionInUse`."""
        if self.taken_elsewhere:
            raise SessionInUse(path, self._holder)

    def take(self, descriptor: int, path: str) -> None:
        """Take the lock of an open file. `SessionInUse` if somebody has it."""
        if not self._disk.lock(descriptor):
            raise SessionInUse(path, self._owner(descriptor, path))
        self._descriptor, self._holder = descriptor, attrs.evolve(self._me(), pid=os.getpid())
        with suppress(OSError):  # where no record can be, the lock holds all the same
            self._sign(path, self._holder)

    @contextmanager
    def keeping_out(self, path: str) -> Generator[None]:
        """Nobody else begins to write what stands at a path meanwhile, if something does. `SessionInUse` if somebody has."""
        descriptor = None
        with suppress(FileNotFoundError):
            descriptor = self._disk.open_read(path)
        if descriptor is None:
            yield
            return
        try:
            if not self._disk.lock(descriptor):
                raise SessionInUse(path, self._owner(descriptor, path))
            yield
        finally:
            with suppress(OSError):
                self._disk.unlock(descriptor)
            with suppress(OSError):
                self._disk.close(descriptor)

    def move(self, descriptor: int, path: str) -> None:
        """Go on with another open file, whose lock we have."""
        self.give_back()
        self._descriptor = descriptor
        if self._holder is not None:
            with suppress(OSError):
                self._sign(path, self._holder)

    def give_back(self) -> None:
        """Let others write. Nothing if it was never taken, or by the process that this one was forked from."""
        if self.taken_elsewhere:
            return
        if self._record is not None:
            path, record = self._record
            with suppress(OSError):
                if record.startswith(self._read(path)):  # all that could be written of it
                    self._disk.unlink(path)
            self._record = None
        if self._descriptor is not None:
            with suppress(OSError):
                self._disk.unlock(self._descriptor)
            self._descriptor = None

    def _sign(self, path: str, holder: Writer) -> None:
        disk = self._disk
        name = disk.real_path(path) + SUFFIX
        process = disk.process(holder.pid) or ""
        signed = _Record(pid=holder.pid, host=holder.host or "", since=holder.since or "", process=process)
        record = msgspec.json.encode(signed) + b"\n"
        with suppress(FileNotFoundError):
            before = self._read(name)
            if not before.startswith(_BEGINNING) or len(before) > LONGEST:
                return
            disk.unlink(name)
        descriptor = disk.create(name)
        self._record = name, record
        try:
            write_all(disk, descriptor, record)
        finally:
            disk.close(descriptor)

    def _owner(self, descriptor: int, path: str) -> Writer | None:
        """What is known of whoever holds it."""
        host = (self._holder or self._me()).host
        with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            record = msgspec.json.decode(self._read(self._disk.real_path(path) + SUFFIX), type=_Record)
            if record.host != host or self._disk.process(record.pid) == record.process:
                return Writer(pid=record.pid, host=record.host, since=record.since)
        with suppress(OSError):
            pid = self._disk.lock_holder(descriptor)
            return None if pid is None else Writer(pid=pid, host=host)
        return None

    def _read(self, name: str) -> bytes:
        descriptor = self._disk.open_read(name)
        try:
            return self._disk.read(descriptor, 0, LONGEST + 1)
        finally:
            self._disk.close(descriptor)
