"""The base of everything that goes to disk or over a wire.

Frozen; camelCase on the wire; a default is left out; a field that the type does not know is an error here, which the codec
turns into a field that is kept (S2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard, cast

import msgspec

Json = Any
"""A JSON value as msgspec decodes it: None, bool, int, float, str, list, dict."""

Number = int | float
"""Whole numbers stay whole: `0` is not rewritten as `0.0`."""


class Wire(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
    cache_hash=False,
):
    """A value with a JSON form of its own."""


def is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: Json) -> TypeGuard[Sequence[Json]]:
    """Whether a JSON value is an array; one of ours is a tuple."""
    return isinstance(value, list | tuple)


def listed(value: object) -> tuple[object, ...] | None:
    """What is in a list of things that somebody handed in, or None for what is no list: text and a mapping are none."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        return None
    return tuple(cast("Iterable[object]", value))
