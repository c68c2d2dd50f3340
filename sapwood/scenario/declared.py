"""What is wrong with a value that is to be a Struct of plain fields (a model, usage): all of it, in the words of the language. No I/O.

What is not told here fits, or lacks a field that has no default: of the outermost value that is left to whoever makes the Struct.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args

import msgspec
from msgspec import inspect

from sapwood.events.base import Json, is_object
from sapwood.events.entries import EXTRA
from sapwood.scenario.errors import Misfit
from sapwood.scenario.language import Place
from sapwood.words.hints import unknown
from sapwood.words.wording import quoted

_KINDS: Final = (
    (inspect.StrType, "text"),
    (inspect.BoolType, "true or false"),
    (inspect.FloatType, "a number"),
    (inspect.IntType, "a whole number"),
)
"""What a field holds, in words; of two that fit the first."""


def misfits(value: dict[str, Json], kind: type[msgspec.Struct]) -> Iterator[Misfit]:
    """Each field that does not fit, with its place, in the order of the value."""
    yield from _of_struct(value, kind, ())


def _of_struct(value: dict[str, Json], kind: type[msgspec.Struct], place: Place) -> Iterator[Misfit]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind) if field.encode_name != EXTRA}
    strange = [key for key in value if key not in fields]
    for key, item in value.items():
        if key in fields:
            yield from _of_field(item, fields[key].type, (*place, key))
        else:
            yield Misfit(unknown("key", key, fields), (*place, key))
    if place and not strange:  # one that is missing may be the strange one
        for key, field in fields.items():
            if field.required and key not in value:
                yield Misfit(f"the key {key!r} is missing", place)


def _of_field(value: Json, kind: Any, place: Place) -> Iterator[Misfit]:
    members: Sequence[Any] = get_args(kind) or (kind,)
    inner = next((one for one in members if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)
    if inner is not None and is_object(value):
        yield from _of_struct(value, inner, place)
        return
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        yield Misfit(_said(value, kind, inner), place)


def _said(value: Json, kind: Any, inner: type[msgspec.Struct] | None) -> str:
    if inner is not None:
        keys = ", ".join(field.encode_name for field in msgspec.structs.fields(inner) if field.encode_name != EXTRA)
        return f"must be a mapping, with keys out of: {keys}"
    told = inspect.type_info(kind)
    members = told.types if isinstance(told, inspect.UnionType) else (told,)
    for one, words in _KINDS:
        member = next((member for member in members if isinstance(member, one)), None)
        if value == "" and isinstance(member, inspect.StrType):
            return "must not be empty"
        if member is not None:
            hint = ": put it in quotes" if words == "text" and isinstance(value, int | float) else ""
            return f"must be {words}{_bounds(member)}, not {quoted(value)}{hint}"
    return f"does not fit: {quoted(value)}"


def _bounds(kind: inspect.Type) -> str:
    if not isinstance(kind, inspect.IntType | inspect.FloatType) or kind.ge is None:
        return ""
    most = kind.le if kind.lt is None else kind.lt - 1
    return f" of {kind.ge:,} or more" if most is None else f" from {kind.ge:,} to {most:,}"
