"""A value bent until our types hold it, so that the model reads what the line says and Pi shows (S1). No I/O.

1. What fits stays as it is. What can be read as what is wanted without a loss is: `1732.0` as an integer, `"3"` as one, `5` as a text.
2. What cannot is left out; where it must not be, `NEUTRAL` says what stands for it; and where that says nothing, the value stays as it
   is, for the decoder to refuse.
3. A text where blocks are due is one block. A block of an unknown type, or one that its holder cannot hold, is left out.
4. Fields that our types do not know are not touched.

Nothing here is ever written: whoever reads leniently keeps the line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

import msgspec
from msgspec import inspect

from sapwood.events.base import Json, is_array, is_object
from sapwood.events.content import TextContent, ThinkingContent, ToolCall
from sapwood.events.entries import (
    SESSION_VERSION,
    BranchSummary,
    Compaction,
    CustomMessageEntry,
    Header,
    MessageEntry,
    Node,
    UsageEntry,
)
from sapwood.events.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    StopReason,
    SystemMessage,
    ToolDefinition,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from sapwood.events.odd_json import strings_in
from sapwood.events.times import iso, milliseconds
from sapwood.events.unknown_fields import fields_of, info_of, struct_for

UNKNOWN: Final = "unknown"
_NODE: Final[dict[str, Json]] = {"parentId": None, "timestamp": ""}
_ZEROS: Final[dict[str, Json]] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
_SAID: Final[dict[str, Json]] = {"content": [], "timestamp": 0}

NEUTRAL: Final[Mapping[type[msgspec.Struct], Mapping[str, Json]]] = {
    Header: {"timestamp": ""},
    MessageEntry: _NODE,
    Compaction: {**_NODE, "tokensBefore": 0},
    BranchSummary: {**_NODE, "fromId": "root"},
    CustomMessageEntry: {**_NODE, "customType": UNKNOWN, "content": [], "display": False},
    UsageEntry: {**_NODE, "kind": UNKNOWN, "provider": UNKNOWN, "model": UNKNOWN, "usage": _ZEROS},
    SystemMessage: {**_SAID, "content": ""},
    UserMessage: _SAID,
    AssistantMessage: {**_SAID, "api": UNKNOWN, "provider": UNKNOWN, "model": UNKNOWN, "usage": _ZEROS},
    ToolResultMessage: {**_SAID, "toolCallId": "", "toolName": UNKNOWN, "isError": False},
    BashExecutionMessage: {"command": "", "output": "", "cancelled": False, "truncated": False, "timestamp": 0},
    CustomMessage: {**_SAID, "customType": UNKNOWN, "display": False},
    Usage: _ZEROS,
    TextContent: {"text": ""},
    ThinkingContent: {"thinking": ""},
    ToolCall: {"arguments": {}},
    ToolDefinition: {"description": "", "parameters": {}},
}
"""What stands for a required field that cannot be read. No part of a price, and no summary: it would shorten a history (S7)."""

_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,300}")
_FRACTION: Final = re.compile(r"[-+]?[0-9]{1,300}\.[0-9]{1,300}")
_STOP_REASONS: Final[tuple[str, ...]] = get_args(StopReason)
_SIGNATURES: Final = ("textSignature", "thinkingSignature", "thoughtSignature")


def bent(value: Json, type_: Any) -> Json:
    """`value` as near to `type_` as it can be read. Never raises; a value that cannot be read so comes back as it is."""
    try:
        return _bent(value, info_of(type_))
    except _Misfit:
        return value


def unsigned(value: Json, spoilt: Json) -> Json:
    """An entry's value without the signatures of blocks that differ between two readings: they were not as they came (S12)."""
    blocks, others = _blocks(value), _blocks(spoilt)
    for block, other in zip(blocks, others, strict=True):
        if is_object(block) and [*strings_in(block)] != [*strings_in(other)]:
            for name in _SIGNATURES:
                block.pop(name, None)
    return value


def time_of(value: Json) -> str:
    """An entry's time: a text as it stands, milliseconds as ISO 8601, and nothing for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    try:
        return iso(math.floor(value))
    except (ValueError, OverflowError):
        return ""


def version_of(value: Json) -> int:
    """A header's version by JavaScript's comparisons, which are Pi's: nothing is 1, and what is no number is read as the present one."""
    number = 1 if value is None or value == "" else _number(value)
    return SESSION_VERSION if math.isnan(number) else max(1, int(number))


class _Misfit(Exception):
    """No reading of it has the type."""


def _bent(value: Json, info: inspect.Type) -> Json:
    match info:
        case inspect.AnyType():
            return value
        case inspect.UnionType():
            return _bent_to_one(value, info)
        case inspect.StructType() if is_object(value) and _may_be(value, info):
            return _bent_struct(value, info.cls)
        case inspect.VarTupleType():
            return _bent_items(value, info.item_type)
        case inspect.DictType() if is_object(value):
            return _kept({key: (item, info.value_type) for key, item in value.items()})
        case inspect.LiteralType() if value in info.values:
            return value
        case inspect.NoneType() if value is None:
            return None
        case _:
            return _bent_scalar(value, info)


def _may_be(value: dict[str, Json], struct: inspect.StructType) -> bool:
    return struct.tag_field is None or value.get(struct.tag_field, struct.tag) == struct.tag


def _bent_scalar(value: Json, info: inspect.Type) -> Json:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match info:
        case inspect.StrType() if isinstance(value, str) or number:
            return value if isinstance(value, str) else str(value if isinstance(value, int) else _whole(value))
        case inspect.FloatType() if number:
            return value
        case inspect.IntType() if number and isinstance(value, int):
            return value
        case inspect.IntType() if number or isinstance(value, str):
            whole = _whole(_number(value))
            if isinstance(whole, int) and -(2**63) <= whole < 2**64:
                return whole
        case inspect.BoolType() if number or isinstance(value, bool):
            return bool(value)
        case _:
            pass
    raise _Misfit


def _bent_to_one(value: Json, union: inspect.UnionType) -> Json:
    if value is None and not any(isinstance(one, inspect.NoneType) for one in union.types):
        raise _Misfit
    struct = struct_for(value, union) if is_object(value) else None
    structs = [one for one in union.types if isinstance(one, inspect.StructType)]
    # where there is but one, it needs no tag
    others = [one for one in union.types if len(structs) == 1 or one not in structs]
    # a text first where it may be one: blocks are the other way to say it
    for member in sorted(others, key=lambda one: not isinstance(one, inspect.StrType)) if struct is None else [struct]:
        try:
            return _bent(value, member)
        except _Misfit:
            continue
    raise _Misfit


def _bent_items(value: Json, item: inspect.Type) -> Json:
    items = value if is_array(value) else [] if value is None or value == "" else [value]
    return list(_kept({place: (_as_block(one), item) for place, one in enumerate(items)}).values())


def _as_block(value: Json) -> Json:
    return {"type": "text", "text": value} if isinstance(value, str) else value


def _kept(parts: Mapping[Any, tuple[Json, inspect.Type]]) -> dict[Any, Json]:
    """Those of some parts that have a reading."""
    kept: dict[Any, Json] = {}
    for key, (part, info) in parts.items():
        try:
            kept[key] = _bent(part, info)
        except _Misfit:
            continue
    return kept


def _bent_struct(value: dict[str, Json], cls: type[msgspec.Struct]) -> Json:
    fields = fields_of(cls)
    prepare = PREPARE.get(cls)
    given = value if prepare is None else {**value, **prepare(value)}
    if issubclass(cls, Node | Header):
        given = {**given, "timestamp": time_of(given.get("timestamp"))}
    known = _kept({key: (item, fields[key].type) for key, item in given.items() if key in fields})
    known = {key: item for key, item in known.items() if item is value.get(key) or fields[key].default != item}
    neutral = NEUTRAL.get(cls, _NODE if issubclass(cls, Node) else {})
    for key, field in fields.items():
        if field.required and key not in known:
            if key not in neutral:
                raise _Misfit
            known[key] = neutral[key]
    return {key: known.get(key, item) for key, item in given.items() if key in known or key not in fields} | known


def _prepared_header(header: dict[str, Json]) -> dict[str, Json]:
    return {"version": version_of(header.get("version"))}


def _prepared_entry(entry: dict[str, Json]) -> dict[str, Json]:
    """The time of a message that does not tell it is the entry's."""
    message = entry.get("message")
    if not is_object(message):
        return {}
    return {"message": {**message, "timestamp": _moment(message.get("timestamp"), entry.get("timestamp"))}}


def _prepared_compaction(entry: dict[str, Json]) -> dict[str, Json]:
    """The own id says that nothing is kept, as does one that is missing."""
    first = entry.get("firstKeptEntryId")
    return {} if isinstance(first, str) else {"firstKeptEntryId": entry.get("id")}


def _prepared_answer(message: dict[str, Json]) -> dict[str, Json]:
    """An end that we have no word for is a good one, if something was said."""
    reason = message.get("stopReason")
    if reason in _STOP_REASONS:
        return {}
    good = bool(message.get("content")) and not message.get("errorMessage")
    raw = message.get("rawStopReason") or reason
    return {"stopReason": "stop" if good else "error"} | ({"rawStopReason": raw} if isinstance(raw, str) else {})


def _prepared_call(call: dict[str, Json]) -> dict[str, Json]:
    arguments = call.get("arguments")
    if arguments is None or is_object(arguments):
        return {}
    said = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return {"arguments": {}, "argumentsError": said}


PREPARE: Final[Mapping[type[msgspec.Struct], Callable[[dict[str, Json]], dict[str, Json]]]] = {
    Header: _prepared_header,
    MessageEntry: _prepared_entry,
    Compaction: _prepared_compaction,
    AssistantMessage: _prepared_answer,
    ToolCall: _prepared_call,
}
"""Fields whose reading depends on more than themselves, by Struct."""


def _moment(value: Json, otherwise: Json) -> int:
    """Milliseconds: by a number, or by a date as Pi writes it."""
    for one in (value, otherwise):
        number = _number(one)
        if math.isfinite(number):
            return math.floor(number)
        moment = milliseconds(one) if isinstance(one, str) else None
        if moment is not None:
            return moment
    return 0


def _number(value: Json) -> float:
    """The number in a scalar; NaN if there is none."""
    if isinstance(value, str):
        value = int(value) if _WHOLE.fullmatch(value) else float(value) if _FRACTION.fullmatch(value) else math.nan
    try:
        return value if isinstance(value, int | float) and math.isfinite(value) else math.nan
    except OverflowError:  # an integer that no float can hold
        return math.nan


def _whole(value: float) -> int | float:
    return int(value) if math.isfinite(value) and value == int(value) else value


def _blocks(entry: Json) -> list[Json]:
    """The content of an entry, a text not being signed."""
    message = entry.get("message", entry) if is_object(entry) else None
    content = message.get("content") if is_object(message) else None
    return list(content) if is_array(content) else []
