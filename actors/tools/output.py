"""What a command says, however much it is: both its ends, held in little memory, and shown as text that can be read. No I/O.

1. What is held is bounded, whoever reads it and when.
2. What is short is shown whole. Of what is long, whole lines are shown from both ends, and between them stands how much it was.
3. A line that is too long is cut on its own: it does not take the room of all others.
4. A return begins a line, and what is only for a terminal is left out, so that a bar of progress reads as lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

import attrs

from sapwood.actors.session_log.capping import cap
from sapwood.actors.session_log.hygiene import printable

MOST_BYTES: Final = 1 << 15
"""32 KiB, some 8,000 tokens: what a command says is seldom asked for as a whole, and several run in one answer."""
MOST_LINES: Final = 1000
"""Short lines cost more tokens a byte. An error stands at an end of such a log, and 500 lines from each hold it."""
LONGEST_LINE: Final = 2048
"""Bytes: the longest command line that a compiler's log repeats; what is longer is data."""
LATEST_BYTES: Final = 2048
"""What those who watch are shown: 25 full lines of a terminal."""
_HELD: Final = MOST_BYTES
"""Bytes that are held of each end: what is all for a terminal leaves less than that to be shown."""


@attrs.frozen(kw_only=True)
class Shown:
    text: str
    whole: bool
    """Whether nothing of it was left out."""


@attrs.define
class Ends:
    """The beginning and the end of what came."""

    size: int = 0
    """Bytes that came."""
    _breaks: int = 0
    _head: bytearray = attrs.field(factory=bytearray)
    _tail: bytearray = attrs.field(factory=bytearray)
    _lost: bool = False
    """Whether some of the middle is no longer held."""
    _last: int = ord("\n")

    @property
    def lines(self) -> int:
        """Lines that came, the last one included if it has not ended."""
        return self._breaks + (self._last not in b"\r\n")

    @property
    def is_short(self) -> bool:
        """Whether all of it may be shown, as far as bytes and lines tell."""
        return self.size <= MOST_BYTES and self.lines <= MOST_LINES

    @property
    def held(self) -> bytes:
        """All that came, as long as it is short, and a little longer."""
        return bytes(self._head + self._tail)

    def add(self, data: bytes) -> None:
        """What came next; of at least one byte."""
        self.size += len(data)
        self._breaks += data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
        if self._last == ord("\r") and data.startswith(b"\n"):
            self._breaks -= 1
        self._last = data[-1]
        room = _HELD - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * _HELD:  # twice, so that what is held is moved once in so many bytes
            del self._tail[:-_HELD]
            self._lost = True

    def latest(self) -> str:
        """The last lines so far."""
        return _readable((self._head + self._tail)[-LATEST_BYTES:]).strip("\ufffd\n")

    def shown(self) -> Shown:
        """As it is told when it has ended."""
        if self._lost:
            first, last = self._torn()
        else:
            text = _readable(self._head + self._tail).removesuffix("\n")
            if _fits(text):
                return Shown(text=text, whole=True)
            first = last = [_cut(line) for line in text.split("\n")]
            if _fits("\n".join(first)):
                return Shown(text="\n".join(first), whole=False)
        between = f"[... the middle of {self.lines:,} lines, {self.size:,} bytes, is left out ...]"
        return Shown(text="\n".join([*_some(first), between, *reversed(_some(reversed(last)))]), whole=False)

    def _torn(self) -> tuple[list[str], list[str]]:
        """The lines of both ends. The one that each was torn in is left out, if there is another."""
        first = _readable(self._head).split("\n")
        last = _readable(self._tail).removesuffix("\n").split("\n")
        return (
            [_cut(line) for line in first[:-1]] or [f"{first[0][:LONGEST_LINE]} ..."],
            [_cut(line) for line in last[1:]] or [f"... {last[0][-LONGEST_LINE:]}"],
        )


def _readable(data: bytes | bytearray) -> str:
    return printable(data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n"))


def _fits(text: str) -> bool:
    return len(text.encode()) <= MOST_BYTES and text.count("\n") < MOST_LINES


def _cut(line: str) -> str:
    return line if len(line) * 4 <= LONGEST_LINE else cap(line, LONGEST_LINE)


def _some(lines: Iterable[str]) -> list[str]:
    """As many as half of the room holds."""
    taken: list[str] = []
    room = MOST_BYTES // 2
    for line in islice(lines, MOST_LINES // 2):
        room -= len(line.encode()) + 1
        if room < 0:
            break
        taken.append(line)
    return taken
