"""From a file's bytes to its header, its index and its damage. No I/O.

1. One pass that decodes only what the tree needs; payloads stay in the file (S16). What is not read so is left to `repair`.
2. Lines end at LF alone, and a CR before it is part of the end.
3. The first header is the header, wherever it stands (S7). One that says version 1, or none, is not believed if its entries name parents.
4. Every byte is part of an entry or of the header, ends a line, or lies in a `Damage`; reading goes on behind it. Entries that are whole
   and stand wrongly are named too, when all lines are read.
5. What hangs under a lost entry is bridged to that one's parent where its bytes still show it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import attrs
import msgspec
from msgspec import UNSET

from sapwood.events.codec import Envelope, decode_envelope
from sapwood.events.damage import Damage, DamageKind
from sapwood.events.errors import NotAnEntry
from sapwood.store.heads import UNREADABLE, Head, decode_old, find_header
from sapwood.store.repair import BOM, Flaw, Found, invalid_utf8, pieces_of
from sapwood.store.scanned import Scanned
from sapwood.store.upcast import from_version_1, made_up_ids

_CLOSING: Final = ord("}")
BLOCK: Final = 1 << 20
"""Bytes that are read between two looks at the tree: enough that it does not show, and no more envelopes at a time than that holds."""
FEW: Final = 4
"""Entries whose characters are looked at together: most have none but ASCII, which is seen at once."""

LOST_RECORDS: Final[frozenset[DamageKind]] = frozenset({"cut_line", "torn_tail", "bad_envelope", "garbage"})
"""What may have been an entry, and is told with its id if that is still to be read."""


_envelopes: Final = msgspec.json.Decoder(Envelope)


def scan(data: bytes) -> Scanned:
    """Index a session's bytes. `NotAnEntry` if there is no header in them."""
    head = find_header(data)
    held = Scanned(head.header, goes_on_beside=head.goes_on_beside)
    scanning = _Scan(held, data)
    if head.goes_on_beside and head.header.version > 1:
        scanning.note("odd_version", head.offset)
    scanning.run(scanning.after_bom(), head.start)
    scanning.take_header(head)
    scanning.run(head.end + 1, len(data))
    scanning.finish(0)
    return held


def scan_more(
    held: Scanned, data: bytes, offset: int, earlier: Callable[[int], bytes | None] = lambda _: None
) -> tuple[Damage, ...]:
    """Take in what somebody else has written since, from `offset` of the file on: whole lines, and the first begins there.

    `earlier` gives the bytes of an entry that was there before; None if they are not to be had: then nothing is the same as it.
    Returns what is wrong with it. What stands for all, or for several in a row, stands for those that are read at one time.
    """
    scanning = _Scan(held, data, earlier)
    scanning.run(0, len(data))
    return scanning.finish(offset)


class _Scan:
    """One reading of bytes into what is held. Offsets are the bytes' own until it is finished."""

    def __init__(self, held: Scanned, data: bytes, earlier: Callable[[int], bytes | None] = lambda _: None) -> None:
        self.held = held
        self._data = data
        self._earlier = earlier
        self._ascii = data.isascii()
        self._raising = held.header.version < 2
        self._id = made_up_ids(held.header.id)
        self._first = len(held.tree)
        self._envelopes: list[Envelope] = []
        """Read, and not yet in the tree."""
        self._kinds: list[str] = []
        """The same of version 1, whose ids and parents go by the place."""
        self._odd = 0
        """How many of them were not a line of their own, or not read the quick way."""
        self._lines = 0
        self._header_at: int | None = None
        self._flaws: list[Flaw] = []
        """Of lines, in file order."""
        self._more_flaws: list[Flaw] = []
        """Of entries."""
        self._returns = 0
        """Lines that end with a CR."""
        self._first_return = 0

    def after_bom(self) -> int:
        if not self._data.startswith(BOM):
            return 0
        self._flaws.append(Flaw("bom", 0, len(BOM)))
        return len(BOM)

    def note(self, kind: DamageKind, at: int) -> None:
        """Something is wrong, and all of it is read."""
        self._flaws.append(Flaw(kind, at, 0))

    def take_header(self, head: Head) -> None:
        """And what else is on its line."""
        self._lines += 1
        self._header_at = head.offset
        line = self._data[head.start : head.end]
        length = self._length_of(line, head.start)
        if length > head.length:  # it stands among others
            self._take_pieces(line[:length], head.start, last=head.end == len(self._data))
            self._enter()
        self._check_characters(head.offset, head.length)

    def run(self, at: int, stop: int) -> None:
        """Take in the lines from `at` on that begin before `stop`."""
        while at < stop:
            at = self._read(at, min(stop, at + BLOCK))
            self._enter()

    def finish(self, offset: int) -> tuple[Damage, ...]:
        """What is damaged in them, `offset` being the bytes' place in the file."""
        tree, flaws = self.held.tree, self._flaws
        lost = (one for one in flaws if one.kind in LOST_RECORDS)
        tree.bridge((one.entry_id, one.parent_id) for one in lost if one.entry_id is not None)
        flaws = sorted([*flaws, *self._more_flaws, *self._misplaced()], key=lambda one: one.offset)
        damage = tuple(self._told(flaws, offset))
        self.held.damage += damage
        self.held.lines += self._lines
        if offset:
            offsets = self.held.offsets
            offsets[self._first :] = array("Q", (one + offset for one in offsets[self._first :]))
        return damage

    def _read(self, at: int, stop: int) -> int:
        """The lines that begin before `stop`; where the next one begins."""
        if self._raising:
            return self._read_old(at, stop)
        data = self._data
        find, read, add = data.find, _envelopes.decode, self._envelopes.append
        offset, length = self.held.offsets.append, self.held.lengths.append
        while at < stop:
            end = find(b"\n", at)
            if end < 0:
                end = len(data)
            line = data[at:end]
            try:
                envelope = read(line)
            except UNREADABLE:
                self._take_odd(line, at)
            else:
                if envelope.type == "session":
                    self._lines += 1
                    self._take(envelope, at, self._length_of(line, at))
                else:
                    add(envelope)
                    offset(at)
                    length(end - at if line[-1] == _CLOSING else self._length_of(line, at))
            at = end + 1
        return at

    def _enter(self) -> None:
        """Into the tree with what was read."""
        held = self.held
        first = len(held.tree)
        self._lines += len(self._envelopes) + len(self._kinds) - self._odd
        held.tree.chain(self._kinds, [self._id(place) for place in range(first, first + len(self._kinds))])
        self._kinds.clear()
        taken = [
            self._taken_out(first + nth, self._envelopes[nth]) for nth in reversed(held.tree.extend(self._envelopes))
        ]
        self._more_flaws.extend(map(self._repeated, taken))
        self._envelopes.clear()
        self._odd = 0
        end = first if self._ascii else len(held.offsets)
        for place in range(first, end, FEW):
            self._check_entries(place, min(place + FEW, end))

    def _taken_out(self, place: int, envelope: Envelope) -> Flaw:
        offset, length = self.held.offsets.pop(place), self.held.lengths.pop(place)
        return Flaw("duplicate_id", offset, length, envelope.id, envelope.parentId)

    def _repeated(self, flaw: Flaw) -> Flaw:
        """The same of an entry whose id is taken, told apart from one that only says again what is there."""
        place = self.held.tree.index(flaw.entry_id or "")
        there = None if place is None else self._bytes_of(place)
        same = there == self._data[flaw.offset : flaw.end]
        return attrs.evolve(flaw, kind="repeated_entry") if same else flaw

    def _bytes_of(self, place: int) -> bytes | None:
        if place < self._first:
            return self._earlier(place)
        at = self.held.offsets[place]
        return self._data[at : at + self.held.lengths[place]]

    def _check_entries(self, first: int, end: int) -> None:
        """The characters of some entries in a row: the quick way does not look at texts that it passes over."""
        offsets, lengths = self.held.offsets, self.held.lengths
        if not self._data[offsets[first] : offsets[end - 1] + lengths[end - 1]].isascii():
            for place in range(first, end):
                self._check_characters(offsets[place], lengths[place])

    def _check_characters(self, at: int, length: int) -> None:
        if not (line := self._data[at : at + length]).isascii() and (flaw := invalid_utf8(line, at)):
            self._more_flaws.append(flaw)

    def _read_old(self, at: int, stop: int) -> int:
        """The same of version 1, whose lines have the ids of their places. Spelt out: it is done for every line."""
        data, find, decode, add = self._data, self._data.find, decode_old, self._kinds.append
        offset, length = self.held.offsets.append, self.held.lengths.append
        while at < stop:
            end = find(b"\n", at)
            if end < 0:
                end = len(data)
            line = data[at:end]
            try:
                old = decode(line)
            except UNREADABLE:
                old = None
            if old is None or old.id is not UNSET or old.parentId is not UNSET or old.type == "session":
                self._take_odd(line, at)
            else:
                add(old.type)
                offset(at)
                length(end - at if line[-1] == _CLOSING else self._length_of(line, at))
            at = end + 1
        return at

    def _take_odd(self, line: bytes, at: int) -> None:
        """Take in a line that the quick way does not read: whoever knows of odd payloads may (S1), or some of it can be repaired."""
        self._lines += 1
        end = at + len(line)
        if not line.strip():
            self._take_blank(at, min(end + 1, len(self._data)))
            return
        length = self._length_of(line, at)
        try:
            envelope = self._read_odd(line)
        except NotAnEntry:
            self._take_pieces(line[:length], at, last=end == len(self._data))
        else:
            self._take(envelope, at, length)

    def _take_blank(self, at: int, end: int) -> None:
        count = 1
        if self._flaws and self._flaws[-1].kind == "blank_line" and self._flaws[-1].end == at:
            before = self._flaws.pop()
            at, count = before.offset, before.count + 1
        self._flaws.append(Flaw("blank_line", at, end - at, count=count))

    def _take_pieces(self, line: bytes, at: int, *, last: bool) -> None:
        if not self._raising:
            self._enter()  # so that the tree knows what came before
        for piece in pieces_of(line, at, self._read_odd, last=last):
            if isinstance(piece, Found):
                self._take(piece.envelope, piece.offset, piece.length)
            else:  # version 1 had no ids: those that are shown are others'
                self._flaws.append(attrs.evolve(piece, entry_id=None, parent_id=None) if self._raising else piece)

    def _take(self, envelope: Envelope, at: int, length: int) -> None:
        if envelope.type != "session":
            if self._raising:
                self._kinds.append(envelope.type)
            else:
                self._envelopes.append(envelope)
            self._odd += 1
            self.held.offsets.append(at)
            self.held.lengths.append(length)
        elif at != self._header_at:
            self._flaws.append(Flaw("second_header", at, length))

    def _read_odd(self, record: bytes) -> Envelope:
        return self._raised(record) if self._raising else decode_envelope(record)

    def _raised(self, line: bytes) -> Envelope:
        """The envelope that a version 1 line has once it is raised. `NotAnEntry` if it has none even then."""
        place = len(self.held.tree) + len(self._kinds)
        parent_id = self._id(place - 1) if place else None
        return decode_envelope(from_version_1(line, self._id(place), parent_id, lambda _: None))

    def _length_of(self, line: bytes, at: int) -> int:
        """Without the CR that some editors write before the LF."""
        if not line.endswith(b"\r"):
            return len(line)
        self._first_return = self._first_return if self._returns else at + len(line) - 1
        self._returns += 1
        return len(line) - 1

    def _misplaced(self) -> Iterator[Flaw]:
        """What stands wrongly in the tree, as far as it is new; and the CRs."""
        tree, offsets = self.held.tree, self.held.offsets
        for place, how, parent_id in tree.misplaced():
            if place >= self._first:
                yield Flaw(how, offsets[place], 0, tree.id(place), parent_id)
        if len(roots := tree.roots()) > 1 and roots[1] >= self._first:
            yield Flaw("several_roots", offsets[roots[1]], 0, tree.id(roots[1]), count=len(roots))
        if self._returns:
            yield Flaw("crlf", self._first_return, 0, count=self._returns)

    def _told(self, flaws: Iterable[Flaw], offset: int) -> Iterator[Damage]:
        """In file order, with the numbers of the lines."""
        line, at = self.held.lines + 1, 0
        for one in flaws:
            line += self._data.count(b"\n", at, one.offset)
            at = one.offset
            lost = one.entry_id if one.kind in LOST_RECORDS else None
            yield Damage(
                kind=one.kind,
                line=line,
                offset=offset + at,
                length=one.length,
                entry_id=one.entry_id,
                parent_id=one.parent_id,
                bridged=lost is not None and self.held.tree.is_bridged(lost, one.parent_id),
                count=one.count,
            )
