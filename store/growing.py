"""A file that only grows: what is appended is in it whole, or not at all.

1. Every append begins on a fresh line, behind whatever is there (S8).
2. What a failed append left is cut off again; if the disk refuses even that, before the next append, and until then there is none.
3. Nothing but bytes of an append that nobody was told of is ever cut (S3): where somebody else wrote in between, everything stays.
4. A file that was deleted, replaced, made shorter or changed by somebody else is not written to, and never gets lines without a header: a
   `StoreConflict` (S9). One that only grew is joined with: `news` gives what came.
5. Who opens it for writing has its lock, from then until it is closed (S10).

Other errors are the system's own `OSError`s, and the store translates them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import partial
from typing import Final, Never

import msgspec

from sapwood.events.errors import Interference, SessionInUse, StoreConflict
from sapwood.store.disk import Disk, Status, write_all
from sapwood.store.half_line import HalfLine
from sapwood.store.known import Known
from sapwood.store.lock import WriterLock
from sapwood.store.restoring import put_back
from sapwood.store.windows import Window, windows

_NONE: Final = -1
"""No descriptor."""


class _Append(msgspec.Struct, frozen=True):
    """An append that may still be taken back, and what was known before it. A Struct, since each append makes one."""

    start: int
    data: bytes
    before: Known


class GrowingFile:
    """One file by its path, there or not yet there. Without a lock it is only read."""

    def __init__(self, path: str, disk: Disk, lock: WriterLock | None = None) -> None:
        self.path = path
        self._disk = disk
        self._lock = lock
        self._reading: int = _NONE
        self._writing: int = _NONE
        self._opened: Status | None = None
        """Which file it is."""
        self._known = Known()
        self._half = HalfLine()
        self._checked: int | None = None
        """How long it was when we last looked, if nothing was done since."""
        self._left_over: tuple[int, bytes] | None = None
        """Where an append began that is not finished, and what it was."""
        self._last: _Append | None = None
        self._made: str | None = None
        """The path of the file, if we made it."""
        self._to_sync: set[str] = set()
        """Folders with names in them that may not be on the medium yet."""

    def open(self, *, must_exist: bool = False) -> bool:
        """Whether there is something in the file; not if there is no file, unless it must exist. Raises `SessionInUse`."""
        try:
            self._reading = self._disk.open_read(self.path)
        except FileNotFoundError:
            if must_exist:
                raise
            return False
        if self._lock is not None:
            self._lock.take(self._reading, self.path)
        self._opened = self._disk.status(self._reading)
        self._to_sync = {os.path.dirname(self.path)}  # noqa: PTH120 - text paths; who made it may not have
        return self._opened.size > 0

    def windows(self, block: int) -> Iterator[Window]:
        """What was in it when it was opened, some `block` bytes at a time. It is known when all of it was taken."""
        size = 0 if self._opened is None else self._opened.size
        for window in windows(partial(self._disk.read, self._reading), size, block):
            self._known = self._known.read(window.data)
            yield window

    def open_for_writing(self) -> None:
        """Raise at once what the first append would (EACCES, EROFS, ENOTDIR), as far as it can be told without writing."""
        if self._reading == _NONE:
            self._disk.check_folder(os.path.dirname(self.path))  # noqa: PTH120 - the port speaks in plain text paths
        else:
            self._open_both()

    def read(self, offset: int, length: int) -> bytes:
        """Bytes that are in the file. ESTALE if somebody has taken them out of it."""
        data = self._disk.read(self._reading, offset, length)
        if len(data) < length:
            raise OSError(errno.ESTALE, "somebody else made the file shorter")
        return data

    def news(self) -> list[tuple[int, bytes]]:
        """Whole lines that somebody else wrote since it was last asked, and where. Raises `StoreConflict`."""
        if self._reading == self._writing == _NONE:
            return []
        end, size = self._look(), self._known.size
        if end > size and (whole := self._half.whole_lines(partial(self._disk.read, self._reading), size, end)):
            self._known = self._known.theirs(whole)
        self._checked = end
        return self.before_ours()

    def before_ours(self) -> list[tuple[int, bytes]]:
        """The same as far as it stands before the last append. Asks no disk."""
        found = self._known.unseen
        if not found:
            return []
        self._known = self._known.seen()
        return [(start, data) for start, data in found if data]

    def append(self, data: bytes) -> int:
        """Add whole lines, and make the file if there was none; where they begin. Raises `StoreConflict`, besides what the disk says."""
        self._last = None
        try:
            if _NONE in (self._reading, self._writing):
                self._open_both()
            end = self._look() if self._checked is None else self._checked
            fresh = b"" if end == 0 or self._ends_a_line(end) else b"\n"
            between = self._write(end, fresh + data)
        except SessionInUse:
            self._let_go()
            raise
        except BaseException:
            if self._made is not None and self._known.size == 0:
                self._take_away(data)
            raise
        finally:
            self._checked = None
        before = self._known
        start = before.size + len(between)
        self._last = _Append(start, fresh + data, before)
        self._known = before.theirs(between + fresh).ours(data) if between else before.ours(fresh + data)
        return start + len(fresh)

    def sync(self) -> None:
        """Return when everything appended is on the medium, the file's name too. Blocks."""
        if self._writing == _NONE:  # and nothing was written
            return
        self._disk.sync(self._writing)
        self._sync_folders()

    def take_back(self) -> None:
        """Undo the last append, as long as nobody was told of it; what the disk does not let us cut now is cut before the next append."""
        last, self._last = self._last, None
        # a forked child takes back nothing of its parent's
        if last is None or (self._lock is not None and self._lock.taken_elsewhere):
            return
        end = last.start + len(last.data)
        if self._known.size > end:  # what somebody wrote behind it is known: it stays, as if it were theirs
            line = last.data.lstrip(b"\n")
            self._known = self._known.told(end - len(line), line)
            return
        self._checked, self._known = None, last.before
        self._left_over = last.start, last.data
        if last.start == 0 and self._made is not None:
            self._take_away(last.data)
            return
        with suppress(OSError):
            self._cut()

    def restore(self) -> str | None:
        """Put the open file back to its path, if it was deleted or replaced; the new path of what stood there instead, if something did.

        Raises `StoreConflict` where there is nothing to put back: somebody began or changed the file, or made it shorter.
        """
        if self._lock is None:
            return None
        if self._reading == _NONE:
            with suppress(FileNotFoundError):
                self._disk.status_at(self.path)
                self._conflict("begun")
            return None
        self._lock.keep_children_out(self.path)
        if self._left_over is not None:
            self._cut()
        self._compare(self._disk.status(self._reading).size)
        put = put_back(self._disk, self._reading, self.path, self._lock)
        if put is None:
            return None
        self._let_go_of_writing()
        self._reading, self._writing, self._checked, self._made = put.reading, put.writing, None, None
        self._opened = put.opened
        self._to_sync.update(put.folders)
        with suppress(OSError):  # then with the next `sync`
            self._sync_folders()
        return put.moved

    def unlock(self) -> None:
        """Let others write it: it will only be read."""
        if self._lock is not None:
            self._lock.give_back()

    def close(self) -> None:
        """Let the file go, and its lock. What an append has left is cut off, if the disk lets us now."""
        if self._lock is None or not self._lock.taken_elsewhere:
            with suppress(OSError):
                self._cut()
        self.unlock()
        self._let_go()

    def _let_go(self) -> None:
        for descriptor in {self._reading, self._writing} - {_NONE}:
            with suppress(OSError):
                self._disk.close(descriptor)
        self._reading = self._writing = _NONE
        self._opened = None

    def _open_both(self) -> None:
        if self._reading == self._writing == _NONE:
            self._create()
        if self._reading == _NONE:
            self._reading = self._disk.open_read(self.path)
            if self._lock is not None:
                self._lock.take(self._reading, self.path)
        if self._writing == _NONE:
            self._writing = self._disk.open_append(self.path)
        if not self._disk.status(self._writing).is_same_file(self._disk.status(self._reading)):
            self._let_go_of_writing()
            self._conflict("replaced")

    def _create(self) -> None:
        self._made, path = None, self.path
        made = self._disk.make_folder(os.path.dirname(path))  # noqa: PTH120 - as above
        self._to_sync.update(map(os.path.dirname, made))
        try:
            self._writing = self._disk.create(path)
        except FileExistsError:
            with suppress(FileNotFoundError):
                self._disk.status_at(path)
                with nullcontext() if self._lock is None else self._lock.keeping_out(path):
                    self._conflict("begun")
            path = self._disk.real_path(path)  # a symlink that leads where nothing is yet
            self._writing = self._disk.create(path)
        self._made = path
        self._to_sync.add(os.path.dirname(path))  # noqa: PTH120 - as above

    def _sync_folders(self) -> None:
        for folder in sorted(self._to_sync):
            self._disk.sync_folder(folder)
            self._to_sync.remove(folder)

    def _look(self) -> int:
        """How long the file is, if it is still the one that we know, and ours to write."""
        if self._lock is not None:
            self._lock.keep_children_out(self.path)
        if self._left_over is not None:
            self._cut()
        try:
            here = self._disk.status_at(self.path)
        except FileNotFoundError:
            self._conflict("deleted")
        self._opened = self._opened or self._disk.status(self._reading if self._writing == _NONE else self._writing)
        if not here.is_same_file(self._opened):
            self._conflict("replaced")
        self._compare(here.size)
        return here.size

    def _compare(self, size: int) -> None:
        """Whether what we know is still in the file."""
        known, tail = self._known.size, self._known.tail
        if size < known:
            self._conflict("shortened")
        if known == 0 < size:
            self._conflict("begun")
        if tail and self._disk.read(self._reading, known - len(tail), len(tail)) != tail:
            self._conflict("changed")

    def _conflict(self, what: Interference) -> Never:
        raise StoreConflict(self.path, what)

    def _ends_a_line(self, end: int) -> bool:
        last = self._known.tail if end == self._known.size else self._disk.read(self._reading, end - 1, 1)
        return last.endswith(b"\n")

    def _write(self, end: int, data: bytes) -> bytes:
        """Write all of it; what somebody else wrote before it, and we did not know."""
        self._left_over = end, data
        try:
            write_all(self._disk, self._writing, data)
            between = self._before(end, data)
        except BaseException:
            with suppress(OSError):  # the error that is told is the one that came first
                self._cut()
            raise
        self._left_over = None
        return between

    def _before(self, end: int, data: bytes) -> bytes:
        """What stands between what we know and these bytes of ours: at the end, unless somebody else was faster."""
        known, ended = self._known.size, self._disk.position(self._writing)
        if ended == end + len(data) and end == known:
            return b""
        came = self._disk.read(self._reading, known, ended - known)
        at = came.find(data, end - known)
        if at < 0 or not (at == end - known or data.startswith(b"\n") or came[:at].endswith(b"\n")):
            self._conflict("changed")
        return came[:at]

    def _cut(self) -> None:
        """Cut off what an append has left, if it is the last thing in the file."""
        if self._left_over is None:
            return
        end, data = self._left_over
        size = self._disk.status(self._writing).size
        left = self._disk.read(self._reading, end, size - end)
        if left and data.startswith(left):
            self._disk.truncate(self._writing, end)
        self._left_over = None

    def _take_away(self, data: bytes) -> None:
        """Unlink a file that we made and could not fill, if it has nothing but our own in it.

        One that cannot be looked at or unlinked stays ours, for the next append to go on with; one that somebody else wrote into or
        put in its place is theirs.
        """
        if self._writing != _NONE:
            try:
                if self._is_ours(data):
                    self._disk.unlink(self._made or self.path)
            except OSError:
                return
        self._left_over = self._made = None
        self.close()

    def _is_ours(self, data: bytes) -> bool:
        """Whether the file that stands at the path is the one that we made, and holds a first part of `data` and no more."""
        ours = self._disk.status(self._writing)
        try:
            here = self._disk.status_at(self.path)
        except FileNotFoundError:
            return False
        if not ours.is_same_file(here) or ours.size > len(data):
            return False
        return ours.size == 0 or data.startswith(self._disk.read(self._reading, 0, ours.size))

    def _let_go_of_writing(self) -> None:
        descriptor, self._writing = self._writing, _NONE
        if descriptor != _NONE:
            with suppress(OSError):
                self._disk.close(descriptor)
