"""Whether a pattern speaks of what there is: a key that no such event, entry or message has could never be seen. No I/O.

1. A part that is typed is looked into, at any depth; one that holds any JSON (`details`, `data`) is let be.
2. Where the pattern does not say which of several kinds is meant, a key that one of them has is good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect

from sapwood.events.base import Json, is_array, is_object
from sapwood.events.context import Unsent
from sapwood.events.messages import Message
from sapwood.events.unknown_fields import fields_of
from sapwood.scenario.errors import Misfit
from sapwood.scenario.language import Place
from sapwood.words.hints import unknown


class Item(msgspec.Struct, rename="camel"):
    """A message of the projection, as patterns see it."""

    role: str
    text: str
    unsent: Unsent | None
    tokens: int
    entry_id: str
    message: Message


def strange_keys(pattern: Json, kind: Any) -> Iterator[Misfit]:
    """A `Misfit`, with its place in the pattern, for each key that no value of this type has."""
    for place, known in _strange(pattern, _members([inspect.type_info(kind)]), ()):
        yield Misfit(unknown("key", str(place[-1]), known), place)


_Types = tuple[inspect.Type, ...]
_ARRAYS: Final = (inspect.VarTupleType, inspect.ListType)


def _strange(pattern: Json, types: _Types, place: Place) -> Iterator[tuple[Place, Iterable[str]]]:
    if any(isinstance(one, inspect.AnyType | inspect.DictType) for one in types):
        return
    if is_array(pattern):
        items = _members([one.item_type for one in types if isinstance(one, _ARRAYS)])
        for at, item in enumerate(pattern):
            yield from _strange(item, items, (*place, at))
    elif is_object(pattern):
        structs = _meant(pattern, [one for one in types if isinstance(one, inspect.StructType)])
        known = {tag for one in structs for tag in (one.tag_field,) if tag} | {
            name for one in structs for name in fields_of(one.cls)
        }
        for key, value in pattern.items() if structs else ():
            if key not in known:
                yield (*place, key), known
            else:
                fields = [fields_of(one.cls).get(key) for one in structs]
                yield from _strange(value, _members(field.type for field in fields if field is not None), (*place, key))


def _meant(pattern: dict[str, Json], structs: Sequence[inspect.StructType]) -> Sequence[inspect.StructType]:
    """Those of the kinds that the pattern may speak of; all of them if its tag is none of theirs, or but the beginning of one."""
    named = [one for one in structs if one.tag_field is not None and pattern.get(one.tag_field) == one.tag]
    return named or structs


def _members(types: Iterable[inspect.Type]) -> _Types:
    """The types, unions taken apart."""
    return tuple(member for one in types for member in (one.types if isinstance(one, inspect.UnionType) else (one,)))
