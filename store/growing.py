"""A file that only grows: what is appended is in it whole, or not at all.

1. Every append begins on a fresh line, behind whatever is there (S8).
2. What a failed append left is cut off again; if the disk refuses even that, before the next append, and until then there is none.
3. Nothing but bytes of such an append is ever cut (S3): where somebody else wrote in between, everything stays.
4. A file that was deleted, replaced or made shorter by somebody else is not written to, and never gets lines without a header (S9).

Errors are the system's own `OSError`s, and the store translates them.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Final

from sapwood.store.disk import Disk

_NONE: Final = -1
"""No descriptor."""


class GrowingFile:
    """One file by its path, there or not yet there."""

    def __init__(self, path: str, disk: Disk) -> None:
        self.path = path
        self._disk = disk
        self._reading = self._writing = _NONE
        self._size = 0
        """How long the file is, as far as we know: what it was when we opened it, and what we appended."""
        self._left_over: tuple[int, bytes] | None = None
        """Where an append began that is not finished, and what it was."""

    def open(self) -> bytes:
        """What is in the file; nothing if there is none."""
        try:
            self._reading = self._disk.open_read(self.path)
        except FileNotFoundError:
            return b""
        data = self._disk.read(self._reading, 0, self._disk.status(self._reading).size)
        self._size = len(data)
        return data

    def read(self, offset: int, length: int) -> bytes:
        """Bytes that are in the file. ESTALE if somebody has taken them out of it."""
        data = self._disk.read(self._reading, offset, length)
        if len(data) < length:
            raise OSError(errno.ESTALE, "somebody else made the file shorter")
        return data

    def append(self, data: bytes) -> int:
        """Add whole lines, and make the file if there was none; where they begin.

        Raises ENOENT (deleted), EEXIST (somebody else began it) and ESTALE (replaced or made shorter), besides what the disk says.
        """
        new = self._reading == self._writing == _NONE
        try:
            self._open_both(new=new)
            end = self._end()
            fresh = b"" if end == 0 or self._disk.read(self._reading, end - 1, 1) == b"\n" else b"\n"
            start = self._write(end, fresh + data)
        except BaseException:
            if new:
                self._take_away(data)
            raise
        self._size = start + len(fresh) + len(data)
        return start + len(fresh)

    def close(self) -> None:
        """Let the file go. There is nothing left to lose: every append was finished, or was an error."""
        for descriptor in (self._reading, self._writing):
            if descriptor != _NONE:
                with suppress(OSError):
                    self._disk.close(descriptor)
        self._reading = self._writing = _NONE

    def _open_both(self, *, new: bool) -> None:
        if new:
            self._disk.make_folder(os.path.dirname(self.path))  # noqa: PTH120 - the port speaks in plain text paths
            self._writing = self._disk.create(self.path)
        if self._reading == _NONE:
            self._reading = self._disk.open_read(self.path)
        if self._writing == _NONE:
            self._writing = self._disk.open_append(self.path)

    def _end(self) -> int:
        """Where the file ends, if it is still the one that we know."""
        if self._left_over is not None:
            self._cut()
        ours, here = self._disk.status(self._writing), self._disk.status_at(self.path)
        if not (ours.is_same_file(here) and ours.is_same_file(self._disk.status(self._reading))):
            self._let_go_of_writing()  # if the file comes back to its place, the next append finds it
            raise OSError(errno.ESTALE, "another file has taken its place")
        if ours.size < self._size:
            raise OSError(errno.ESTALE, "somebody else made the file shorter")
        if self._size == 0 < ours.size:
            raise OSError(errno.EEXIST, "somebody else began a session in it")
        return ours.size

    def _write(self, end: int, data: bytes) -> int:
        """Write all of it, and say where it landed: at the end, unless somebody else was faster."""
        self._left_over = end, data
        try:
            taken = 0
            while taken < len(data):
                more = self._disk.write(self._writing, data[taken:])
                if more == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 - that error, as a number
                taken += more
            start = self._landed(end, data)
        except BaseException:
            with suppress(OSError):  # the error that is told is the one that came first
                self._cut()
            raise
        self._left_over = None
        return start

    def _landed(self, end: int, data: bytes) -> int:
        size = self._disk.status(self._writing).size
        if size == end + len(data):
            return end
        behind = self._disk.read(self._reading, end, size - end)
        at = behind.find(data)
        if at < 0 or not (at == 0 or behind[:at].endswith(b"\n")):
            raise OSError(errno.ESTALE, "somebody else wrote into the same line")
        return end + at

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
                    self._disk.unlink(self.path)
            except OSError:
                return
        self.close()
        self._left_over = None

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
        with suppress(OSError):
            self._disk.close(descriptor)
