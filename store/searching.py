"""Whether a text is said anywhere in a session (S14). No I/O.

1. What is searched is what was said: texts of people and models, results of tools, summaries, names and labels; not how it is stored.
2. Letters great and small are the same.
3. Most files are passed over as they are, without a look at their lines: where the text is one that every JSON writer writes alike.
4. So much of a file is held as a block and a line come to. A line longer than `LONGEST_LINE` is searched as it is stored, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from typing import Final

from sapwood.events.codec import decode_entry
from sapwood.events.content import text_of
from sapwood.events.entries import (
    BranchSummary,
    Compaction,
    CustomMessageEntry,
    Entry,
    Label,
    MessageEntry,
    SessionInfo,
)
from sapwood.events.errors import NotAnEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import BashExecutionMessage, StoredMessage, SystemMessage
from sapwood.store.upcast import from_version_1

BLOCK: Final = 1 << 20
"""Bytes that are read at a time."""
FEW: Final = 8
"""Lines that are read between two looks whether anybody still waits. One takes some microseconds; one that is nearly an entry, half a
millisecond: it is tried in every way that there is, and a damaged file may have millions of them."""
LONGEST_LINE: Final = 1 << 24
"""Bytes of a line that is read whole: what the log takes comes to a megabyte, and an image to some."""

_WRITTEN_ALIKE: Final = re.compile(r"[A-Za-z0-9 _.,;:!?()\[\]{}*+=#%-]+")
"""Text that every writer of JSON writes as it is."""

_SAYING: Final = re.compile(rb'"(?:message|custom_message|compaction|branch_summary|session_info|label)"')
"""The kinds that `said_in` knows. To find out that a line is no entry takes 50 µs, and a damaged file may have millions of them."""


class Needle:
    """A text that is looked for."""

    def __init__(self, text: str) -> None:
        self._text = text.casefold()
        alike = _WRITTEN_ALIKE.fullmatch(text) is not None
        self._stored = re.compile(re.escape(text.encode()), re.IGNORECASE) if alike else None

    def is_in(self, text: str | None) -> bool:
        return text is not None and self._text in text.casefold()

    def steps(self, blocks: Iterable[bytes]) -> Iterator[bool]:
        """Whether it was found so far: after each block of a file, and after some lines of one. Nothing is read behind a yes."""
        rest = b""
        for block in blocks:
            data = rest + block
            end = data.rfind(b"\n") + 1
            yield (found := (yield from self._is_said_in(data[:end])))
            if found:
                return
            rest = data[end:]
            if len(rest) > LONGEST_LINE:
                yield (found := self._stored is not None and self._stored.search(rest) is not None)
                if found:
                    return
                rest = rest[-len(self._text) :]
        yield (yield from self._is_said_in(rest))

    def _is_said_in(self, lines: bytes) -> Generator[bool, None, bool]:
        """Whether it is; with a no for this step after every few lines that are read."""
        for nth, line in enumerate(filter(_SAYING.search, self._candidates(lines)), 1):
            if self._is_in_line(line):
                return True
            if nth % FEW == 0:
                yield False
        return False

    def _candidates(self, lines: bytes) -> Iterator[bytes]:
        if self._stored is None:
            yield from lines.split(b"\n")
            return
        at = 0
        while found := self._stored.search(lines, at):
            end = lines.find(b"\n", found.end())
            end = len(lines) if end < 0 else end
            yield lines[lines.rfind(b"\n", 0, found.start()) + 1 : end]
            at = end

    def _is_in_line(self, line: bytes) -> bool:
        try:
            entry = decode_entry(line)
        except NotAnEntry:
            try:  # version 1 has no ids
                entry = decode_entry(from_version_1(line, EntryId(""), None, lambda _: None))
            except NotAnEntry:
                return False
        return any(map(self.is_in, said_in(entry)))


def said_in(entry: Entry) -> Iterator[str]:
    """The texts of an entry that a person may remember."""
    match entry:
        case MessageEntry(message=message):
            yield from _said_by(message)
        case CustomMessageEntry(content=content):
            yield text_of(content)
        case (
            Compaction(summary=text)
            | BranchSummary(summary=text)
            | SessionInfo(name=str(text))
            | Label(label=str(text))
        ):
            yield text
        case _:
            pass


def _said_by(message: StoredMessage) -> Iterator[str]:
    match message:
        case SystemMessage():
            pass  # what the host says of tools and rules is in every session of it
        case BashExecutionMessage(command=command, output=output):
            yield command
            yield output
        case _:
            yield text_of(message.content)
