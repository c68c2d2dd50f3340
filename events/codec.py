"""Line ⇄ entry, event ⇄ wire JSON.

1. A line that our types know whole is decoded in one strict pass.
2. A line with fields that they do not know is decoded all the same, and the fields travel in `extra` (S2).
3. A line with a good envelope and a payload that does not fit is an `Unknown`, kept whole.
4. `encode_entry(decode_entry(line))` is `line` byte for byte if we wrote it, and equal in value if somebody else did.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

import msgspec

from sapwood.events.entries import EXTRA, Entry, Header, KnownEntry, Line, Unknown
from sapwood.events.errors import NotAnEntry, SapwoodError, Unencodable
from sapwood.events.ids import EntryId
from sapwood.events.runtime import Event
from sapwood.events.unknown_fields import merge, split

L = TypeVar("L", bound=Line)

_entries: Final = msgspec.json.Decoder(KnownEntry)
_events: Final = msgspec.json.Decoder(Event)
_values: Final = msgspec.json.Decoder()
_encoder: Final = msgspec.json.Encoder()
_EXTRA_KEY: Final = f'"{EXTRA}"'.encode()


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """What the tree needs of a line. Other fields are passed over."""

    type: str
    id: EntryId
    parentId: EntryId | None = None  # noqa: N815 - the wire's spelling: a rename costs a third of the decoding time
    timestamp: str = ""


_envelopes: Final = msgspec.json.Decoder(Envelope)


def decode_envelope(line: bytes | memoryview) -> Envelope:
    """The envelope of a line, or `NotAnEntry` (the file's fault)."""
    try:
        return _envelopes.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotAnEntry(str(error), bytes(line)) from error


def decode_entry(line: bytes) -> Entry:
    """The entry in a line (without its newline). `NotAnEntry` if not even the envelope can be read."""
    if _EXTRA_KEY not in line:
        try:
            return _entries.decode(line)
        except msgspec.DecodeError:
            pass
    envelope = decode_envelope(line)
    try:
        return cast("Entry", _decode_keeping(line, KnownEntry))
    except msgspec.DecodeError:
        return Unknown(
            type=envelope.type,
            id=envelope.id,
            parent_id=envelope.parentId,
            timestamp=envelope.timestamp,
            line=bytes(line),
        )


def encode_entry(entry: Entry) -> bytes:
    """The line of an entry, without its newline. `Unencodable` for what JSON cannot carry."""
    return entry.line if isinstance(entry, Unknown) else _encode_line(entry)


def decode_header(line: bytes) -> Header:
    """The header in a line, with fields of other writers in `extra`. `NotAnEntry` if it is none."""
    try:
        header: Header = _decode_keeping(line, Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotAnEntry(f"no session header: {error}", bytes(line)) from error
    return header


def encode_header(header: Header) -> bytes:
    """The header's line, without its newline."""
    return _encode_line(header)


def encode_event(event: Event) -> bytes:
    """The public JSON of an event: the same for the command line, recordings and hosts."""
    return _encode(event, str(event.__struct_config__.tag))


def decode_event(line: bytes) -> Event:
    """The event in a line that `encode_event` wrote. Raises `BadEvent` with the path of what is wrong."""
    try:
        return _events.decode(line)
    except msgspec.DecodeError as error:
        raise BadEvent(str(error)) from error


class BadEvent(SapwoodError):
    """A line that is no event: the sentence names the field. The fault of whoever wrote it."""


def _encode_line(line: Line) -> bytes:
    tag = str(line.__struct_config__.tag)
    if line.extra is None:
        return _encode(line, tag)
    known = msgspec.to_builtins(msgspec.structs.replace(line, extra=None))
    return _encode(merge(known, line.extra), tag)


def _encode(value: object, what: str) -> bytes:
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError) as error:
        raise Unencodable(what, error) from error


def _decode_keeping(line: bytes, type_: Any) -> Any:
    known, extra = split(_values.decode(line), type_)
    decoded: Line = msgspec.convert(known, type_)
    return decoded if extra is None else msgspec.structs.replace(decoded, extra=extra)
