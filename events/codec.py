"""Line ⇄ entry, event ⇄ wire JSON.

1. A line that our types know whole is decoded in one strict pass.
2. A line with fields that they do not know, or with a null that they would leave out, is decoded all the same, and those fields
   travel in `extra` (S2).
3. A line with a good envelope and a payload that does not fit is bent until it does (`lenient`), and travels whole in `extra`: it is
   written as it came, and what was changed in the meantime is laid over it. There alone a lone surrogate becomes U+FFFD, a number out of
   range null, and blocks that we could not read go when the content is another one.
4. What cannot be bent, and what is nested deeper than `DEEPEST`, is an `Unknown`, kept whole.
5. `encode_entry(decode_entry(line))` is `line` byte for byte if we wrote it, and equal in value if somebody else did.
6. Whatever the bytes, and however deep, the only error of reading is `NotAnEntry` (`BadEvent`), and the only one of writing
   `Unencodable`. How deep the caller stands in its own calls makes no difference to what is read.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, TypeVar, cast, get_args

import msgspec

from sapwood.events import lenient, odd_json
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.entries import Custom, Entry, Header, KnownEntry, Line, MessageEntry, Unknown
from sapwood.events.errors import NotAnEntry, SapwoodError, Unencodable
from sapwood.events.ids import EntryId
from sapwood.events.messages import StoredMessage
from sapwood.events.runtime import Event
from sapwood.events.unknown_fields import LINE, merge, patch, split

L = TypeVar("L", bound=Line)

_entries: Final = msgspec.json.Decoder(KnownEntry)
_events: Final = msgspec.json.Decoder(Event)
_values: Final = msgspec.json.Decoder()
_encoder: Final = msgspec.json.Encoder()
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_UNWRITABLE: Final = (ValueError, TypeError, OverflowError, RecursionError)

_NULL: Final = re.compile(b"null")
"""Found in half the time that `in` takes."""
_NAMES: Final = ("type", "id", "parentId")


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """What the tree needs of a line. Other fields are passed over."""

    type: str
    id: EntryId
    parentId: EntryId | None = None  # noqa: N815 - the wire's spelling: a rename costs a third of the decoding time
    timestamp: str = ""


_envelopes: Final = msgspec.json.Decoder(Envelope)


def decode_envelope(line: bytes | memoryview) -> Envelope:
    """The envelope of a line, or `NotAnEntry` (the file's fault). Whatever else is in the line does not harm it (S1)."""
    try:
        return _envelopes.decode(line)
    except _UNREADABLE as error:
        envelope = _odd_envelope(bytes(line))
        if envelope is None:
            raise NotAnEntry(str(error), bytes(line)) from error
        return envelope


def _odd_envelope(line: bytes) -> Envelope | None:
    """By a reader that takes what JavaScript takes, at any depth. What ids and types said must be readable as it stands."""
    try:
        value, spoilt = odd_json.read_odd(line), odd_json.read_odd(line, odd_json.SPOILT)
    except ValueError:
        return None
    if not (is_object(value) and is_object(spoilt)):
        return None
    kind, entry_id, parent_id = names = [value.get(name) for name in _NAMES]
    if not (isinstance(kind, str) and isinstance(entry_id, str) and isinstance(parent_id, str | None)):
        return None
    if names != [spoilt.get(name) for name in _NAMES]:
        return None
    parent = None if parent_id is None else EntryId(parent_id)
    return Envelope(kind, EntryId(entry_id), parent, lenient.time_of(value.get("timestamp")))


def decode_entry(line: bytes) -> Entry:
    """The entry in a line (without its newline). `NotAnEntry` if not even the envelope can be read."""
    deep = odd_json.is_deep(line)
    if not (deep or _may_leave_out(line)):
        try:
            entry = _entries.decode(line)
        except _UNREADABLE:
            pass
        else:
            # a field that is called as our `extra` is: not ours
            if entry.extra is None:
                return entry
    envelope = decode_envelope(line)
    known = None if deep else _decode_odd(line, KnownEntry)
    if known is not None:
        return cast("Entry", known)
    return Unknown(
        type=envelope.type,
        id=envelope.id,
        parent_id=envelope.parentId,
        timestamp=envelope.timestamp,
        line=bytes(line),
    )


def encode_entry(entry: Entry) -> bytes:
    """The line of an entry, without its newline. `Unencodable` for what JSON cannot carry."""
    if isinstance(entry, Unknown):
        return entry.line
    if entry.extra is None:
        with_nothing_odd = _encode_plainly(entry)
        if with_nothing_odd is not None:
            return with_nothing_odd
    return _encode(entry)


def _encode_plainly(entry: KnownEntry) -> bytes | None:
    """The common line in one pass; None for one that has to be looked at."""
    try:
        encoded = _encoder.encode(entry)
    except _UNWRITABLE:
        return None
    return None if _NULL.search(encoded) or odd_json.may_be_deep(encoded) else encoded


def why_unwritable(said: StoredMessage | Json) -> str | None:
    """What keeps a message, or the data of a custom entry, out of a line of the log; None if nothing does."""
    under = EntryId("")  # a null in the line is looked into: there is to be none that is ours
    try:
        if isinstance(said, get_args(StoredMessage)):
            encode_entry(MessageEntry(id=EntryId(""), parent_id=under, timestamp="", message=said))
        else:
            encode_entry(Custom(id=EntryId(""), parent_id=under, timestamp="", custom_type="", data=said))
    except Unencodable as fault:
        return fault.why
    return None


def decode_header(line: bytes) -> Header:
    """The header in a line, with fields of other writers in `extra`. `NotAnEntry` if it is none.

    As Pi has it, whatever is an object of the type `session` with a text for its id is one, and is read as far as it can be.
    """
    header = _decode_odd(line, Header) if _is_header(line) else None
    if not isinstance(header, Header):
        raise NotAnEntry("no session header: it is no object of that type with a text for its id", bytes(line))
    return header


def _is_header(line: bytes) -> bool:
    try:
        value = odd_json.read_odd(line)
    except ValueError:
        return False
    return is_object(value) and value.get("type") == "session" and isinstance(value.get("id"), str)


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
        as_it_came = _as_it_came(struct)
        if as_it_came is not None:
            return as_it_came
        value = _unfolded(struct) if isinstance(struct, Line) and struct.extra is not None else struct
        encoded = _encoder.encode(value)
        # msgspec writes a null for a number that is none
        odd = _odd_number(value) if b"null" in encoded else None
    except _UNWRITABLE as error:
        raise Unencodable(_name(struct), error) from error
    if odd is not None:
        raise Unencodable(_name(struct), ValueError(f"{odd} is no JSON number"))
    if isinstance(struct, Line) and odd_json.is_deep(encoded):
        raise Unencodable(_name(struct), ValueError(f"it is nested deeper than {odd_json.DEEPEST} levels"))
    return encoded


def _name(struct: msgspec.Struct) -> str:
    return str(struct.__struct_config__.tag)


def _as_it_came(struct: Line | Event) -> bytes | None:
    """The line of something that was read leniently, if nothing of it has changed since."""
    said = _said(struct) if isinstance(struct, Line) else None
    return said if said is not None and _read_again(said, struct) == struct else None


def _said(line: Line) -> bytes | None:
    said = None if line.extra is None else line.extra.get(LINE)
    return said.encode("latin-1", "replace") if isinstance(said, str) else None


def _read_again(said: bytes, struct: Line | Event) -> Line | None:
    return _decode_odd(said, Header if isinstance(struct, Header) else KnownEntry)


def _unfolded(line: Line) -> Json:
    known = msgspec.to_builtins(msgspec.structs.replace(line, extra=None))
    said = _said(line)
    was = None if said is None else _read_again(said, line)
    if said is None or was is None:
        return merge(known, line.extra, type(line))
    return patch(odd_json.read_odd(said), msgspec.to_builtins(msgspec.structs.replace(was, extra=None)), known)


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


def _decode_odd(line: bytes, type_: Any) -> Line | None:
    """With what is unknown kept; else leniently, with the whole line kept; None if it is not of the type even so."""
    deep = odd_json.is_deep(line)
    decoded = None if deep else _decode_strictly(line, type_)
    if decoded is not None and not _is_odd(decoded):
        return decoded
    try:
        value = lenient.unsigned(odd_json.read_odd(line), odd_json.read_odd(line, odd_json.SPOILT))
        decoded = _decode_keeping(lenient.bent(value, type_), type_)
    except ValueError:
        return None
    # what is too deep to be compared, or written by others, is in the line alone
    more = {} if decoded.extra is None or deep else decoded.extra
    return msgspec.structs.replace(decoded, extra={**more, LINE: bytes(line).decode("latin-1")})


def _decode_strictly(line: bytes, type_: Any) -> Line | None:
    try:
        return _decode_keeping(_value(line), type_)
    except ValueError:
        return None


def _value(line: bytes) -> Json:
    try:
        return _values.decode(line)
    except RecursionError:  # the caller's stack is short: that must not be seen in what is read
        return odd_json.read_strictly(line)


def _is_odd(decoded: Line) -> bool:
    """Whether what fits our types is to be read leniently all the same."""
    if decoded.extra is not None and LINE in decoded.extra:
        return True  # a foreign field of that name
    return isinstance(decoded, Header) and decoded.version < 1


def _decode_keeping(value: Json, type_: Any) -> Line:
    known, extra = split(value, type_)
    decoded: Line = msgspec.convert(known, type_)
    return decoded if extra is None else msgspec.structs.replace(decoded, extra=extra)
