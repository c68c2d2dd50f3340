"""Line ⇄ entry, event ⇄ wire JSON.

1. A line that our types know whole is decoded in one strict pass.
2. A line with fields that they do not know, or with a null that they would leave out, is decoded all the same, and those fields
   travel in `extra` (S2).
3. A line with a good envelope and a payload that does not fit is an `Unknown`, kept whole.
4. `encode_entry(decode_entry(line))` is `line` byte for byte if we wrote it, and equal in value if somebody else did.
5. Whatever the bytes, and however deep, the only error of reading is `NotAnEntry` (`BadEvent`), and the only one of writing `Unencodable`.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, TypeVar, cast

import msgspec

from sapwood.events.base import Json, is_array, is_object
from sapwood.events.entries import Entry, Header, KnownEntry, Line, Unknown
from sapwood.events.errors import NotAnEntry, SapwoodError, Unencodable
from sapwood.events.ids import EntryId
from sapwood.events.runtime import Event
from sapwood.events.unknown_fields import merge, split

L = TypeVar("L", bound=Line)

_entries: Final = msgspec.json.Decoder(KnownEntry)
_events: Final = msgspec.json.Decoder(Event)
_values: Final = msgspec.json.Decoder()
_encoder: Final = msgspec.json.Encoder()
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_UNWRITABLE: Final = (ValueError, TypeError, OverflowError, RecursionError)

_ANY_LINE: Final = Header | KnownEntry
"""Where only one type is asked for, msgspec does without its tag."""

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """What the tree needs of a line. Other fields are passed over."""

    type: str
    id: EntryId
    parentId: EntryId | None = None  # noqa: N815 - the wire's spelling: a rename costs a third of the decoding time
    timestamp: str = ""


_envelopes: Final = msgspec.json.Decoder(Envelope)


def decode_envelope(line: bytes | memoryview) -> Envelope:
    """The envelope of a line, or `NotAnEntry` (the file's fault). Lone surrogates in the payload do not harm it (S1)."""
    try:
        return _envelopes.decode(line)
    except _UNREADABLE as error:
        envelope = _lenient_envelope(bytes(line))
        if envelope is None:
            raise NotAnEntry(str(error), bytes(line)) from error
        return envelope


def _lenient_envelope(line: bytes) -> Envelope | None:
    """By Python's own reader, which takes lone surrogates as JavaScript does, where msgspec refuses the whole line."""
    if _SURROGATE.search(line) is None:
        return None
    try:
        value = json.loads(line.decode(), parse_constant=_no_number)
        names = Envelope.__struct_fields__
        envelope = {name: value[name] for name in names if name in value} if is_object(value) else None
        return msgspec.json.decode(msgspec.json.encode(envelope), type=Envelope)
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def decode_entry(line: bytes) -> Entry:
    """The entry in a line (without its newline). `NotAnEntry` if not even the envelope can be read."""
    if not _may_leave_out(line):
        try:
            entry = _entries.decode(line)
        except _UNREADABLE:
            pass
        else:
            # a field that is called as our `extra` is: not ours
            if entry.extra is None:
                return entry
    envelope = decode_envelope(line)
    try:
        return cast("Entry", _decode_keeping(line, KnownEntry))
    except _UNREADABLE:
        return Unknown(
            type=envelope.type,
            id=envelope.id,
            parent_id=envelope.parentId,
            timestamp=envelope.timestamp,
            line=bytes(line),
        )


def encode_entry(entry: Entry) -> bytes:
    """The line of an entry, without its newline. `Unencodable` for what JSON cannot carry."""
    return entry.line if isinstance(entry, Unknown) else _encode(entry)


def decode_header(line: bytes) -> Header:
    """The header in a line, with fields of other writers in `extra`. `NotAnEntry` if it is none."""
    try:
        header = _decode_keeping(line, _ANY_LINE)
    except _UNREADABLE as error:
        raise NotAnEntry(f"no session header: {error}", bytes(line)) from error
    if not isinstance(header, Header):
        raise NotAnEntry("no session header: it has the type of an entry", bytes(line))
    return header


def encode_header(header: Header) -> bytes:
    """The header's line, without its newline."""
    return _encode(header)


def encode_event(event: Event) -> bytes:
    """The public JSON of an event: the same for the command line, recordings and hosts."""
    return _encode(event)


def decode_event(line: bytes) -> Event:
    """The event in a line that `encode_event` wrote. Raises `BadEvent` with the path of what is wrong."""
    try:
        return _events.decode(line)
    except _UNREADABLE as error:
        raise BadEvent(str(error)) from error


class BadEvent(SapwoodError):
    """A line that is no event: the sentence names the field. The fault of whoever wrote it."""


def _encode(struct: Line | Event) -> bytes:
    try:
        value = _unfolded(struct) if isinstance(struct, Line) and struct.extra is not None else struct
        encoded = _encoder.encode(value)
        # msgspec writes a null for a number that is none
        odd = _odd_number(value) if b"null" in encoded else None
    except _UNWRITABLE as error:
        raise Unencodable(_name(struct), error) from error
    if odd is not None:
        raise Unencodable(_name(struct), ValueError(f"{odd} is no JSON number"))
    return encoded


def _name(struct: msgspec.Struct) -> str:
    return str(struct.__struct_config__.tag)


def _unfolded(line: Line) -> Json:
    known = msgspec.to_builtins(msgspec.structs.replace(line, extra=None))
    return merge(known, line.extra, type(line))


def _odd_number(value: object) -> float | None:
    todo: list[Json] = [msgspec.to_builtins(value)]
    while todo:
        one = todo.pop()
        if isinstance(one, float) and not math.isfinite(one):
            return one
        if is_object(one):
            todo.extend(one.values())
        elif is_array(one):
            todo.extend(one)
    return None


def _may_leave_out(line: bytes) -> bool:
    """Whether the strict pass could drop a field of the line unnoticed: one that says null, where we say nothing."""
    nulls = line.count(b"null")
    return nulls > 0 and nulls != line.count(b'"parentId":null')


def _decode_keeping(line: bytes, type_: Any) -> Line:
    known, extra = split(_values.decode(line), type_)
    decoded: Line = msgspec.convert(known, type_)
    return decoded if extra is None else msgspec.structs.replace(decoded, extra=extra)
