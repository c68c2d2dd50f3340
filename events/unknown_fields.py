"""Fields that our types do not know, told apart and put back.

1. `split` gives what the type knows, and an overlay of what it does not, of the same shape.
2. `merge` lays an overlay over a value; a known field is never overwritten by it.
3. `merge(*split(value, type)) == value`, whatever the value (S2).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from sapwood.events.base import Json, is_array, is_object

Overlay = Json
"""A dict of unknown fields (and of deeper overlays), a list with one overlay or None an item, or None for nothing unknown."""


def split(value: Json, type_: Any) -> tuple[Json, Overlay]:
    """What `type_` knows of `value`, and the rest. Never raises: what does not fit stays in the known part for the decoder to refuse."""
    return _split(value, _info(type_))


def merge(value: Json, overlay: Overlay) -> Json:
    """`value` with the unknown fields of `overlay` put back. Lists whose length changed keep their new items as they are."""
    if is_object(value) and is_object(overlay):
        return {**value, **{key: merge(value[key], rest) if key in value else rest for key, rest in overlay.items()}}
    if is_array(value) and is_array(overlay) and len(value) == len(overlay):
        return [merge(item, rest) for item, rest in zip(value, overlay, strict=True)]
    return value


@cache
def _info(type_: Any) -> inspect.Type:
    return inspect.type_info(type_)


@cache
def _fields(cls: type[msgspec.Struct]) -> Mapping[str, inspect.Type]:
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)  # noqa: S101 - the argument is a Struct
    return {field.encode_name: field.type for field in info.fields}


def _split(value: Json, info: inspect.Type) -> tuple[Json, Overlay]:
    if is_object(value):
        return _split_dict(value, info)
    inner = _item_type(info)
    if is_array(value) and inner is not None:
        pairs = [_split(item, inner) for item in value]
        rests = [rest for _, rest in pairs]
        return [known for known, _ in pairs], (rests if any(rest is not None for rest in rests) else None)
    return value, None


def _split_dict(value: dict[str, Json], info: inspect.Type) -> tuple[Json, Overlay]:
    struct = _struct_for(value, info)
    if struct is None:
        return value, None
    fields = _fields(struct.cls)
    known: dict[str, Json] = {}
    rest: dict[str, Json] = {}
    for key, item in value.items():
        if key == struct.tag_field:
            known[key] = item
        elif key in fields:
            known[key], deeper = _split(item, fields[key])
            if deeper is not None:
                rest[key] = deeper
        else:
            rest[key] = item
    return known, (rest or None)


def _struct_for(value: dict[str, Json], info: inspect.Type) -> inspect.StructType | None:
    """The one Struct that `value` is to be read as, if the type says so."""
    candidates = info.types if isinstance(info, inspect.UnionType) else (info,)
    structs = [candidate for candidate in candidates if isinstance(candidate, inspect.StructType)]
    for struct in structs:
        if struct.tag_field is None or value.get(struct.tag_field) == struct.tag:
            return struct
    return None


def _item_type(info: inspect.Type) -> inspect.Type | None:
    for candidate in info.types if isinstance(info, inspect.UnionType) else (info,):
        if isinstance(candidate, inspect.VarTupleType | inspect.ListType):
            return candidate.item_type
    return None
