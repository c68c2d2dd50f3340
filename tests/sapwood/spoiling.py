"""Code that changes all that it is given."""

from __future__ import annotations

from typing import Any

import msgspec


def spoil(value: Any) -> None:
    """Put something that is no JSON into each dictionary and list of it."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            spoil(getattr(value, name))
    elif isinstance(value, dict):
        for item in [*value.values()]:
            spoil(item)
        value["spoilt"] = {1}
    elif isinstance(value, list | tuple):
        for item in [*value]:
            spoil(item)
        if isinstance(value, list):
            value.append({1})
