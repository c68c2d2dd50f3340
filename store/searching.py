"""Whether a text is said anywhere in a session (S14). No I/O.

1. What is searched is what was said: texts of people and models, results of tools, summaries, names and labels; not how it is stored.
2. Letters great and small are the same.
3. Most files are passed over as they are, without a look at their lines: where the text is one that every JSON writer writes alike.
4. So much of a file is held as a block and a line come to. A line longer than `LONGEST_LINE` is searched as it is stored, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
        """After each block of a file whether it was found; no further block is taken then."""
        rest = b""
        for block in blocks:
            data = rest + block
            end = data.rfind(b"\n") + 1
            found = self._is_said_in(data[:end])
            rest = data[end:]
            if not found and len(rest) > LONGEST_LINE:
                found = self._stored is not None and self._stored.search(rest) is not None
                rest = rest[-len(self._text) :]
            yield found
            if found:
                return
        yield self._is_said_in(rest)

    def _is_said_in(self, lines: bytes) -> bool:
        return any(self._is_in_line(line) for line in self._candidates(lines))

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
        if not _SAYING.search(line):
            return False
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
