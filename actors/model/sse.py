"""Server-sent events out of bytes, however they are cut. No I/O.

1. A line ends with LF, CRLF or CR, and with nothing else: U+2028 and its like are text (M2).
2. A byte order mark before the first line is none of it. A character that two chunks share survives, and bytes that are no UTF-8 are
   replaced.
3. An event is told at the blank line behind it; a comment, and fields without data, are none.
4. What it costs does not depend on how the bytes are cut: of an unfinished line nothing is looked at twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

LARGEST: Final = 128 * 1024 * 1024
"""Bytes of one event: beyond any answer there is, and a server that never ends a line must not fill the memory."""

_END: Final = re.compile(rb"\r\n|\n|\r")
_DATA: Final = b"data: "
_BOM: Final = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """An event has more than `LARGEST` bytes, or never ends."""


class ServerEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: its name, empty if it has none, and its data, whose lines are joined by LF."""

    name: str
    data: str


class EventReader:
    """Takes chunks of bytes, and gives the events that are whole."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """What came of a line that has not ended."""
        self._waiting = 0
        """Bytes of that line."""
        self._held = 0
        """Bytes of the data of the event that has not ended."""
        self._after_cr = False
        """Whether the last byte was a CR: an LF behind it belongs to it."""
        self._begun = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that end in this chunk. Raises `EventTooLarge`."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            lines = _END.split(chunk)
        else:
            lines = chunk.split(b"\n")
        if len(lines) == 1:
            self._line.append(lines[0])
            self._waiting += len(lines[0])
            found: list[ServerEvent] = []
        else:
            lines[0] = b"".join([*self._line, lines[0]])
            self._line, self._waiting = [lines[-1]], len(lines[-1])
            found = self._events(lines[:-1])
        if self._held + self._waiting > LARGEST:
            raise EventTooLarge(f"an event has more than {LARGEST:,} bytes")
        return found

    def _events(self, lines: Iterable[bytes]) -> list[ServerEvent]:
        found: list[ServerEvent] = []
        for line in lines:
            if line.startswith(_DATA) and self._begun:  # as most lines are
                self._held += len(line) - len(_DATA)
                self._data.append(line[len(_DATA) :].decode("utf-8", "replace"))
            elif not line and self._begun:
                if self._data:
                    found.append(ServerEvent(self._name, "\n".join(self._data)))
                self._name, self._data, self._held = "", [], 0
            else:
                self._field(line)
        return found

    def _field(self, line: bytes) -> None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._held += len(value)
            self._data.append(value.decode("utf-8", "replace"))
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")
