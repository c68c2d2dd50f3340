"""Old versions raised to the present one, on reading. No I/O.

1. The same line is raised to the same bytes at every reading; what need not change stays byte for byte.
2. Version 1 had no ids: they are made of the session's id and the entry's place, and the entries form one chain.
3. Version 2 called an extension's message `hookMessage`.
4. No line is too odd to be raised: one that our reader cannot take apart gets its ids at its end, where they count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, cast

import msgspec

from sapwood.events.ids import EntryId

_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_values: Final = msgspec.json.Decoder()
_numbers: Final = msgspec.json.Decoder(int | float)
_encoder: Final = msgspec.json.Encoder()
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_STRIDE: Final = 0x9E3779B1
"""2^32 over the golden ratio, and odd: its multiples differ up to the 2^32nd, and neighbours look nothing alike."""

IdAt = Callable[[int], EntryId | None]
"""The id of the nth line of the file, its header being line 0."""


def made_up_ids(session_id: str) -> Callable[[int], EntryId]:
    """The ids of a version 1 session's entries by their places: always the same, and no two alike."""
    base = int.from_bytes(hashlib.blake2s(session_id.encode(), digest_size=4).digest(), "big")

    def at(place: int) -> str:
        return f"{base + place * _STRIDE & 0xFFFFFFFF:08x}"

    return cast("Callable[[int], EntryId]", at)  # once, here: EntryId() is a call that a thousand ids would feel


def from_version_1(line: bytes, entry_id: EntryId, parent_id: EntryId | None, id_at: IdAt) -> bytes:
    """A version 1 line as a version 3 one: ids of ours, and the first kept entry by its id instead of its line."""
    place = {"id": _raw(entry_id), "parentId": _raw(parent_id)}
    try:
        old = _fields.decode(line)
    except _UNREADABLE:  # a lone surrogate, a nesting too deep: of two fields with one name a reader takes the last
        return line.rstrip().removesuffix(b"}") + b"," + _encoder.encode(place)[1:]
    raised = {"type": old.pop("type", _raw(None)), **place}
    raised |= {name: value for name, value in old.items() if name not in place}
    if "firstKeptEntryIndex" in raised and _values.decode(raised["type"]) == "compaction":
        kept = _number(raised.pop("firstKeptEntryIndex"))
        first = None if kept is None else id_at(kept)
        raised["firstKeptEntryId"] = _raw(entry_id if first is None else first)  # its own id: nothing is kept
    _rename(raised)
    return _encoder.encode(raised)


def from_version_2(line: bytes) -> bytes:
    """A version 2 line as a version 3 one."""
    if b"hookMessage" not in line:
        return line
    try:
        fields = _fields.decode(line)
    except _UNREADABLE:
        return line
    return _encoder.encode(fields) if _rename(fields) else line


def _rename(fields: dict[str, msgspec.Raw]) -> bool:
    """Call an extension's message `custom`. Whether there was one."""
    try:
        message = _fields.decode(fields["message"])
        if _values.decode(message["role"]) != "hookMessage":
            return False
    except (KeyError, *_UNREADABLE):
        return False
    message["role"] = _raw("custom")
    fields["message"] = msgspec.Raw(_encoder.encode(message))
    return True


def _number(raw: msgspec.Raw) -> int | None:
    """The whole number that JavaScript would read: 7, and 7.0 as well."""
    try:
        value = _numbers.decode(raw)
    except _UNREADABLE:
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def _raw(value: str | None) -> msgspec.Raw:
    return msgspec.Raw(_encoder.encode(value))
