"""Fields that our types do not know, told apart and put back.

1. `split` gives what the type knows, and an overlay of what it does not, of the same shape. A default that is spelled out goes with
   the overlay too: our encoder would leave it out.
2. `merge` lays an overlay over a value of that type; a known field is never overwritten by it, and one that is gone takes its unknown
   parts along.
3. `merge(*split(value, type), type) == value`, whatever the value (S2).
4. A line whose payload had to be bent to fit travels whole, under `LINE`; `patch` lays what was changed since over what it said.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import inspect

from sapwood.events.base import Json, is_array, is_object
from sapwood.events.entries import EXTRA

Overlay = Json
"""A dict of unknown fields (and of deeper overlays), a list with one overlay or None an item, or None for nothing unknown."""

LINE: Final = "~line"
"""In the overlay of a line that was read leniently: all its bytes, one character each. A foreign field of this name is in those bytes."""


def split(value: Json, type_: Any) -> tuple[Json, Overlay]:
    """What `type_` knows of `value`, and the rest. Never raises: what does not fit stays in the known part for the decoder to refuse."""
    return _split(value, info_of(type_))


def merge(value: Json, overlay: Overlay, type_: Any) -> Json:
    """`value` with the unknown fields of `overlay` put back. Lists whose length changed keep their new items as they are."""
    return _merge(value, overlay, info_of(type_))


def patch(said: Json, was: Json, now: Json) -> Json:
    """What was `said`, with the difference between how it was read and how it is `now`."""
    if not (is_object(said) and is_object(was) and is_object(now)):
        return now
    patched = {key: item for key, item in said.items() if key in now or key not in was}
    for key, item in now.items():
        if key not in was or was[key] != item:
            patched[key] = patch(said.get(key), was.get(key), item)
    return patched


def without_line(overlay: dict[str, Json] | None) -> dict[str, Json] | None:
    """The unknown fields alone."""
    return {key: item for key, item in (overlay or {}).items() if key != LINE} or None


@cache
def info_of(type_: Any) -> inspect.Type:
    """What msgspec knows of a type."""
    return inspect.type_info(type_)


@cache
def fields_of(cls: type[msgspec.Struct]) -> Mapping[str, inspect.Field]:
    """A Struct's fields by their names on the wire."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)  # noqa: S101 - the argument is a Struct
    return {field.encode_name: field for field in info.fields if field.encode_name != EXTRA}


def _split(value: Json, info: inspect.Type) -> tuple[Json, Overlay]:
    if is_object(value):
        return _split_dict(value, info)
    inner = item_type(info)
    if is_array(value) and inner is not None:
        pairs = [_split(item, inner) for item in value]
        rests = [rest for _, rest in pairs]
        return [known for known, _ in pairs], (rests if any(rest is not None for rest in rests) else None)
    return value, None


def _split_dict(value: dict[str, Json], info: inspect.Type) -> tuple[Json, Overlay]:
    struct = struct_for(value, info)
    if struct is None:
        return value, None
    fields = fields_of(struct.cls)
    known: dict[str, Json] = {}
    rest: dict[str, Json] = {}
    for key, item in value.items():
        if key == struct.tag_field:
            known[key] = item
        elif key not in fields or _is_default(item, fields[key]):
            rest[key] = item
        else:
            known[key], deeper = _split(item, fields[key].type)
            if deeper is not None:
                rest[key] = deeper
    return known, (rest or None)


def _is_default(item: Json, field: inspect.Field) -> bool:
    return not field.required and type(item) is type(field.default) and item == field.default


def _merge(value: Json, overlay: Overlay, info: inspect.Type) -> Json:
    if is_object(value) and is_object(overlay):
        struct = struct_for(value, info)
        return _merge_dict(value, overlay, {} if struct is None else fields_of(struct.cls))
    inner = item_type(info)
    if inner is not None and is_array(value) and is_array(overlay) and len(value) == len(overlay):
        return [_merge(item, rest, inner) for item, rest in zip(value, overlay, strict=True)]
    return value


def _merge_dict(value: dict[str, Json], overlay: dict[str, Overlay], fields: Mapping[str, inspect.Field]) -> Json:
    merged = dict(value)
    for key, rest in overlay.items():
        if key in value:
            if key in fields:
                merged[key] = _merge(value[key], rest, fields[key].type)
        elif key not in fields or not (is_object(rest) or is_array(rest)):
            merged[key] = rest
    return merged


def struct_for(value: dict[str, Json], info: inspect.Type) -> inspect.StructType | None:
    """The one Struct that `value` is to be read as, if the type says so."""
    candidates = info.types if isinstance(info, inspect.UnionType) else (info,)
    structs = [candidate for candidate in candidates if isinstance(candidate, inspect.StructType)]
    for struct in structs:
        if struct.tag_field is None or value.get(struct.tag_field) == struct.tag:
            return struct
    return None


def item_type(info: inspect.Type) -> inspect.Type | None:
    """What the items of a list are to be, if the type has a list."""
    for candidate in info.types if isinstance(info, inspect.UnionType) else (info,):
        if isinstance(candidate, inspect.VarTupleType | inspect.ListType):
            return candidate.item_type
    return None
