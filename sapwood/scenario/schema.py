"""The scenario language as a JSON Schema, for editors: made from the types that a story is made of. No I/O.

1. What the loader takes the schema takes: an editor marks nothing that can be played. What it cannot say (that an id names an entry above,
   that a step makes sense) the loader says.
2. A pattern may leave out whatever it likes and stand for several kinds, so of it only the keys are checked that no kind has.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import attrs
import msgspec

from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.actors.projection.system_prompt import SECTION_NAME
from sapwood.events.base import Json
from sapwood.events.entries import EXTRA, KnownEntry
from sapwood.events.messages import Message, Usage
from sapwood.events.models import Model
from sapwood.events.runtime import Event
from sapwood.events.unknown_fields import fields_of
from sapwood.scenario.language import LONGEST_WAIT, Expect, Pattern, Story
from sapwood.scenario.patterns import Item
from sapwood.scenario.wire import ENTRY_KINDS, EVENT_NAMES, left_out, tags
from sapwood.settings import Settings
from sapwood.settings_keys import schema_of_settings

Schema = dict[str, Any]

_REF: Final = "#/$defs/{name}"
_PATTERNS: Final[Mapping[str, tuple[str, frozenset[str], Any]]] = {
    "events": ("type", EVENT_NAMES, Event),
    "entries": ("type", ENTRY_KINDS, KnownEntry),
    "projection": ("role", tags(Message), Item),
}
"""For each list of patterns: the key that tells a kind, the words for it, and the kinds."""


def schema() -> Schema:
    """The whole of it, in draft 2020-12."""
    made = _Schemas()
    story = made.of(Story)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of Sapwood",
        **story,
        "$defs": dict(sorted(made.defs.items())),
    }


class _Schemas:
    """Schemas of types, and what they refer to."""

    def __init__(self) -> None:
        (self._event, self._entry, self._model, self._usage), defs = msgspec.json.schema_components(
            [Event, KnownEntry, Model, Usage], ref_template=_REF
        )
        self.defs: Schema = {name: _as_written(one) for name, one in defs.items()}
        self.defs["Model"]["required"] = self.defs["Usage"]["required"] = []
        plain: dict[object, Schema] = {
            str: {"type": "string"},
            bool: {"type": "boolean"},
            int: {"type": "integer", "minimum": 0},
            float: {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT},
            type(None): {"type": "null"},
            Json: {},
            Event: self._event,
            KnownEntry: self._entry,
            Model: self._model,
            Usage: self._usage,
            Settings: schema_of_settings(),
            SystemPrompt: _SECTIONS,
        }
        self._plain = plain

    def of(self, kind: Any) -> Schema:
        """The schema of what a story says where it has this type."""
        if kind in self._plain:
            return self._plain[kind]
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"const": inner[0]} if len(inner) == 1 else {"enum": [*inner]}
        if origin in {Union, types.UnionType}:
            return {"anyOf": [self.of(one) for one in inner]}
        if origin is tuple:
            return {"type": "array", "items": self.of(inner[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        return self._mapping(kind)

    def _mapping(self, kind: type) -> Schema:
        name = kind.__name__
        if name not in self.defs:
            self.defs[name] = {}  # a story says no type within itself, but two may say the same
            hints = get_type_hints(kind)
            fields: Iterable[attrs.Attribute[Any]] = attrs.fields(kind)
            properties = {
                field.name.removesuffix("_"): self._field(kind, field.name, hints[field.name]) for field in fields
            }
            needed = [field.name.removesuffix("_") for field in fields if field.default is attrs.NOTHING]
            self.defs[name] = _object(kind.__doc__, properties, needed)
        return {"$ref": _REF.format(name=name)}

    def _field(self, kind: type, name: str, hint: Any) -> Schema:
        if kind is Expect and name in _PATTERNS:
            return {"anyOf": [{"type": "array", "items": self._pattern(name)}, {"type": "null"}]}
        return self.of(hint)

    def _pattern(self, name: str) -> Schema:
        key, words, kinds = _PATTERNS[name]
        defined = f"{Pattern.__name__} of {name}"
        fields = {field for one in get_args(kinds) or (kinds,) for field in fields_of(one)}
        word: Schema = {"anyOf": [{"enum": sorted(words)}, {"type": "string", "pattern": r"\.\.\.$"}]}
        properties: Schema = {**{field: {} for field in sorted(fields - {EXTRA})}, key: word}
        self.defs[defined] = {
            "description": Pattern.__doc__,
            "anyOf": [word, _object(None, properties, ())],
        }
        return {"$ref": _REF.format(name=defined)}


_SECTIONS: Final[Schema] = {
    "type": "object",
    "description": "The text of each section by its name.",
    "propertyNames": {"pattern": f"^(?:{SECTION_NAME.pattern})$"},
    "additionalProperties": {"type": "string"},
}


def _object(told: str | None, properties: Mapping[str, Schema], required: Iterable[str]) -> Schema:
    described = {"description": told} if told else {}
    shape = {"type": "object", "properties": {**properties}, "required": [*required], "additionalProperties": False}
    return {**described, **shape}


def _as_written(made: Schema) -> Schema:
    """What msgspec says of one of our types, as a story may say it: without what it may leave out, and text where blocks are wanted."""
    properties: Schema = {key: one for key, one in made.get("properties", {}).items() if key != EXTRA}
    filled = frozenset[str]()
    for key in ("role", "type"):
        for kind in properties.get(key, {}).get("enum", ()):
            filled |= left_out(key, kind)
    if "role" in properties and "content" in properties:
        properties["content"] = {"anyOf": [{"type": "string"}, properties["content"]]}
    needed = [key for key in made.get("required", ()) if key not in filled]
    return {**made, "properties": properties, "required": needed}
