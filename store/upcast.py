"""Old versions raised to the present one, on reading. No I/O.

1. The same line is raised to the same bytes at every reading; what need not change stays byte for byte.
2. Version 1 had no ids: they are made of the session's id and the entry's place, and the entries form one chain.
3. Version 2 called an extension's message `hookMessage`.
4. No object is too odd to be raised: lone surrogates, invalid UTF-8 and any depth stay as they are written. What is none stays whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, cast

import msgspec

from sapwood.events import odd_json
from sapwood.events.base import is_object
from sapwood.events.ids import EntryId

_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_texts: Final = msgspec.json.Decoder(str)
_numbers: Final = msgspec.json.Decoder(int | float)
_encoder: Final = msgspec.json.Encoder()
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_STRIDE: Final = 0x9E3779B1
"""2^32 over the golden ratio, and odd: its multiples differ up to the 2^32nd, and neighbours look nothing alike."""

_TYPE: Final = b'"type"'
_MESSAGE: Final = b'"message"'
_ROLE: Final = b'"role"'
_KEPT_INDEX: Final = b'"firstKeptEntryIndex"'
_KEPT_ID: Final = b'"firstKeptEntryId"'

_Parts = dict[bytes, bytes]
"""Fields as they are written: a key in its quotes, and its value."""

IdAt = Callable[[int], EntryId | None]
"""The id of the nth line of the file, its header being line 0."""


def made_up_ids(session_id: str) -> Callable[[int], EntryId]:
    """The ids of a version 1 session's entries by their places: always the same, and no two alike."""
    base = int.from_bytes(hashlib.blake2s(session_id.encode(), digest_size=4).digest(), "big")

    def at(place: int) -> str:
        return "%08x" % (base + place * _STRIDE & 0xFFFFFFFF)

    return cast("Callable[[int], EntryId]", at)  # once, here: EntryId() is a call that a thousand ids would feel


def from_version_1(line: bytes, entry_id: EntryId, parent_id: EntryId | None, id_at: IdAt) -> bytes:
    """A version 1 line as a version 3 one: ids of ours, and the first kept entry by its id instead of its line."""
    old = _apart(line)
    if old is None:
        return line
    raised = _placed(old, entry_id, parent_id)
    if _KEPT_INDEX in raised and _text(raised[_TYPE]) == "compaction":
        kept = _number(raised.pop(_KEPT_INDEX))
        first = None if kept is None else id_at(kept)
        raised[_KEPT_ID] = _encoder.encode(entry_id if first is None else first)  # its own id: nothing is kept
    _rename(raised)
    return _together(raised)


def from_version_2(line: bytes) -> bytes:
    """A version 2 line as a version 3 one."""
    if b"hookMessage" not in line:
        return line
    parts = _apart(line)
    return _together(parts) if parts is not None and _rename(parts) else line


def with_parent(line: bytes, entry_id: EntryId, parent_id: EntryId | None) -> bytes:
    """An entry's line of any version under another parent. Its id and its parent stand behind its type, and the rest is as it was."""
    parts = _apart(line)
    return line if parts is None else _together(_placed(parts, entry_id, parent_id))


def _placed(parts: _Parts, entry_id: EntryId, parent_id: EntryId | None) -> _Parts:
    place = {b'"id"': _encoder.encode(entry_id), b'"parentId"': _encoder.encode(parent_id)}
    rest = {name: value for name, value in parts.items() if name != _TYPE and name not in place}
    return {_TYPE: parts.get(_TYPE, b"null"), **place, **rest}


def _apart(line: bytes) -> _Parts | None:
    """The fields of an object, whatever JavaScript would read; None for anything else."""
    try:
        return {_encoder.encode(name): bytes(value) for name, value in _fields.decode(line).items()}
    except _UNREADABLE:
        pass
    try:
        return odd_json.parts_of(line) if is_object(odd_json.read_odd(line)) else None
    except ValueError:
        return None


def _together(parts: _Parts) -> bytes:
    return b"{" + b",".join(name + b":" + value for name, value in parts.items()) + b"}"


def _rename(parts: _Parts) -> bool:
    """Call an extension's message `custom`. Whether there was one."""
    message = _apart(parts.get(_MESSAGE, b""))
    if message is None or _text(message.get(_ROLE, b"")) != "hookMessage":
        return False
    message[_ROLE] = b'"custom"'
    parts[_MESSAGE] = _together(message)
    return True


def _text(raw: bytes) -> str | None:
    try:
        return _texts.decode(raw)
    except _UNREADABLE:
        return None


def _number(raw: bytes) -> int | None:
    """The whole number that JavaScript would read: 7, and 7.0 as well."""
    try:
        value = _numbers.decode(raw)
    except _UNREADABLE:
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None
