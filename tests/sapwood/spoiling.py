"""Code that changes all that it is given."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from sapwood.events.base import is_array, is_object


def spoil(value: Any) -> None:
    """Put something that is no JSON into each dictionary and list of it."""
    items: list[Any] = []
    if isinstance(value, msgspec.Struct):
        items = [getattr(value, name) for name in value.__struct_fields__]
    elif is_object(value):
        items = [*value.values()]
        value["spoilt"] = {1}
    elif is_array(value):
        items = [*value]
    for item in items:
        spoil(item)
    if not isinstance(value, tuple) and is_array(value):
        cast("list[Any]", value).append({1})
