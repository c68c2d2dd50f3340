"""From a file's bytes to its header, its index and its damage. No I/O.

1. One pass in windows of whole lines, which decodes only what the tree needs; payloads stay in the file (S16). Nearly all windows hold
   nothing but entries, and are taken at once; the others line by line, and what is not read so is left to `repair`.
2. Lines end at LF alone, and a CR before it is part of the end.
3. The first header is the header, wherever it stands (S7). One that says version 1, or none, is not believed if its entries name parents.
4. Every byte is part of an entry or of the header, ends a line, or lies in a `Damage`; reading goes on behind it. Entries that are whole
   and stand wrongly are named too, when all lines are read.
5. What hangs under a lost entry is bridged to that one's parent where its bytes still show it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from io import BytesIO
from itertools import accumulate, chain
from typing import Final

import attrs
import msgspec
from msgspec import UNSET

from sapwood.events.codec import Envelope, decode_envelope
from sapwood.events.damage import Damage, DamageKind
from sapwood.events.errors import NotAnEntry
from sapwood.store.heads import UNREADABLE, Head, decode_old, early_header, find_header
from sapwood.store.repair import BOM, Flaw, Found, invalid_utf8, pieces_of
from sapwood.store.scanned import Scanned
from sapwood.store.telling import LOST_RECORDS, LineNumbers, misplaced, told
from sapwood.store.upcast import from_version_1, made_up_ids
from sapwood.store.windows import Read, Window, reading, windows

_CLOSING: Final = ord("}")
BLOCK: Final = 1 << 18
"""Bytes of a window: more, and what is read of one falls out of the processor's cache before it is used; less, and the calls weigh more."""

FEW: Final = 4
"""Entries whose characters are looked at together: most have none but ASCII, which is seen at once."""

_envelopes: Final = msgspec.json.Decoder(Envelope)


def scan(data: bytes) -> Scanned:
    """Index a session's bytes. `NotAnEntry` if there is no header in them."""
    read = reading(data)
    return scan_windows(windows(read, len(data), BLOCK), read)


def scan_windows(windows_of: Iterable[Window], read: Read) -> Scanned:
    """The same of a file in windows. One whose header is not in the first of them, or is not believed, is read whole for that.

    `read` gives the bytes that were in a window before, where they are needed again.
    """
    coming = iter(windows_of)
    first = next(coming)
    head = early_header(first.data, final=first.final)
    if head is None:
        whole = b"".join([first.data, *(window.data for window in coming)])
        head, read = find_header(whole), reading(whole)
        coming = windows(read, len(whole), BLOCK)
        first = next(coming)
    held = Scanned(head.header, goes_on_beside=head.goes_on_beside)
    scanning = _Scan(held, read)
    if head.goes_on_beside and head.header.version > 1:
        scanning.note("odd_version", head.offset)
    for window in chain([first], coming):
        scanning.take(window, head)
    scanning.finish()
    return held


def scan_more(
    held: Scanned, data: bytes, offset: int, earlier: Callable[[int], bytes | None] = lambda _: None
) -> tuple[Damage, ...]:
    """Take in whole lines that somebody else has written since; the first, which may have begun before, begins at `offset`.

    `earlier` gives the bytes of an entry that was there before; None if they are not to be had: then nothing is the same as it.
    Returns what is wrong with it. What stands for all, or for several in a row, stands for those that are read at one time.
    """
    held.goes_on_from(offset)
    scanning = _Scan(held, lambda at, length: data[at - offset : at - offset + length], earlier)
    scanning.take(Window(offset, data, final=True))
    return scanning.finish()


class _Scan:
    """One reading of a file, or of a part of it, into what is held."""

    def __init__(self, held: Scanned, read: Read, earlier: Callable[[int], bytes | None] = lambda _: None) -> None:
        self.held = held
        self._read_again = read
        self._earlier = earlier
        self._raising = held.header.version < 2
        self._id = made_up_ids(held.header.id)
        self._first = len(held.tree)
        self._data = b""
        """The window that is read."""
        self._base = 0
        """Where it begins in the file."""
        self._end = 0
        """Where the file ends; in the window that it ends with, and beyond every other."""
        self._ascii = True
        self._envelopes: list[Envelope] = []
        """Read, and not yet in the tree."""
        self._kinds: list[str] = []
        """The same of version 1, whose ids and parents go by the place."""
        self._odd = 0
        """How many of them were not a line of their own, or not read the quick way."""
        self._lines = held.lines
        self._numbers = LineNumbers(self._bytes)
        self._header_at: int | None = None
        self._flaws: list[Flaw] = []
        """Of lines, in file order."""
        self._more_flaws: list[Flaw] = []
        """Of entries."""
        self._returns = 0
        """Lines that end with a CR."""
        self._first_return = 0

    def note(self, kind: DamageKind, at: int) -> None:
        """Something is wrong, and all of it is read."""
        self._flaws.append(Flaw(kind, at, 0))

    def take(self, window: Window, head: Head | None = None) -> None:
        """Take in the next window, in which the header may be."""
        self._base, self._data, final = window
        self._end = len(self._data) if final else len(self._data) + 1
        last = self._data.rfind(b"\n") + 1
        self.held.unfinished = self._base + last if last < len(self._data) else None
        self._ascii = self._data.isascii()
        self._numbers.mark(self._base, self._lines)
        at = 0
        if head is not None and self._base == 0 and self._data.startswith(BOM):
            at = len(BOM)
            self._flaws.append(Flaw("bom", 0, at))
        if head is not None and self._base <= head.start < self._base + len(self._data):
            self._run(at, head.start - self._base)
            self._take_header(head)
            at = head.end + 1 - self._base
        self._run(at, len(self._data))

    def _take_header(self, head: Head) -> None:
        """And what else is on its line."""
        self._lines += 1
        self._header_at = head.offset
        line = self._data[head.start - self._base : head.end - self._base]
        length = self._length_of(line, head.start)
        if length > head.length:  # it stands among others
            self._take_pieces(line[:length], head.start, last=head.end - self._base == self._end)
            self._enter()
        self._check_characters(head.offset, head.length)

    def _run(self, at: int, stop: int) -> None:
        """Take in the lines from `at` on that begin before `stop`."""
        if at < stop and not self._take_plain(at, stop):
            (self._read_old if self._raising else self._read_each)(at, stop)
            self._enter()

    def finish(self) -> tuple[Damage, ...]:
        """What is damaged in what was taken in."""
        tree, flaws = self.held.tree, self._flaws
        lost = (one for one in flaws if one.kind in LOST_RECORDS)
        tree.bridge((one.entry_id, one.parent_id) for one in lost if one.entry_id is not None)
        if self._returns:
            self._more_flaws.append(Flaw("crlf", self._first_return, 0, count=self._returns))
        damage = tuple(told([*flaws, *misplaced(self.held, self._first), *self._more_flaws], self._numbers, tree))
        if damage:
            self.held.damage = (*self.held.damage, *damage)
        self.held.lines = self._lines
        return damage

    def _take_plain(self, at: int, stop: int) -> bool:
        """Take in lines that are all entries, each a line of its own and read the quick way, as nearly all windows are; else nothing."""
        data = self._data if stop - at == len(self._data) else self._data[at:stop]
        if self._raising or b"\r" in data:
            return False
        lines = BytesIO(data).readlines()  # in a third of the time of `split`, which looks at each byte
        try:
            envelopes = [*map(_envelopes.decode, lines)]
        except UNREADABLE:
            return False
        if "session" in [envelope.type for envelope in envelopes]:
            return False
        # spelt without a loop of ours: it is done for every line
        sizes = [*map(len, lines)]
        self.held.offsets.extend(array("Q", [*accumulate(sizes[:-1], initial=self._base + at)]))
        self.held.lengths.extend(array("Q", map((-1).__add__, sizes)))
        self.held.lengths[-1] += not data.endswith(b"\n")
        self._envelopes = envelopes
        self._enter()
        return True

    def _read_each(self, at: int, stop: int) -> None:
        """The lines that begin before `stop`, one by one."""
        data, base = self._data, self._base
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
                    self._take(envelope, base + at, self._length_of(line, base + at))
                else:
                    add(envelope)
                    offset(base + at)
                    length(end - at if line[-1] == _CLOSING else self._length_of(line, base + at))
            at = end + 1

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
        self._more_flaws.extend(flaw for flaw in map(self._repeated, taken) if flaw is not None)
        self._envelopes.clear()
        self._odd = 0
        end = first if self._ascii else len(held.offsets)
        for place in range(first, end, FEW):
            self._check_entries(place, min(place + FEW, end))

    def _taken_out(self, place: int, envelope: Envelope) -> Flaw:
        offset, length = self.held.offsets.pop(place), self.held.lengths.pop(place)
        return Flaw("duplicate_id", offset, length, envelope.id, envelope.parentId)

    def _repeated(self, flaw: Flaw) -> Flaw | None:
        """The same of an entry whose id is taken, told apart from one that only says again what is there; None of one read again."""
        place = self.held.tree.index(flaw.entry_id or "")
        if place is not None and self.held.offsets[place] == flaw.offset:
            return None
        there = None if place is None else self._bytes_of(place)
        same = there == self._bytes(flaw.offset, flaw.length)
        return attrs.evolve(flaw, kind="repeated_entry") if same else flaw

    def _bytes_of(self, place: int) -> bytes | None:
        if place < self._first:
            return self._earlier(place)
        return self._bytes(self.held.offsets[place], self.held.lengths[place])

    def _bytes(self, at: int, length: int) -> bytes:
        """Some that were taken in: of the window, or read again."""
        start = at - self._base
        return self._data[start : start + length] if start >= 0 else self._read_again(at, length)

    def _check_entries(self, first: int, end: int) -> None:
        """The characters of some entries in a row: the quick way does not look at texts that it passes over."""
        offsets, lengths = self.held.offsets, self.held.lengths
        at = offsets[first]
        if not self._bytes(at, offsets[end - 1] + lengths[end - 1] - at).isascii():
            for place in range(first, end):
                self._check_characters(offsets[place], lengths[place])

    def _check_characters(self, at: int, length: int) -> None:
        if not (line := self._bytes(at, length)).isascii() and (flaw := invalid_utf8(line, at)):
            self._more_flaws.append(flaw)

    def _read_old(self, at: int, stop: int) -> None:
        """The same of version 1, whose lines have the ids of their places. Spelt out: it is done for every line."""
        data, base, find, decode, add = self._data, self._base, self._data.find, decode_old, self._kinds.append
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
                offset(base + at)
                length(end - at if line[-1] == _CLOSING else self._length_of(line, base + at))
            at = end + 1

    def _take_odd(self, line: bytes, at: int) -> None:
        """Take in a line that the quick way does not read: whoever knows of odd payloads may (S1), or some of it can be repaired."""
        self._lines += 1
        end, start = at + len(line), self._base + at
        if not line.strip():
            self._take_blank(start, self._base + min(end + 1, self._end))
            return
        length = self._length_of(line, start)
        try:
            envelope = self._read_odd(line)
        except NotAnEntry:
            self._take_pieces(line[:length], start, last=end == self._end)
        else:
            self._take(envelope, start, length)

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
