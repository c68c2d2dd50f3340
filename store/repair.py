r"""What can still be read in a line that is no entry as it stands (S7). No I/O, no clock.

1. Each byte of the line is in one piece: a `Found` record, or a `Flaw`. A `lost_newline` has no bytes; it stands between two whole objects.
2. At the line's start, behind NULs there and behind a whole object a record is found as it is.
3. Elsewhere it must bear a parent's id (or null) and a timestamp, and stand where no nested value can: behind bytes that open nothing, or
   behind the beginning of a record that is cut where no value is due; or it must begin as the cut bytes do. So what a payload holds is
   never an entry, and now and then a whole record behind a cut one is named as lost.
4. What is lost is called by how it begins, with the id and the parent's id that its bytes still show.
5. Each byte is worth so much work (`WORK`); what is left when that is done is named, and not searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from sapwood.events import odd_json
from sapwood.events.codec import Envelope
from sapwood.events.damage import DamageKind
from sapwood.events.errors import NotAnEntry
from sapwood.store.patterns import BRACKET, COLON, FIELD, OBJECT, RECORD, TEXT, B
from sapwood.store.shown import shown

BOM: Final = b"\xef\xbb\xbf"
WORK: Final = 16
"""Bytes looked at for each byte of the line: two or three passes find all there is in an honest one, and 1 MB of malice takes seconds."""
_SPARE: Final = 4096
"""The same for a line of a few bytes."""
_READING: Final = 5
"""What it costs to read a byte, against looking for the end of its object."""

_start: Final = re.compile(RECORD)
"""No text can hold these bytes: its quotes are escaped. So each is the start of an object, nested or not."""
_text: Final = re.compile(TEXT + rb"?")
_begins_as_object: Final = re.compile(B + rb"\{" + B + rb'(?:"|\Z)')
_nuls_first: Final = re.compile(B + rb"\0[\0 \t\r]*+")
_nuls: Final = re.compile(rb"\0[\0 \t\r]*+")
_text_due: Final = re.compile(
    B + rb"\{(?:" + FIELD.pattern + rb")*+" + B + rb'"(?:type|id|parentId|timestamp)"' + B + rb":[ \t\r\0]*+"
)
"""A record that is cut where a text of its own is due."""
_opening: Final = re.compile(rb'["{\[]')
_of_header: Final = re.compile(rb'"cwd"|"version"')
_parent: Final = re.compile(rb'"parentId"')
_null_parent: Final = re.compile(_parent.pattern + COLON + rb"null")
_undecoded: Final = re.compile("[\udc80-\udcff]+")

_NOWHERE: Final = -1
_ENDS: Final = (b"", b"\0", b"{")
"""What may follow a record that stands for itself."""
_GOES_ON: Final = (b",", b"]", b"}")
"""What follows a nested value."""

Read = Callable[[bytes], Envelope]
"""The envelope of a record, or `NotAnEntry`."""


@attrs.frozen
class Found:
    """A record, or one more header."""

    offset: int
    length: int
    envelope: Envelope


@attrs.frozen
class Flaw:
    """What is no record. With an `entry_id` it is the entry that was lost, and its parent."""

    kind: DamageKind
    offset: int
    length: int
    entry_id: str | None = None
    parent_id: str | None = None
    count: int = 1

    @property
    def end(self) -> int:
        return self.offset + self.length


def pieces_of(line: bytes, offset: int, read: Read, *, last: bool) -> Iterator[Found | Flaw]:
    """The pieces of a line in their order.

    Args:
        line: without the line's end.
        offset: where it begins in the file.
        read: how a record is read.
        last: whether the file ends here without an LF.
    """
    search = _Search(line, read)
    at, whole = 0, _NOWHERE  # where the last whole object ends
    while at < len(line):
        kind, end = _mark(line, at)
        if kind is not None:
            yield Flaw(kind, offset + at, end - at)
            at = end
            continue
        record = search.here(at, first=at in {0, whole})
        if record is None:
            record = search.behind(at, after_whole=whole > 0)
            yield from _lost(line, at, record, offset, last=last)
            if record is None:
                return
        elif whole == at:
            yield Flaw("lost_newline", offset + at, 0)
        yield _piece(line, record, offset, last=last)
        at = whole = record.end


def invalid_utf8(line: bytes, offset: int) -> Flaw | None:
    """From the first to the last byte of an entry that is part of no character; how many runs of them there are."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        text = line.decode("utf-8", "surrogateescape")
        runs = [found.end() for found in _undecoded.finditer(text)]
        end = len(text[: runs[-1]].encode("utf-8", "surrogateescape"))
        return Flaw("invalid_utf8", offset + error.start, end - error.start, count=len(runs))
    return None


@attrs.frozen
class _Record:
    start: int
    end: int
    envelope: Envelope | None
    """None of an object that is no record."""


class _Search:
    """Finds the records of a line. Asked from left to right."""

    def __init__(self, line: bytes, read: Read) -> None:
        self._line = line
        self._read = read
        self._left = WORK * len(line) + _SPARE
        self._ends: dict[int, int] = {}

    def here(self, at: int, *, first: bool) -> _Record | None:
        """The whole object that begins at `at`; `first` in its line, or right behind a whole one, so that nothing can be open there."""
        opened = OBJECT.match(self._line, at)
        end = self._end_of(opened.end() - 1) if opened else _NOWHERE
        if end == _NOWHERE:
            return None
        envelope = self._envelope(at, end)
        follows = self._line[end : end + 1]
        if envelope is None:
            return _Record(at, end, None) if follows in _ENDS and _is_json(self._line[at:end]) else None
        if follows in _GOES_ON and not (first and self._bears_all(envelope, at, end)):
            return None
        return _Record(at, end, envelope)

    def behind(self, at: int, *, after_whole: bool) -> _Record | None:
        """The first record behind bytes that begin at `at` and are none."""
        begun = _begins_as_object.match(self._line, at) is not None
        for candidate in _start.finditer(self._line, at + 1):
            start = candidate.start()
            end = self._end_of(start)
            if self._left <= 0:
                return None
            envelope = None if end == _NOWHERE else self._envelope(start, end)
            if envelope is None or not self._bears_all(envelope, start, end):
                continue
            nothing_open = not begun and (after_whole or not self._opens(at, start))
            follows = self._line[end : end + 1]
            stands = (
                follows not in _GOES_ON if nothing_open else begun and follows in _ENDS and not self._is_due(at, start)
            )
            if stands or self._is_doubled(at, start, end):
                return _Record(start, end, envelope)
        return None

    def _opens(self, at: int, start: int) -> bool:
        """Whether something may be open behind these bytes."""
        self._left -= start - at
        return _opening.search(self._line, at, start) is not None

    def _is_doubled(self, at: int, start: int, end: int) -> bool:
        """Whether the bytes before it are the record's own beginning."""
        self._left -= _READING * (start - at)
        return _is_begun(self._line, at, start, start, end)

    def _bears_all(self, envelope: Envelope, start: int, end: int) -> bool:
        """Whether it has what every record has and hardly any nested object."""
        parent = _null_parent if envelope.parentId is None else _parent
        mark = _of_header if envelope.type == "session" else parent
        return bool(envelope.timestamp) and mark.search(self._line, start, end) is not None

    def _is_due(self, at: int, start: int) -> bool:
        """Whether a nested object may stand at `start`, behind a record that begins at `at`: never in a text, where a quote is escaped."""
        self._left -= _READING * (start - at)
        if any(text.end() > start for text in _text.finditer(self._line, at, start + 1)):
            return False
        if _text_due.fullmatch(self._line, at, start):
            return False
        mark = self._line[at:start].rstrip(b" \t\r\0")[-1:]
        return mark in {b":", b"["} or (mark == b"," and self._is_in_array(at, start))

    def _is_in_array(self, at: int, start: int) -> bool:
        opened = [b"["]  # it may have been
        for found in BRACKET.finditer(self._line, at, start):
            bracket = found[0][:1]
            if bracket in {b"{", b"["}:
                opened.append(bracket)
            elif bracket != b'"' and len(opened) > 1:
                opened.pop()
        return opened[-1] == b"["

    def _envelope(self, start: int, end: int) -> Envelope | None:
        self._left -= _READING * (end - start)
        try:
            return self._read(self._line[start:end])
        except NotAnEntry:
            return None

    def _end_of(self, start: int) -> int:
        """Where the object that begins at `start` ends, with the blanks behind it."""
        if start not in self._ends:
            self._pair(start)
        return self._ends[start]

    def _pair(self, start: int) -> None:
        """Find the ends of the object at `start`, and of all in it that may be records: they need no other pass, if no text hid them."""
        ends, line = self._ends, self._line
        ends[start] = _NOWHERE
        opened: list[int] = []
        at = start
        for found in BRACKET.finditer(line, start):
            place, at = found.span()
            bracket = line[place]
            if bracket in b"{[":
                opened.append(place)
                if found[1] is not None:
                    ends[place] = _NOWHERE
            elif bracket in b"}]":
                place = opened.pop()  # whether it is of the same kind, reading will tell
                if place in ends:
                    ends[place] = at
                if not opened:
                    break
        self._left -= at - start


def _mark(line: bytes, at: int) -> tuple[DamageKind | None, int]:
    """What stands before a record and leaves it whole, and where it ends."""
    if line.startswith(BOM, at):
        return "bom", at + len(BOM)
    nuls = _nuls_first.match(line, at)
    return ("nul_run", nuls.end()) if nuls else (None, at)


def _piece(line: bytes, record: _Record, offset: int, *, last: bool) -> Found | Flaw:
    length = record.end - record.start
    if record.envelope is not None:
        return Found(offset + record.start, length, record.envelope)
    torn = last and record.end == len(line)
    ids = shown(line[record.start : record.end])
    return Flaw("torn_tail" if torn else "bad_envelope", offset + record.start, length, *ids)


def _lost(line: bytes, at: int, record: _Record | None, offset: int, *, last: bool) -> Iterator[Flaw]:
    """Name the bytes before a record, or up to the line's end."""
    stop = len(line) if record is None else record.start
    while at < stop:
        nuls = _nuls.search(line, at, stop)
        end = nuls.start() if nuls else stop
        if at < end:
            kind = _kind(line, at, end, record, last=last)
            ids = (None, None) if kind in {"doubled_start", "not_an_object"} else shown(line[at:end])
            yield Flaw(kind, offset + at, end - at, *ids)
        if nuls:
            yield Flaw("nul_run", offset + end, nuls.end() - end)
        at = nuls.end() if nuls else stop


def _kind(line: bytes, at: int, end: int, record: _Record | None, *, last: bool) -> DamageKind:
    if record is not None and _is_begun(line, at, end, record.start, record.end):
        return "doubled_start"
    if record is None and last:
        return "torn_tail"
    if end - at == len(line) and _is_json(line):
        return "not_an_object"
    return "cut_line" if _begins_as_object.match(line, at, end) else "garbage"


def _is_begun(line: bytes, at: int, end: int, start: int, stop: int) -> bool:
    """Whether the bytes are the beginning of the record at `start`, once or, if it was tried again and again, several times."""
    while at < end:
        begun, there = at, start
        while at < end and there < stop and line[at] == line[there]:
            at, there = at + 1, there + 1
        if at == begun:
            return False
    return True


def _is_json(text: bytes) -> bool:
    text = text.strip()
    if text[-1:] != {b"[": b"]", b"{": b"}"}.get(text[:1], text[-1:]):
        return False  # so much is seen without a parse
    try:
        odd_json.read_odd(text)
    except ValueError:
        return False
    return True
