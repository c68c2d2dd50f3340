"""From a file's bytes to its header and its index. No I/O.

1. One pass that decodes only what the tree needs; payloads stay in the file (S16).
2. Lines end at LF alone; a CR before it, blank lines and a byte order mark are passed over.
3. A line that is no entry is `Unread`, with its place and the reason; reading goes on behind it.
"""

from __future__ import annotations

from array import array
from typing import Final, Literal

import attrs
import msgspec

from sapwood.events.codec import Envelope, decode_header
from sapwood.events.entries import Header
from sapwood.events.errors import NotAnEntry
from sapwood.store.tree import Tree
from sapwood.store.upcast import made_up_id

BOM: Final = b"\xef\xbb\xbf"

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
    tree: Tree
    offsets: array[int]
    """Where each entry's line begins, in bytes."""
    lengths: array[int]
    unread: tuple[Unread, ...]


class _TypeOnly(msgspec.Struct, frozen=True, gc=False):
    type: str


_envelope: Final = msgspec.json.Decoder(Envelope)
_type_only: Final = msgspec.json.Decoder(_TypeOnly)


def scan(data: bytes) -> Scanned:
    """Index a session's bytes. `NotAnEntry` if the first line that is not blank is no header."""
    at = len(BOM) if data.startswith(BOM) else 0
    header: Header | None = None
    while header is None:
        end = _end(data, at)
        line = data[at:end].strip()
        if line or end >= len(data):
            header = decode_header(line)
        at = end + 1
    return _Scan(header).run(data, at)


class _Scan:
    def __init__(self, header: Header) -> None:
        self._header = header
        self._tree = Tree()
        self._offsets, self._lengths = array("Q"), array("Q")
        self._unread: list[Unread] = []

    def run(self, data: bytes, at: int) -> Scanned:
        take = self._take_version_1 if self._header.version == 1 else self._take
        size = len(data)
        while at < size:
            end = _end(data, at)
            line = data[at:end]
            length = len(line)
            if line[-1:] == b"\r":
                length -= 1
                line = line[:-1]
            why = take(line) if line.strip() else None
            if why == "entry":
                self._offsets.append(at)
                self._lengths.append(length)
            elif why is not None:
                self._unread.append(Unread(at, length, why))
            at = end + 1
        return Scanned(self._header, self._tree, self._offsets, self._lengths, tuple(self._unread))

    def _take(self, line: bytes) -> Why | Literal["entry"]:
        try:
            envelope = _envelope.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return "second header" if _is_header(line) else "not an entry"
        if envelope.type == "session":
            return "second header"
        return "entry" if self._tree.grow(envelope.type, envelope.id, envelope.parentId) else "duplicate id"

    def _take_version_1(self, line: bytes) -> Why | Literal["entry"]:
        try:
            kind = _type_only.decode(line).type
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return "not an entry"
        if kind == "session":
            return "second header"
        tree = self._tree
        place = len(tree)
        parent = tree.id(place - 1) if place else None
        tree.grow(kind, made_up_id(self._header.id, place, tree), parent)
        return "entry"


def _end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end


def _is_header(line: bytes) -> bool:
    try:
        decode_header(line)
    except NotAnEntry:
        return False
    return True
