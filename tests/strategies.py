"""What hypothesis may try: every value that the vocabulary can hold, and the lines that others write.

1. A strategy is read off a type, so that a new kind or field is tried the day it is written.
2. `of(...)` gives values of ours. `foreign(...)` turns one into what another program may have written: more fields at any depth,
   nulls where we say nothing, another order of keys, other escapes and spaces.
3. No lone surrogates and no NaN: those are refused, and the tests that show it make them by hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from msgspec import inspect

from sapwood.events.base import Json, is_array, is_object
from sapwood.events.commands import AnyCommand, InputOutcome
from sapwood.events.deltas import Delta
from sapwood.events.entries import EXTRA, Header, KnownEntry
from sapwood.events.hooks import AnyQuestion
from sapwood.events.messages import Message, StoredMessage
from sapwood.events.runtime import Event

PER_KIND: Final = settings(max_examples=settings().max_examples // 5)
"""For a test that runs once a kind, and there are a hundred: a fifth of the profile's count is enough for each."""

LINE_BREAKS: Final = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Whatever `str.splitlines` splits at; a line of the file ends at LF alone."""

ANY_CHARACTER: Final = st.characters(exclude_categories=["Cs"])
PLAIN: Final = (
    "",
    "a",
    "null",
    "root",
    "AX1024",
    "~extra",
    '{"id":"a"}',
    "漢字 é",
    "😀",
    "\0",
    "\x1b[1m",
    "\\n",
    *LINE_BREAKS,
)
TEXTS: Final[SearchStrategy[str]] = st.sampled_from(PLAIN) | st.text(ANY_CHARACTER, max_size=4)
"""Mostly one of a few that something once stumbled over: an example costs what it draws."""
INTEGERS: Final = st.integers(-(2**63), 2**64)
FLOATS: Final = st.floats(allow_nan=False, allow_infinity=False)
SCALARS: Final[SearchStrategy[Json]] = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
JSON: Final[SearchStrategy[Json]] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
"""Any JSON value, as msgspec decodes it."""


def of(type_: Any) -> SearchStrategy[Any]:
    """Values of a type, or of any member of a union, as our code makes them: `extra` is None."""
    return _of(type_)


@cache
def _of(type_: Any) -> SearchStrategy[Any]:
    return _values(inspect.type_info(type_))


def _values(info: inspect.Type) -> SearchStrategy[Any]:
    match info:
        case inspect.StructType():
            return _structs(info.cls)
        case inspect.UnionType():
            return st.one_of([_values(member) for member in info.types])
        case inspect.VarTupleType() | inspect.ListType():
            return st.lists(_values(info.item_type), max_size=2).map(tuple)
        case inspect.TupleType():
            return st.tuples(*[_values(item) for item in info.item_types])
        case inspect.DictType():
            return st.dictionaries(_values(info.key_type), _values(info.value_type), max_size=2)
        case inspect.LiteralType():
            return st.sampled_from(info.values)
        case inspect.StrType(min_length=int(least)):
            return TEXTS.filter(lambda text: len(text) >= least)
        case inspect.IntType(ge=int(least)):
            most = info.le if info.lt is None else info.lt - 1
            return st.integers(least, 2**64 if most is None else most)
        case inspect.FloatType(ge=0, le=most):
            return st.floats(0, most, allow_nan=False, allow_infinity=False)
        case _:
            return LEAVES[type(info)]


LEAVES: Final[dict[type[inspect.Type], SearchStrategy[Any]]] = {
    inspect.AnyType: JSON,
    inspect.NoneType: st.none(),
    inspect.BoolType: st.booleans(),
    inspect.IntType: INTEGERS,
    inspect.FloatType: FLOATS,
    inspect.StrType: TEXTS,
}


@cache
def _structs(cls: type[msgspec.Struct]) -> SearchStrategy[Any]:
    """A Struct with its required fields, and any of the others. Deferred, since a type may hold itself."""

    def build() -> SearchStrategy[Any]:
        info = inspect.type_info(cls)
        assert isinstance(info, inspect.StructType)
        fields = [field for field in info.fields if field.encode_name != EXTRA]
        return st.fixed_dictionaries(
            {field.name: _values(field.type) for field in fields if field.required},
            optional={field.name: _values(field.type) for field in fields if not field.required},
        ).map(lambda given: cls(**given))

    return st.deferred(build)


HEADERS: Final[SearchStrategy[Header]] = of(Header)
ENTRIES: Final[SearchStrategy[KnownEntry]] = of(KnownEntry)
MESSAGES: Final[SearchStrategy[Message]] = of(Message)
STORED_MESSAGES: Final[SearchStrategy[StoredMessage]] = of(StoredMessage)
EVENTS: Final[SearchStrategy[Event]] = of(Event)
DELTAS: Final[SearchStrategy[Delta]] = of(Delta)
QUESTIONS: Final[SearchStrategy[AnyQuestion]] = of(AnyQuestion)
COMMANDS: Final[SearchStrategy[AnyCommand]] = of(AnyCommand)
OUTCOMES: Final[SearchStrategy[InputOutcome]] = of(InputOutcome)

NEW_NAMES: Final = st.sampled_from(["fromExtension", "zeta", "x-y", "", EXTRA, "ключ", "parent_id", "null"])
"""Names of fields that no type of ours has; `~extra` is what our Structs call the place where such fields travel."""


@st.composite
def foreign(draw: DrawFn, ours: msgspec.Struct) -> Json:
    """A value of ours with fields that we do not know at some places, and its keys in another order."""
    value = json.loads(msgspec.json.encode(ours))
    objects = [target for _, target in objects_of(ours, value)]
    for target in draw(st.lists(st.sampled_from(objects), min_size=1, max_size=3)):
        target[draw(NEW_NAMES)] = draw(JSON)
    return draw(_shuffled(value))


@st.composite
def with_nulls(draw: DrawFn, ours: msgspec.Struct) -> Json:
    """A value of ours with some of what it leaves out spelled out as null."""
    value = json.loads(msgspec.json.encode(ours))
    for struct, target in objects_of(ours, value):
        for field in msgspec.structs.fields(struct):
            if field.default is None and field.encode_name not in {*target, EXTRA} and draw(st.booleans()):
                target[field.encode_name] = None
    return value


def objects_of(ours: Json, value: Json) -> list[tuple[msgspec.Struct, dict[str, Json]]]:
    """The objects of a value that a Struct of ours stands for: not those inside arguments, details or data."""
    if isinstance(ours, msgspec.Struct) and is_object(value):
        found = [(ours, value)]
        for field in msgspec.structs.fields(ours):
            if field.encode_name in value:
                found += objects_of(getattr(ours, field.name), value[field.encode_name])
        return found
    if is_array(ours) and is_array(value):
        return [one for item, as_value in zip(ours, value, strict=True) for one in objects_of(item, as_value)]
    return []


def _shuffled(value: dict[str, Json]) -> SearchStrategy[Json]:
    """The same fields in another order: a real permutation would cost more than all the rest of an example."""
    keys = list(value)
    orders = [keys, keys[::-1], sorted(keys), keys[1:] + keys[:1]]
    return st.sampled_from([{key: value[key] for key in order} for order in orders])


@st.composite
def written(draw: DrawFn, value: Json) -> bytes:
    """The line that another program may write for a value: with or without escapes, with or without spaces."""
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]))
    escaped = draw(st.booleans())
    return json.dumps(value, ensure_ascii=escaped, separators=separators).encode()


def lines(kind: Any, change: Callable[[Any], SearchStrategy[Json]] = foreign) -> SearchStrategy[bytes]:
    """Lines that another program may write for a value of a kind."""
    return of(kind).flatmap(change).flatmap(written)
