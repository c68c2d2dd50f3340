"""What a settings file may say, by Pi's names, and the `Settings` that it comes to (C2). No I/O.

1. `KEYS` is the whole of it: what is looked at, what it must be, and which field it becomes. The code below only reads it.
2. Every value of ours is checked, used or not: an ordinary one although a model's own would serve, and the ones of every model.
3. Pi's files are taken as they are: keys that are not ours are passed over at the top and in `retry`. In `compaction`, in what a model
   has otherwise and in `branchSummary` they are mistakes, since no program reads them.
4. Files are merged, later ones over earlier ones, key by key, before anything is looked up: so a model's own value stands, whichever file
   says it, until another one says it of the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast, get_args

import attrs

from sapwood.actors.compaction.threshold import CompactionSettings, TokenOverride, is_amount
from sapwood.actors.model.retry import RetryPolicy
from sapwood.actors.navigation.settings import BranchSummarySettings, Manner
from sapwood.events.commands import QueueMode
from sapwood.events.errors import Refused, shown
from sapwood.settings import Settings
from sapwood.words.hints import hint
from sapwood.words.wording import one_line


@attrs.frozen
class Fault:
    """What is wrong with one value, or one key."""

    place: tuple[str, ...]
    """The keys that lead to it."""
    key: str
    """The same as a message names it: `compaction.modelOverrides["a/b"].reserveTokens`; empty for the whole."""
    message: str
    """A sentence of its own: Pi's, where Pi has one."""


@attrs.frozen
class _At:
    """Where in the file, by keys and in words."""

    place: tuple[str, ...]
    name: str

    def below(self, key: str) -> _At:
        """At a key that the language has."""
        return _At((*self.place, key), f"{self.name}.{one_line(key)}" if self.name else one_line(key))

    def named(self, key: str) -> _At:
        """At a key that the file chose."""
        return _At((*self.place, key), f'{self.name}["{one_line(key)}"]')

    def invalid(self, value: object, expected: str) -> Fault:
        """Pi's sentence."""
        setting = f"{self.name} setting" if self.name else "settings"
        return Fault(self.place, self.name, f"Invalid {setting}: {_spelled(value)}. Expected {expected}.")


@attrs.frozen
class _Value:
    field: str
    expected: str
    fits: Callable[[object], bool]
    schema: Mapping[str, object]
    """The same for an editor."""


@attrs.frozen
class _Group:
    field: str
    make: Callable[..., object]
    keys: Mapping[str, _Value | _Group | _ByName]
    is_open: bool = False
    """Whether other programs keep theirs in it too."""
    passed_over: tuple[str, ...] = ()
    """Pi's, in a group that is not open."""
    once: Mapping[str, str] = attrs.field(factory=dict[str, str])
    """What a key was called before, and its name today, which wins."""


@attrs.frozen
class _ByName:
    field: str
    each: _Group


_Shape = _Value | _Group | _ByName


def _switch(field: str) -> _Value:
    return _Value(field, "true or false", lambda value: isinstance(value, bool), {"type": "boolean"})


def _amount(field: str) -> _Value:
    return _Value(field, "a non-negative safe integer", is_amount, {"type": "integer", "minimum": 0})


def _word(field: str, words: tuple[str, ...]) -> _Value:
    return _Value(field, " or ".join(f'"{word}"' for word in words), lambda value: value in words, {"enum": [*words]})


_OVERRIDE: Final = _Group(
    "",
    TokenOverride,
    {"reserveTokens": _amount("reserve_tokens"), "keepRecentTokens": _amount("keep_recent_tokens")},
)

KEYS: Final = _Group(
    "",
    Settings,
    {
        "steeringMode": _word("steering_mode", get_args(QueueMode)),
        "followUpMode": _word("follow_up_mode", get_args(QueueMode)),
        "retry": _Group(
            "retry",
            RetryPolicy,
            {
                "enabled": _switch("enabled"),
                "maxRetries": _amount("max_retries"),
                "baseDelayMs": _amount("base_delay_ms"),
                "maxAgentDelayMs": _amount("max_delay_ms"),
            },
            is_open=True,
        ),
        "compaction": _Group(
            "compaction",
            CompactionSettings,
            {
                "enabled": _switch("enabled"),
                "reserveTokens": _amount("reserve_tokens"),
                "keepRecentTokens": _amount("keep_recent_tokens"),
                "modelOverrides": _ByName("model_overrides", _OVERRIDE),
            },
        ),
        "branchSummary": _Group(
            "branch_summary",
            BranchSummarySettings,
            {
                "enabled": _switch("enabled"),
                "reserveTokens": _amount("reserve_tokens"),
                "manner": _word("manner", get_args(Manner)),
            },
            passed_over=("skipPrompt",),
        ),
    },
    is_open=True,
    once={"queueMode": "steeringMode"},
)
"""Every key that is ours."""


def faults_in(value: object, *, strict: bool = False) -> Iterator[Fault]:
    """What is wrong with one file's value, in its order. With `strict` only today's keys of ours may be in it, at any depth."""
    yield from _faults(value, KEYS, _At((), ""), strict)


def taken(value: Mapping[str, object]) -> dict[str, object]:
    """What is ours of a file without faults, by today's names. A copy, down to its values."""
    return cast("dict[str, object]", _taken(value, KEYS))


def merged(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, object]:
    """Both, and where both say something the second; objects are merged in turn. Neither is changed."""
    both = dict(first)
    for key, value in second.items():
        before = both.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            both[key] = merged(cast("Mapping[str, object]", before), cast("Mapping[str, object]", value))
        else:
            both[key] = value
    return both


def settings_of(value: Mapping[str, object]) -> Settings:
    """The settings that one file says, or several, merged. `Refused` for the first fault in it."""
    for fault in faults_in(value):
        raise Refused("bad-input", fault.message)
    return cast("Settings", _made(_taken(value, KEYS), KEYS))


def schema_of_settings() -> dict[str, object]:
    """Today's keys of ours, and no others, as JSON Schema."""
    return _schema(KEYS)


def _schema(shape: _Shape) -> dict[str, object]:
    match shape:
        case _Value(schema=schema):
            return {**schema}
        case _ByName(each=each):
            return {"type": "object", "additionalProperties": _schema(each)}
        case _Group(keys=keys):
            properties = {key: _schema(one) for key, one in keys.items()}
            return {"type": "object", "properties": properties, "additionalProperties": False}


def _faults(value: object, shape: _Shape, at: _At, strict: bool) -> Iterator[Fault]:
    if isinstance(shape, _Value):
        if not shape.fits(value):
            yield at.invalid(value, shape.expected)
    elif not isinstance(value, Mapping):
        yield at.invalid(value, "an object")
    else:
        for key, item in cast("Mapping[str, object]", value).items():
            match shape:
                case _ByName(each=each):
                    yield from _faults(item, each, at.named(key), strict)
                case _Group(keys=keys):
                    inner, today = at.below(key), key if strict else shape.once.get(key, key)
                    if today in keys:
                        yield from _faults(item, keys[today], inner, strict)
                    elif strict or not (shape.is_open or key in shape.passed_over):
                        yield Fault(inner.place, inner.name, f"Unknown setting {inner.name}{hint(key, keys)}")


def _spelled(value: object) -> str:
    """A value as JSON has it, where Python has another word for it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return shown(value)


def _taken(value: Any, shape: _Shape) -> Any:
    match shape:
        case _Value():
            return value
        case _ByName(each=each):
            return {name: _taken(item, each) for name, item in value.items()}
        case _Group(keys=keys, once=once):
            renamed = {once[key]: item for key, item in value.items() if key in once}
            return {key: _taken(item, keys[key]) for key, item in {**renamed, **value}.items() if key in keys}


def _made(value: Any, shape: _Shape) -> Any:
    match shape:
        case _Value():
            return value
        case _ByName(each=each):
            return {name: _made(item, each) for name, item in value.items()}
        case _Group(make=make, keys=keys):
            return make(**{keys[key].field: _made(item, keys[key]) for key, item in value.items()})
