r"""What can still be read in a line that is no entry as it stands (S7). No I/O, no clock.

1. Each byte of the line is in one piece: a `Found` record, or a `Flaw`. A `lost_newline` has no bytes; it stands between two whole objects.
2. At the line's start, behind NULs there and behind a whole object a record is found as it is, if nothing follows that would follow a
   nested value.
3. Elsewhere it must bear a parent's id (or null) and a timestamp, and be the last, or stand before NULs or one more object. Where a nested
   value may stand, it must also begin as the cut bytes do, or name a parent that is known or was cut there. So no tool call is an entry.
4. What is lost is called by how it begins, with the id and the parent's id that its bytes still show.
5. Each byte is worth so much work (`WORK`); what is left when that is done is named, and not searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import attrs
import msgspec

from sapwood.events import odd_json
from sapwood.events.codec import Envelope
from sapwood.events.damage import DamageKind
from sapwood.events.errors import NotAnEntry

BOM: Final = b"\xef\xbb\xbf"
WORK: Final = 16
"""Bytes looked at for each byte of the line: two or three passes find all there is in an honest one, and 1 MB of malice takes seconds."""
_SPARE: Final = 4096
"""The same for a line of a few bytes."""
_READING: Final = 5
"""What it costs to read a byte, against looking for the end of its object."""

_B: Final = rb"[ \t\r]*+"
_TEXT: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_GROUP: Final = rb"(" + _TEXT + rb")"
_OR_NULL: Final = rb"(" + _TEXT + rb"|null)"
_COLON: Final = _B + rb":" + _B
_RECORD: Final = rb"\{" + _B + rb'"(?:type|id|parentId|timestamp)"' + _B + rb":"
_start: Final = re.compile(_RECORD)
"""No text can hold these bytes: its quotes are escaped. So each is the start of an object, nested or not."""
_bracket: Final = re.compile(_TEXT + rb"?|((?=" + _RECORD + rb")\{)|[\[{]|[\]}]" + _B)
"""A text, the start of a record, another opening, or a closing with the blanks behind it."""
_text: Final = re.compile(_TEXT + rb"?")
_object: Final = re.compile(_B + rb"\{")
_begins_as_object: Final = re.compile(_B + rb"\{" + _B + rb'(?:"|\Z)')
_nuls_first: Final = re.compile(_B + rb"\0[\0 \t\r]*+")
_nuls: Final = re.compile(rb"\0[\0 \t\r]*+")
_field: Final = re.compile(_B + _GROUP + _COLON + rb"(" + _TEXT + rb"|[-+.\w]++)" + _B + rb",?")
_text_due: Final = re.compile(rb'"(?:type|id|parentId|timestamp)"' + _B + rb":[ \t\r\0]*+\Z")
_of_header: Final = re.compile(rb'"cwd"|"version"')
_parent: Final = re.compile(rb'"parentId"')
_null_parent: Final = re.compile(_parent.pattern + _COLON + rb"null")
_both: Final = re.compile(rb'"id"' + _COLON + _GROUP + _B + rb"," + _B + _parent.pattern + _COLON + _OR_NULL)
_undecoded: Final = re.compile("[\udc80-\udcff]+")
_texts: Final = msgspec.json.Decoder(str)

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


def pieces_of(
    line: bytes, offset: int, read: Read, knows: Callable[[str], bool], *, last: bool
) -> Iterator[Found | Flaw]:
    """The pieces of a line in their order.

    Args:
        line: without the line's end.
        offset: where it begins in the file.
        read: how a record is read.
        knows: whether an entry of this id is in the tree.
        last: whether the file ends here without an LF.
    """
    search = _Search(line, read, knows)
    at, whole = 0, _NOWHERE  # where the last whole object ends
    while at < len(line):
        kind, end = _mark(line, at)
        if kind is not None:
            yield Flaw(kind, offset + at, end - at)
            at = end
            continue
        record = search.here(at)
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


def shown(part: bytes) -> tuple[str | None, str | None]:
    """The id and the parent's id that the bytes of a lost record show. Two Nones if they do not show both."""
    fields: dict[bytes, bytes] = {}
    opened = _object.match(part)
    field = _field.match(part, opened.end()) if opened else None
    while field and not fields.keys() >= {b'"id"', b'"parentId"'}:
        fields[field[1]] = field[2]
        field = _field.match(part, field.end())
    if b'"id"' not in fields and (both := _both.search(part)):
        fields |= {b'"id"': both[1], b'"parentId"': both[2]}
    try:
        entry_id, parent_id = _texts.decode(fields[b'"id"']), fields[b'"parentId"']
        return entry_id, None if parent_id == b"null" else _texts.decode(parent_id)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return None, None


@attrs.frozen
class _Record:
    start: int
    end: int
    envelope: Envelope | None
    """None of an object that is no record."""


class _Search:
    """Finds the records of a line. Asked from left to right."""

    def __init__(self, line: bytes, read: Read, knows: Callable[[str], bool]) -> None:
        self._line = line
        self._read = read
        self._knows = knows
        self._left = WORK * len(line) + _SPARE
        self._ends: dict[int, int] = {}
        self._found: set[str] = set()

    def here(self, at: int) -> _Record | None:
        """The whole object that begins at `at`, where nothing is open."""
        opened = _object.match(self._line, at)
        end = self._end_of(opened.end() - 1) if opened else _NOWHERE
        if end == _NOWHERE:
            return None
        envelope = self._envelope(at, end)
        follows = self._line[end : end + 1]
        if envelope is None:
            return _Record(at, end, None) if follows in _ENDS and _is_json(self._line[at:end]) else None
        hangs = envelope.parentId is None or self._is_known(envelope.parentId)
        if follows in _GOES_ON and not (hangs and self._bears_all(envelope, at, end)):
            return None
        self._found.add(envelope.id)
        return _Record(at, end, envelope)

    def behind(self, at: int, *, after_whole: bool) -> _Record | None:
        """The first record behind bytes that begin at `at` and are none."""
        nothing_open = after_whole and not _begins_as_object.match(self._line, at)
        texts = _text.finditer(self._line, at)
        text = next(texts, None)
        for candidate in _start.finditer(self._line, at + 1):
            start = candidate.start()
            end = self._end_of(start)
            if self._left <= 0:
                return None
            if end == _NOWHERE or self._line[end : end + 1] not in _ENDS:
                continue
            envelope = self._envelope(start, end)
            if envelope is None or not self._bears_all(envelope, start, end):
                continue
            while text and text.end() <= start:
                text = next(texts, None)
            in_text = text is not None and text.start() < start
            may_nest = not (in_text or nothing_open) and self._is_due(at, start)
            if may_nest and not (self._is_known(envelope.parentId) or self._is_told(at, start, end, envelope.parentId)):
                continue
            self._found.add(envelope.id)
            return _Record(start, end, envelope)
        return None

    def _is_known(self, entry_id: str | None) -> bool:
        return entry_id is not None and (entry_id in self._found or self._knows(entry_id))

    def _bears_all(self, envelope: Envelope, start: int, end: int) -> bool:
        """Whether it has what every record has and hardly any nested object."""
        parent = _null_parent if envelope.parentId is None else _parent
        mark = _of_header if envelope.type == "session" else parent
        return bool(envelope.timestamp) and mark.search(self._line, start, end) is not None

    def _is_due(self, at: int, start: int) -> bool:
        """Whether an object may be due at `start`, behind bytes of which nothing is known but what they are."""
        self._left -= _READING * (start - at)
        mark = self._line[at:start].rstrip(b" \t\r\0")[-1:]
        if mark == b":":
            return _text_due.search(self._line, at, start) is None
        return mark == b"[" or (mark == b"," and self._is_in_array(at, start))

    def _is_in_array(self, at: int, start: int) -> bool:
        opened = [b"["]  # it may have been
        for found in _bracket.finditer(self._line, at, start):
            bracket = found[0][:1]
            if bracket in {b"{", b"["}:
                opened.append(bracket)
            elif bracket != b'"' and len(opened) > 1:
                opened.pop()
        return opened[-1] == b"["

    def _is_told(self, at: int, start: int, end: int, parent_id: str | None) -> bool:
        """Whether the cut bytes are the record's own beginning, or its parent's."""
        cut = self._line[at:start]
        self._left -= _READING * len(cut)
        return self._line.startswith(cut, start, end) or (parent_id is not None and shown(cut)[0] == parent_id)

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
        for found in _bracket.finditer(line, start):
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
    if record is not None and _is_begun(line, at, end, record):
        return "doubled_start"
    if record is None and last:
        return "torn_tail"
    if end - at == len(line) and _is_json(line):
        return "not_an_object"
    return "cut_line" if _begins_as_object.match(line, at, end) else "garbage"


def _is_begun(line: bytes, at: int, end: int, record: _Record) -> bool:
    """Whether the bytes are the record's start, once or, if it was tried again and again, several times."""
    while at < end:
        begun, there = at, record.start
        while at < end and there < record.end and line[at] == line[there]:
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
