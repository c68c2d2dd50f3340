"""From a file's bytes to its header and its index. No I/O.

1. One pass that decodes only what the tree needs; payloads stay in the file (S16).
2. Lines end at LF alone; a CR before it, blank lines and a byte order mark are passed over.
3. The first line that is a header is the header, wherever it stands (S7).
4. A line that is no entry is `Unread`, with its place and the reason; reading goes on behind it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Final, Literal

import attrs
import msgspec
from msgspec import UNSET, Raw, UnsetType

from sapwood.events.codec import Envelope, decode_envelope, decode_header
from sapwood.events.entries import Header
from sapwood.events.errors import NotAnEntry
from sapwood.store.tree import Tree
from sapwood.store.upcast import from_version_1, made_up_ids

BOM: Final = b"\xef\xbb\xbf"
_CLOSING: Final = ord("}")
BLOCK: Final = 1 << 20
"""Bytes that are read between two looks at the tree: enough that it does not show, and no more envelopes at a time than that holds."""

Why = Literal["not an entry", "duplicate id", "second header"]


@attrs.frozen
class Unread:
    """Bytes that are no entry of the tree; they stay where they are."""

    offset: int
    length: int
    why: Why


@attrs.frozen
class Scanned:
    """What a file holds."""

    header: Header
    tree: Tree = attrs.field(factory=Tree)
    offsets: array[int] = attrs.field(factory=lambda: array("Q"))
    """Where each entry's line begins, in bytes."""
    lengths: array[int] = attrs.field(factory=lambda: array("Q"))
    """Without the line's end."""
    unread: tuple[Unread, ...] = ()

    def placed(self, lengths: Iterable[int], offset: int) -> None:
        """More lines, that were written from `offset` on, each with its LF."""
        for length in lengths:
            self.offsets.append(offset)
            self.lengths.append(length)
            offset += length + 1


class _Old(msgspec.Struct, frozen=True, gc=False):
    """What is asked of a version 1 line. An id of its own is not the entry's, and may be anything."""

    type: str
    timestamp: str = ""
    id: Raw | UnsetType = UNSET
    parentId: Raw | UnsetType = UNSET  # noqa: N815 - the wire's spelling


_envelopes: Final = msgspec.json.Decoder(Envelope)
_old: Final = msgspec.json.Decoder(_Old)
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, NotAnEntry)


def scan(data: bytes) -> Scanned:
    """Index a session's bytes. `NotAnEntry` if no line of them is a header."""
    header, start, end = _find_header(data)
    scanning = _Scan(header)
    scanning.run(data, len(BOM) if data.startswith(BOM) else 0, start)
    scanning.run(data, end + 1, len(data))
    return scanning.result()


def _find_header(data: bytes) -> tuple[Header, int, int]:
    """The header, and where its line begins and ends."""
    at = data.find(b'"session"')
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, _end_of_line(data, at)
        try:
            return decode_header(data[start:end].removeprefix(BOM)), start, end
        except NotAnEntry:
            at = data.find(b'"session"', end)
    raise NotAnEntry("no line of it is a session header", data[:80])


class _Scan:
    def __init__(self, header: Header) -> None:
        self._held = Scanned(header)
        self._raising = header.version < 2
        self._id = made_up_ids(header.id)
        self._envelopes: list[Envelope] = []
        """Read, and not yet in the tree."""
        self._unread: list[Unread] = []

    def run(self, data: bytes, at: int, stop: int) -> None:
        """Take in the lines from `at` on that begin before `stop`."""
        while at < stop:
            at = self._read(data, at, min(stop, at + BLOCK))
            self._enter()

    def result(self) -> Scanned:
        return attrs.evolve(self._held, unread=tuple(sorted(self._unread, key=lambda one: one.offset)))

    def _read(self, data: bytes, at: int, stop: int) -> int:
        """The lines that begin before `stop`; where the next one begins."""
        read = self._reader_of_version_1() if self._raising else _envelopes.decode
        find, add, offset, length = (
            data.find,
            self._envelopes.append,
            self._held.offsets.append,
            self._held.lengths.append,
        )
        while at < stop:
            end = find(b"\n", at)
            if end < 0:
                end = len(data)
            line = data[at:end]
            try:
                envelope = read(line)
            except _UNREADABLE:
                self._take_odd(line, at)
            else:
                if envelope.type == "session":
                    self._pass_over(line, at, "second header")
                else:
                    add(envelope)
                    offset(at)
                    length(end - at if line[-1] == _CLOSING else _length(line))
            at = end + 1
        return at

    def _enter(self) -> None:
        """Into the tree with what was read."""
        held = self._held
        first = len(held.tree)
        for nth in reversed(held.tree.extend(self._envelopes)):
            place = first + nth
            self._unread.append(Unread(held.offsets.pop(place), held.lengths.pop(place), "duplicate id"))
        self._envelopes.clear()

    def _reader_of_version_1(self) -> Callable[[bytes], Envelope]:
        """What gives a line the ids of its place. A closure: it is called for every line."""
        decode, envelopes, id_at, first = _old.decode, self._envelopes, self._id, len(self._held.tree)
        before = id_at(first - 1) if first else None

        def read(line: bytes) -> Envelope:
            old = decode(line)
            if old.id is not UNSET or old.parentId is not UNSET:
                return self._raised(line)
            parent_id = envelopes[-1].id if envelopes else before
            return Envelope(old.type, id_at(first + len(envelopes)), parent_id)

        return read

    def _take_odd(self, line: bytes, at: int) -> None:
        """Take in a line that the quick way does not read: whoever knows of odd payloads may (S1)."""
        try:
            envelope = self._raised(line) if self._raising else decode_envelope(line)
        except NotAnEntry:
            if line.strip():
                self._pass_over(line, at, "not an entry")
            return
        if envelope.type == "session":
            self._pass_over(line, at, "second header")
            return
        self._envelopes.append(envelope)
        self._held.offsets.append(at)
        self._held.lengths.append(_length(line))

    def _pass_over(self, line: bytes, at: int, why: Why) -> None:
        self._unread.append(Unread(at, _length(line), why))

    def _raised(self, line: bytes) -> Envelope:
        """The envelope that a version 1 line has once it is raised. `NotAnEntry` if it has none even then."""
        place = len(self._held.tree) + len(self._envelopes)
        parent_id = self._id(place - 1) if place else None
        return decode_envelope(from_version_1(line, self._id(place), parent_id, lambda _: None))


def _length(line: bytes) -> int:
    """Without the CR that some editors write before the LF."""
    return len(line) - line.endswith(b"\r")


def _end_of_line(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end
