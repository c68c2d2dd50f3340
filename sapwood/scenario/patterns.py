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
from sapwood.scenario.matching import GAP
from sapwood.scenario.wire import ENTRY_KINDS, EVENT_NAMES, tags
from sapwood.words.hints import hint, unknown
from sapwood.words.wording import quoted


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


ROLES: Final = tags(Message)
_A_MESSAGE: Final = {
    "entry": "{type: message, message: {role: %s}}",
    "event": "{type: message_end, message: {role: %s}}",
}
"""How a pattern speaks of a message with this role, where an item is no message itself."""


def strange_name(name: str, key: str, what: str, known: frozenset[str]) -> Misfit | None:
    """What is wrong with a word for a kind: none begins like it (`turn_...`), or is called like it."""
    begun = name.endswith(GAP)
    word = name.removesuffix(GAP)
    if word in known or (begun and any(one.startswith(word) for one in known)):
        return None
    word = word.removesuffix("…")
    if what in _A_MESSAGE and word in ROLES:
        said = f": a message is {_A_MESSAGE[what] % word}"
    elif name != word and not begun:
        said = f": for any rest write three dots, {GAP}"
    elif word in (EVENT_NAMES | ENTRY_KINDS) and key == "role":
        said = f": a message is told by its role (there are: {', '.join(sorted(known))})"
    else:
        said = hint(word, known)
    return Misfit(f"no {what} has the {key} {quoted(name)}{said}", (key,))


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
