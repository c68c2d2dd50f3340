"""The header of a session, wherever it stands in its bytes, and which version they are. No I/O.

1. The first line, or record in a line, that is a header is the header (S7).
2. One that says version 1, or none that can be read, is not believed if all entries name their parents: they are of version 2 or later,
   and to make one chain of them would bring abandoned branches back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import attrs
import msgspec
from msgspec import UNSET, Raw, UnsetType

from sapwood.events.codec import decode_envelope, decode_header
from sapwood.events.entries import Header
from sapwood.events.errors import NotAnEntry
from sapwood.store.repair import BOM, Found, pieces_of

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, NotAnEntry)
"""What is raised for a line that is not to be read the quick way."""
_NAMES_PARENTS: Final = 2
"""The first version whose entries do. What is raised from it leaves later ones as they are."""


class Old(msgspec.Struct, frozen=True, gc=False):
    """What is asked of a version 1 line. An id of its own is not the entry's, and may be anything."""

    type: str
    timestamp: str = ""
    id: Raw | UnsetType = UNSET
    parentId: Raw | UnsetType = UNSET  # noqa: N815 - the wire's spelling


class _Kind(msgspec.Struct, gc=False):
    type: str


_kinds: Final = msgspec.json.Decoder(_Kind)
decode_old: Final = msgspec.json.Decoder(Old).decode


@attrs.frozen
class Head:
    """A header, where it stands, and where its line begins and ends."""

    header: Header
    offset: int
    length: int
    start: int
    end: int
    goes_on_beside: bool
    """Whether what is added goes to another file: the header does not say that entries name their parents, and for other readers they
    would be one chain."""
    is_sure: bool
    """Whether what comes behind these bytes makes no other header of it."""


def find_header(data: bytes) -> Head:
    """The header in a session's bytes. `NotAnEntry` if there is none."""
    first = len(BOM) if data.startswith(BOM) else 0
    at = data.find(b'"session"')
    while at >= 0:
        start, end = max(first, data.rfind(b"\n", 0, at) + 1), end_of_line(data, at)
        for offset, length in _headers_in(data[start:end], start):
            with suppress(NotAnEntry):
                return _head(decode_header(data[offset : offset + length]), offset, length, start, data)
        at = data.find(b'"session"', end)
    raise NotAnEntry("no line of it is a session header", data[:80])


def early_header(data: bytes, *, final: bool) -> Head | None:
    """The header, if the first bytes of a session tell it; None if more are needed. `NotAnEntry` if there are none and it has none."""
    try:
        head = find_header(data)
    except NotAnEntry:
        if final:
            raise
        return None
    return head if head.is_sure or final else None


def end_of_line(data: bytes, at: int) -> int:
    """Where the line that goes through `at` ends."""
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end


def _head(header: Header, offset: int, length: int, start: int, data: bytes) -> Head:
    end = end_of_line(data, offset)
    goes_on_beside = header.version < _NAMES_PARENTS
    all_name = _all_name_their_parents(data, end + 1) if goes_on_beside else False
    if all_name:
        header = msgspec.structs.replace(header, version=_NAMES_PARENTS)
    return Head(header, offset, length, start, end, goes_on_beside, is_sure=all_name is False)


def _all_name_their_parents(data: bytes, at: int) -> bool | None:
    """Whether each entry that can be read does; None if none can. The first one of a real version 1 session does not."""
    any_does: bool | None = None
    while at < len(data):
        end = end_of_line(data, at)
        with suppress(*UNREADABLE):
            old = decode_old(data[at:end])
            if old.type != "session":
                if old.id is UNSET or old.parentId is UNSET:
                    return False
                any_does = True
        at = end + 1
    return any_does


def _headers_in(line: bytes, offset: int) -> Iterator[tuple[int, int]]:
    """Where there may be a header: it is the line, or a record in it."""
    line = line.removesuffix(b"\r")
    with suppress(*UNREADABLE):
        kind = _kinds.decode(line).type
        if kind != "session":  # a whole record of another kind, in a file that has many of them
            return
    yield offset, len(line)
    for piece in pieces_of(line, offset, decode_envelope, last=False):
        if isinstance(piece, Found) and piece.envelope.type == "session":
            yield piece.offset, piece.length
