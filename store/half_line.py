"""The last line of a file while somebody writes it: what was looked through for its end is not looked through again. No I/O of its own.

However often it is looked at, a line that comes piece by piece is read twice: as its pieces come, and when it is whole.
"""

from __future__ import annotations

from sapwood.store.known import TAIL
from sapwood.store.windows import Read


class HalfLine:
    """How far it was looked through. A writer may take a half line back and begin another one (S3): then it is looked at anew."""

    def __init__(self) -> None:
        self._start = 0
        self._end = 0
        self._tail = b""
        """The last bytes that were looked through."""

    def whole_lines(self, read: Read, start: int, end: int) -> bytes:
        """The whole lines of a file from `start` on, where a line begins or goes on, up to `end`, where the file ends."""
        at = self._end if self._is_there(read, start, end) else start
        came = read(at, end - at)
        whole = came.rfind(b"\n") + 1
        if not whole:
            self._tail = ((self._tail if at > start else b"") + came)[-TAIL:]
            self._start, self._end = start, at + len(came)
            return b""
        return came[:whole] if at == start else read(start, at + whole - start)

    def _is_there(self, read: Read, start: int, end: int) -> bool:
        """Whether what was looked through still stands in the file, behind the same start."""
        size = len(self._tail)
        return start == self._start and self._end <= end and size > 0 and read(self._end - size, size) == self._tail
