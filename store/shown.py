"""What the bytes of a lost record still show of it. No I/O.

What a payload holds is not the record's: only its own fields count, or the two ids near the start of what is left.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from sapwood.store.patterns import BRACKET, COLON, FIELD, OBJECT, TEXT, B

_ID: Final = b'"id"'
_PARENT: Final = b'"parentId"'
_texts: Final = msgspec.json.Decoder(str)
_nested: Final = re.compile(B + TEXT + COLON + rb"(?=[\[{])")
_comma: Final = re.compile(B + rb",")
_head: Final = re.compile(
    rb"\{?+[^\[{]{0,32}?"
    + _ID
    + COLON
    + rb"("
    + TEXT
    + rb")"
    + B
    + rb","
    + B
    + _PARENT
    + COLON
    + rb"("
    + TEXT
    + rb"|null)"
)
"""The fields that every writer writes first, behind a few bytes that open nothing."""


def shown(part: bytes) -> tuple[str | None, str | None]:
    """The id and the parent's id that the bytes of a lost record show. Two Nones if they do not show both."""
    fields = _own_fields(part)
    if _ID not in fields and (both := _head.match(part)):
        fields |= {_ID: both[1], _PARENT: both[2]}
    try:
        entry_id, parent_id = _texts.decode(fields[_ID]), fields[_PARENT]
        return entry_id, None if parent_id == b"null" else _texts.decode(parent_id)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return None, None


def _own_fields(part: bytes) -> dict[bytes, bytes]:
    """The fields that are texts, numbers or words, up to where the record is cut or shows both ids."""
    fields: dict[bytes, bytes] = {}
    opened = OBJECT.match(part)
    at = opened.end() if opened else len(part)
    while not fields.keys() >= {_ID, _PARENT}:
        if field := FIELD.match(part, at):
            fields[field[1]] = field[2]
            at = field.end()
        elif nested := _nested.match(part, at):
            at = _behind(part, nested.end())
        else:
            break
    return fields


def _behind(part: bytes, at: int) -> int:
    """Where the nested value that begins at `at` ends, with the comma behind it; at the end of the bytes if it is cut."""
    depth = 0
    for found in BRACKET.finditer(part, at):
        mark = found[0][:1]
        depth += (mark in {b"{", b"["}) - (mark in {b"}", b"]"})
        if depth == 0:
            comma = _comma.match(part, found.end())
            return comma.end() if comma else found.end()
    return len(part)
