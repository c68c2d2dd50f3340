"""What we know of a file that we and others append to: how long it is, how it ends, and what others wrote. No I/O.

1. It does not change: what comes gives another one, so that an append can be undone by going back to what was known before it.
2. What others wrote is held until it is asked for, from where a line begins: one that was not ended when we opened the file is now.
"""

from __future__ import annotations

from typing import Final

import msgspec

TAIL: Final = 64
"""Bytes before the end that are compared before each append: the id, time and content of an entry's end do not come twice."""


class Known(msgspec.Struct, frozen=True):
    """A Struct, since each append makes one."""

    size: int = 0
    """How long the file is, as far as we know: what it was when we opened it, what came, and what we appended."""
    tail: bytes = b""
    line: bytes = b""
    """The last line, if it was not ended when we opened the file, and is not yet."""
    unseen: tuple[tuple[int, bytes], ...] = ()
    """What somebody else wrote, and where."""

    def read(self, lines: bytes) -> Known:
        """With more of what was in it when we opened it, from where a line begins."""
        return Known(self.size + len(lines), _end(self.tail, lines), lines[lines.rfind(b"\n") + 1 :])

    def ours(self, data: bytes) -> Known:
        """With what we appended behind it."""
        return Known(self.size + len(data), _end(self.tail, data), b"", self.unseen)

    def theirs(self, data: bytes) -> Known:
        """With what somebody else did."""
        return Known(self.size + len(data), _end(self.tail, data), b"", (*self.unseen, self._from_line(data)))

    def seen(self) -> Known:
        """With nothing left to ask for."""
        return Known(self.size, self.tail, self.line)

    def told(self, start: int, data: bytes) -> Known:
        """With bytes in it that are to be asked for, as if somebody else had written them."""
        return Known(self.size, self.tail, self.line, (*self.unseen, (start, data)))

    def _from_line(self, data: bytes) -> tuple[int, bytes]:
        if self.line and data.startswith(b"\n"):
            return self.size + 1, data[1:]
        return self.size - len(self.line), self.line + data


def _end(tail: bytes, data: bytes) -> bytes:
    return (data if len(data) >= TAIL else tail + data)[-TAIL:]
