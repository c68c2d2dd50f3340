"""Old versions raised to the present one, on reading. No I/O.

1. The same line is raised to the same bytes at every reading, and nothing of it is lost.
2. Version 1 had no ids: they are made of the session's id and the entry's place, and the entries form one chain.
3. Version 2 called an extension's message `hookMessage`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container
from typing import Final, cast

import msgspec

from sapwood.events.base import Json, is_object
from sapwood.events.ids import EntryId

_decoder: Final = msgspec.json.Decoder()
_encoder: Final = msgspec.json.Encoder()
_SHORT: Final = 8


def made_up_id(session_id: str, place: int, taken: Container[str]) -> EntryId:
    """The id of the entry at `place` of a version 1 session: always the same, and not one that is taken."""
    digest = hashlib.blake2s(f"{session_id}/{place}".encode()).hexdigest()
    length = _SHORT
    while digest[:length] in taken:
        length += _SHORT
    return EntryId(digest[:length])


def from_version_1(
    line: bytes, entry_id: EntryId, parent_id: EntryId | None, id_at: Callable[[int], EntryId | None]
) -> bytes:
    """A version 1 line as a version 3 one. `id_at(n)` gives the id of the nth line of the file, its header being line 0."""
    value = _object(line)
    raised: dict[str, Json] = {"type": value.get("type"), "id": entry_id, "parentId": parent_id}
    raised |= {key: item for key, item in value.items() if key not in raised}
    if raised["type"] == "compaction" and isinstance(raised.get("firstKeptEntryIndex"), int):
        kept = id_at(raised.pop("firstKeptEntryIndex"))
        raised["firstKeptEntryId"] = entry_id if kept is None else kept
    return _renamed(raised)


def from_version_2(line: bytes) -> bytes:
    """A version 2 line as a version 3 one."""
    return _renamed(_object(line)) if b"hookMessage" in line else line


def _renamed(value: dict[str, Json]) -> bytes:
    message = value.get("message")
    if is_object(message) and message.get("role") == "hookMessage":
        value = {**value, "message": {**message, "role": "custom"}}
    return _encoder.encode(value)


def _object(line: bytes) -> dict[str, Json]:
    return cast("dict[str, Json]", _decoder.decode(line))
