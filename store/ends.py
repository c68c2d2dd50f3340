"""What the beginning and the end of a session's file tell (S14). No I/O.

1. What lies between them is not guessed: a name that was given there may be another one by now, so that one of the beginning says nothing
   unless there is nothing between. omp keeps the present title in its first line, and that one counts.
2. A line is read whole or not at all. Each is read once, so that a look costs no more than its bytes.
3. Nothing that a file holds raises anything but `NotAnEntry`, where there is no header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import attrs
import msgspec

from sapwood.events.codec import decode_entry
from sapwood.events.content import text_of
from sapwood.events.entries import BOOKKEEPING, Entry, Header, MessageEntry, SessionInfo
from sapwood.events.errors import NotAnEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import UserMessage
from sapwood.events.times import milliseconds
from sapwood.store.heads import UNREADABLE, decode_old, end_of_line, find_header
from sapwood.store.upcast import from_version_1, from_version_2

LONGEST_TEXT: Final = 1000
"""Characters of a first message that are kept: a list shows a line of it."""

_LINE_BREAKS: Final = re.compile(r"[\r\n]+")
_NO_ID: Final = EntryId("")
_USER: Final = b'"user"'
_NAMED: Final = b'"session_info"'
_TITLE: Final = b'"title"'


class _Title(msgspec.Struct, frozen=True, gc=False):
    """omp's first line."""

    type: str
    title: str


_titles: Final = msgspec.json.Decoder(_Title)


@attrs.frozen(kw_only=True)
class Ends:
    """What they tell; None for what they do not."""

    header: Header
    name: str | None
    first_message: str | None
    last_activity_ms: int | None

    @property
    def short_of(self) -> bool:
        """Whether a longer look may tell more."""
        return self.first_message is None or self.last_activity_ms is None


def ends_of(head: bytes, tail: bytes | None) -> Ends:
    """What a file's first bytes tell, and its last ones; None for these if the first are the whole file. `NotAnEntry` without a header."""
    found = find_header(head)
    header, start = found.header, found.end + 1
    whole = tail is None
    end = head if tail is None else tail[tail.find(b"\n") + 1 :] if b"\n" in tail else b""
    last = _last_activity(end, start if whole else 0)
    if last is None and whole:
        last = milliseconds(header.timestamp)
    return Ends(
        header=header,
        name=_name(end, start if whole else 0, header) or _title(head),
        first_message=_first_message(head, start, header, whole=whole),
        last_activity_ms=last,
    )


def _first_message(head: bytes, start: int, header: Header, *, whole: bool) -> str | None:
    at = head.find(_USER, start)
    while at >= 0:
        end = end_of_line(head, at)
        if end == len(head) and not whole:
            return None  # it is cut
        match _entry(head[head.rfind(b"\n", 0, at) + 1 : end], header):
            case MessageEntry(message=UserMessage(content=content)) if text := text_of(content).strip():
                return text[:LONGEST_TEXT]
            case _:
                at = head.find(_USER, end)
    return None


def _name(data: bytes, start: int, header: Header) -> str | None:
    """The last name that is given in it. None if it was taken back, too."""
    stop = len(data)
    while (at := data.rfind(_NAMED, start, stop)) >= 0:
        stop = max(start, data.rfind(b"\n", 0, at) + 1)
        match _entry(data[stop : end_of_line(data, at)], header):
            case SessionInfo(name=name):
                return _LINE_BREAKS.sub(" ", name or "").strip() or None
            case _:
                pass
    return None


def _title(head: bytes) -> str | None:
    line = head[: end_of_line(head, 0)]
    if _TITLE in line:
        with suppress(*UNREADABLE):
            told = _titles.decode(line)
            if told.type == "title":
                return _LINE_BREAKS.sub(" ", told.title).strip() or None
    return None


def _last_activity(data: bytes, start: int) -> int | None:
    for line in _backwards(data, start):
        with suppress(*UNREADABLE):
            envelope = decode_old(line)
            if envelope.type != "session" and envelope.type not in BOOKKEEPING:
                when = milliseconds(envelope.timestamp)
                if when is not None:
                    return when
    return None


def _backwards(data: bytes, start: int) -> Iterator[bytes]:
    stop = len(data)
    while stop > start:
        begin = max(start, data.rfind(b"\n", start, stop) + 1)
        if begin < stop:
            yield data[begin:stop]
        stop = begin - 1


def _entry(line: bytes, header: Header) -> Entry | None:
    if header.version < 2:
        line = from_version_1(line, _NO_ID, None, lambda _: None)
    elif header.version == 2:
        line = from_version_2(line)
    try:
        return decode_entry(line)
    except NotAnEntry:
        return None
