"""How a family of types stands on the wire, in words that a table in a test can pin."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec

from sapwood.events.entries import EXTRA


def shape(cls: type[msgspec.Struct]) -> str:
    """The names of the fields on the wire, in their order; what may be left out ends in a question mark."""
    fields = [field for field in msgspec.structs.fields(cls) if field.encode_name != EXTRA]
    return " ".join(field.encode_name + ("" if field.required else "?") for field in fields)


def shapes(union: Any) -> dict[str, str]:
    """Each member's tag and fields."""
    return {str(kind.__struct_config__.tag): shape(kind) for kind in get_args(union)}


def tag_fields(union: Any) -> set[str | None]:
    """Where the members say what they are."""
    return {kind.__struct_config__.tag_field for kind in get_args(union)}


def kinds(base: type) -> Iterator[type]:
    """Every type of ours below a base that has none below itself; not those that a test made."""
    below: list[type] = base.__subclasses__()
    ours = [cls for cls in below if cls.__module__.startswith("sapwood.events.")]
    for cls in ours:
        yield from kinds(cls)
    if not ours:
        yield base


def assert_complete(union: Any, base: type) -> None:
    """Every kind below `base` is a member of the union, once, under a tag of its own."""
    members = get_args(union)
    tags = [kind.__struct_config__.tag for kind in members]
    assert set(kinds(base)) == set(members)
    assert len(set(tags)) == len(tags) == len(members)


def assert_round_trip(value: msgspec.Struct, type_: Any) -> None:
    """The value comes back from its JSON, and its JSON from that, byte for byte."""
    encoded = msgspec.json.encode(value)
    decoded = msgspec.json.decode(encoded, type=type_)
    assert type(decoded) is type(value)
    assert decoded == value
    assert msgspec.json.encode(decoded) == encoded


def as_json(value: msgspec.Struct) -> Mapping[str, Any]:
    """What stands on the wire."""
    decoded: dict[str, Any] = json.loads(msgspec.json.encode(value))
    return decoded
