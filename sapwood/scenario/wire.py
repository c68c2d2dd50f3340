"""From the plain values of a scenario to typed events, entries, models and usage. No I/O.

1. Names and shapes are the wire's; what is wrong is a `Misfit` with its place, and the nearest right name.
2. What a story need not say is filled in: an entry's id, parent and time, and a message's time, provider, model, usage and stop reason.
3. Nothing that is written is changed, but for a text that stands where the wire wants a list of blocks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, cast, get_args

import msgspec

from sapwood.actors.environment import EPOCH_MS
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.entries import EXTRA, KnownEntry
from sapwood.events.messages import Usage
from sapwood.events.models import Model
from sapwood.events.runtime import Event
from sapwood.events.times import iso
from sapwood.scenario.errors import ENOUGH, Misfit, together
from sapwood.scenario.language import DEFAULT_MODEL, Place
from sapwood.words.hints import hint, unknown
from sapwood.words.wording import one_line, quoted


def tags(union: Any) -> frozenset[str]:
    """The wire names of a union's members."""
    return frozenset(str(kind.__struct_config__.tag) for kind in get_args(union))


EVENT_NAMES: Final = tags(Event)
ENTRY_KINDS: Final = tags(KnownEntry)

_BY_ENTRIES_ABOVE: Final = frozenset({("id",), ("parentId",)})
"""What is wrong here below an entry that does not fit may be wrong because of it."""
_AT: Final = re.compile(r" - at `\$?(?P<path>[^`]*)`$")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]")
_UNKNOWN_FIELD: Final = re.compile(r"Object contains unknown field `([^`]*)`")
_UNKNOWN_TAG: Final = re.compile(r"Invalid value '([^']*)'$")


def convert(value: Json, kind: Any) -> Any:
    """The value as this type of Struct; `Misfit` with the place of what does not fit."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), kind) from error


def to_event(value: Json, model: Model = DEFAULT_MODEL) -> Event:
    """A literal event, its messages filled in."""
    value = known_type(value, EVENT_NAMES, "event")
    return cast("Event", convert({key: _filled(key, item, model) for key, item in value.items()}, Event))


def to_entries(values: Sequence[Json], model: Model = DEFAULT_MODEL) -> tuple[KnownEntry, ...]:
    """Literal entries, each filled in and hung under the one before it unless it names its parent."""
    entries: list[KnownEntry] = []
    faults: list[Misfit] = []
    for at, value in enumerate(values):
        if len(faults) >= ENOUGH:
            break
        try:
            entries.append(_to_entry(value, entries, model))
        except Misfit as misfit:
            if not faults or misfit.place[:1] not in _BY_ENTRIES_ABOVE:
                faults.extend(misfit.each((at,)))
    if faults:
        raise together(faults)
    return tuple(entries)


def to_model(value: Json, provider: str = DEFAULT_MODEL.provider) -> Model:
    """A model by its wire names; of this provider unless it says otherwise."""
    if not is_object(value):
        raise Misfit("must be a mapping such as {id: talker, contextWindow: 200000}")
    defaults: Mapping[str, Json] = {"provider": provider, "id": DEFAULT_MODEL.id}
    model = cast("Model", convert({**defaults, **value}, Model))
    if model.context_window is not None and model.context_window < 1:
        raise Misfit("must be 1 token or more", ("contextWindow",))
    return model


def to_usage(value: Json) -> Usage:
    """Tokens by their wire names; what is not mentioned is zero."""
    if not is_object(value):
        raise Misfit("must be a mapping such as {input: 20, output: 5}")
    return cast("Usage", convert({**_NO_USAGE, **value}, Usage))


def known_type(value: Json, known: frozenset[str], what: str) -> dict[str, Json]:
    """The value, if it is a mapping with a `type` that there is."""
    if not is_object(value):
        raise Misfit(f"an {what} must be a mapping with a type")
    kind = value.get("type")
    if not isinstance(kind, str):
        raise Misfit(f"an {what} needs a type", ("type",))
    if kind not in known:
        raise Misfit(f"no {what} is called {quoted(kind)}{hint(kind, known)}", ("type",))
    return value


def left_out(key: str, kind: str) -> frozenset[str]:
    """The keys that a story may leave out of what this key says the kind of: they are filled in."""
    if key == "role":
        return frozenset(_filled_message({"role": kind}, DEFAULT_MODEL)) - {"role"}
    return frozenset(_placed(())) if kind in ENTRY_KINDS else frozenset()


_NO_USAGE: Final[Mapping[str, Json]] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}


def _to_entry(value: Json, before: Sequence[KnownEntry], model: Model) -> KnownEntry:
    value = known_type(value, ENTRY_KINDS, "entry")
    entry = cast(
        "KnownEntry",
        convert(_placed(before) | {key: _filled(key, item, model) for key, item in value.items()}, KnownEntry),
    )
    ids = {other.id for other in before}
    if entry.id in ids:
        raise Misfit(f"the id {quoted(entry.id)} is taken by an entry above", ("id",))
    if entry.parent_id is not None and entry.parent_id not in ids:
        raise Misfit(f"no entry above has the id {quoted(entry.parent_id)}", ("parentId",))
    return entry


def _placed(before: Sequence[KnownEntry]) -> dict[str, Json]:
    return {
        "id": f"e{len(before) + 1}",
        "parentId": before[-1].id if before else None,
        "timestamp": iso(EPOCH_MS),
    }


def _filled(key: str, value: Json, model: Model) -> Json:
    """The value of a key that holds messages with its messages filled in, any other as it is."""
    if key == "message" and is_object(value):
        return _filled_message(value, model)
    if key in {"messages", "toolResults"} and is_array(value):
        return [_filled_message(one, model) if is_object(one) else one for one in value]
    return value


def _filled_message(value: dict[str, Json], model: Model) -> dict[str, Json]:
    content = value.get("content")
    blocks: dict[str, Json] = {"content": [{"type": "text", "text": content}]} if isinstance(content, str) else {}
    match value.get("role"):
        case "assistant":
            said: dict[str, Json] = {"content": [], "api": model.api, "provider": model.provider, "model": model.id}
            end: dict[str, Json] = {"usage": _NO_USAGE, "stopReason": "stop", "timestamp": EPOCH_MS}
            return {**said, **end, **value, **blocks}
        case "toolResult":
            return {"isError": False, "timestamp": EPOCH_MS, **value, **blocks}
        case _:
            return {"timestamp": EPOCH_MS, **value}


def _misfit(text: str, kind: Any) -> Misfit:
    """Our sentence for msgspec's, which is such as `Expected `int`, got `str` - at `$.message.timestamp``."""
    found = _AT.search(text)
    words = text if found is None else text[: found.start()]
    place: Place = ()
    if found is not None:
        place = tuple(name or int(number) for name, number in _STEP.findall(found["path"]))
    if (field := _UNKNOWN_FIELD.fullmatch(words)) is not None:
        return Misfit(unknown("key", field[1], _fields(kind)), (*place, field[1]))
    if (tag := _UNKNOWN_TAG.fullmatch(words)) is not None:
        return Misfit(f"{quoted(tag[1])} is no {place[-1] if place else 'value'} that there is", place)
    return Misfit(one_line(words[:1].lower() + words[1:].replace("`", "'")), place)


@cache
def _fields(kind: Any) -> set[str]:
    """The wire names of all fields that a value of this type may have, at any depth."""
    names: set[str] = set()
    todo, done = [kind], set[Any]()
    while todo:
        one = todo.pop()
        if one in done:
            continue
        done.add(one)
        todo.extend(get_args(one))
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            fields = msgspec.structs.fields(one)
            names.update(field.encode_name for field in fields)
            todo.extend(field.type for field in fields)
    return names - {EXTRA}
