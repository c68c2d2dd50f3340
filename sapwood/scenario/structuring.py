"""From a plain value to a `Story`. No I/O.

1. Text is text, a number is a number: nothing is turned into something else.
2. An unknown key is refused, with the nearest right one; a key that is missing beside it is not told, for it may be the same one.
3. Of several faults the one that stands first in the file is raised, a `Misfit` that bears the others, and nothing else. What msgspec
   takes apart (a literal event or entry) tells the first of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Literal, cast, get_args, get_origin

import attrs
from cattrs import BaseValidationError, ClassValidationError, Converter, ForbiddenExtraKeysError
from cattrs.errors import IterableValidationError
from cattrs.gen import make_dict_structure_fn, override

from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.actors.projection.system_prompt import PREAMBLE, check_section_name
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.entries import KnownEntry
from sapwood.events.errors import Refused
from sapwood.events.messages import Message, Usage
from sapwood.events.models import Model
from sapwood.events.runtime import Event
from sapwood.scenario.declared import misfits
from sapwood.scenario.errors import ENOUGH, Misfit, together
from sapwood.scenario.language import (
    DEFAULT_MODEL,
    LONGEST_WAIT,
    STEPS,
    Expect,
    FromEntries,
    FromFile,
    FromSeed,
    Generated,
    Pass,
    Pattern,
    Place,
    Step,
    Story,
)
from sapwood.scenario.matching import GAP
from sapwood.scenario.patterns import Item, strange_keys, strange_name
from sapwood.scenario.scripts import Answer, Answers, Call, ScriptedTool
from sapwood.scenario.sense import nonsense
from sapwood.scenario.wire import ENTRY_KINDS, EVENT_NAMES, tags, to_entries, to_event, to_model, to_usage
from sapwood.settings import Settings
from sapwood.settings_keys import faults_in, settings_of
from sapwood.words.hints import unknown
from sapwood.words.wording import one_line, quoted

BEGINNINGS: Final[Mapping[str, type]] = {"file": FromFile, "entries": FromEntries, "generated": FromSeed}

Hook = Callable[[Json, Any], Any]


def fit(value: Json, line_of: Callable[[Place], int]) -> Story:
    """The story in a value, or the `Misfit`s in it together, in the order of the file."""
    try:
        story: Story = _converter(_model_of(value)).structure(value, Story)
        if found := list(islice(nonsense(story), ENOUGH)):
            raise together(found)
    except (BaseValidationError, Misfit) as error:
        raise together(sorted(_faults(error, ()), key=lambda fault: line_of(fault.place))) from error
    return story


def _model_of(value: Json) -> Model:
    """The story's model, for the messages that do not name theirs. A wrong one is told when its turn comes."""
    try:
        return to_model(value["model"]) if is_object(value) and "model" in value else DEFAULT_MODEL
    except Misfit:
        return DEFAULT_MODEL


def _converter(model: Model) -> Converter:
    made = Converter(forbid_extra_keys=True, detailed_validation=True)
    made.register_structure_hook(str, _text)
    made.register_structure_hook(float, _seconds)
    made.register_structure_hook_func(_is_made_of(Literal), _word)
    made.register_structure_hook_func(_is_made_of(tuple), _listing(made))
    made.register_structure_hook(Settings, _settings)
    made.register_structure_hook(Model, _declared(Model, lambda value: to_model(value, model.provider)))
    made.register_structure_hook(Usage, _declared(Usage, to_usage))
    made.register_structure_hook(Event, lambda value, _: to_event(value, model))
    # the inner ones first: cattrs binds what it finds when a class is registered
    made.register_structure_hook_func(lambda kind: kind == Literal[True], _true)
    made.register_structure_hook(bool, _yes)
    made.register_structure_hook(int, _whole)
    made.register_structure_hook_func(_is_made_of(dict), _named(made))
    plain: list[type] = [Call, Answer, Answers, ScriptedTool, FromFile, Generated, FromSeed]
    for kind in plain:
        made.register_structure_hook(kind, _mapping(kind, made))
    entries = override(struct_hook=lambda value, _: to_entries(_listed(value), model))
    made.register_structure_hook(FromEntries, _mapping(FromEntries, made, entries=entries))
    made.register_structure_hook(
        Expect,
        _mapping(
            Expect,
            made,
            events=override(struct_hook=_patterns("type", "event", EVENT_NAMES, Event)),
            entries=override(struct_hook=_patterns("type", "entry", ENTRY_KINDS, KnownEntry)),
            projection=override(struct_hook=_patterns("role", "message", tags(Message), Item)),
        ),
    )
    made.register_structure_hook_func(lambda kind: kind == Literal[True] | str, _true_or_text)
    for kind in STEPS.values():
        made.register_structure_hook(kind, _mapping(kind, made))
    made.register_structure_hook(Pass, _mapping(Pass, made, pass_=override(rename="pass")))
    made.register_structure_hook(Step, _by_key("step", STEPS, made))
    beginning = override(struct_hook=_by_key("session", BEGINNINGS, made))
    prompt = override(struct_hook=_system_prompt)
    made.register_structure_hook(Story, _mapping(Story, made, session=beginning, system_prompt=prompt))
    return made


def _declared(kind: type[Model | Usage], make: Callable[[Json], object]) -> Hook:
    """What is made of a mapping by its wire names, once nothing of it is wrong any more."""

    def hook(value: Json, _: Any) -> object:
        if is_object(value) and (found := list(islice(misfits(value, kind), ENOUGH))):
            raise together(found)
        return make(value)

    return hook


def _is_made_of(origin: object) -> Callable[[object], bool]:
    return lambda kind: get_origin(kind) == origin


def _text(value: Json, _: object) -> str:
    if not isinstance(value, str):
        raise Misfit(
            f"must be text, not {quoted(value)}" + (": put it in quotes" if isinstance(value, int | float) else "")
        )
    return value


def _seconds(value: Json, _: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_WAIT:
        raise Misfit(f"must be a number of seconds from 0 to {LONGEST_WAIT:,.0f} (a year), not {quoted(value)}")
    return float(value)


def _true(value: Json, _: object) -> bool:
    if value is not True:
        raise Misfit(f"must be true, not {quoted(value)}")
    return True


def _true_or_text(value: Json, _: object) -> bool | str:
    if value is not True and not isinstance(value, str):
        raise Misfit(f"must be true, or text, not {quoted(value)}")
    return value


def _yes(value: Json, _: object) -> bool:
    if not isinstance(value, bool):
        raise Misfit(f"must be true or false, not {quoted(value)}")
    return value


def _whole(value: Json, _: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Misfit(f"must be a whole number from 0 on, not {quoted(value)}")
    return value


def _named(made: Converter) -> Hook:
    """A mapping by names that the story chooses."""

    def hook(value: Json, kind: Any) -> Any:
        if not is_object(value):
            raise Misfit("must be a mapping by names")
        item: Any = get_args(kind)[1]
        if item is Json:
            return dict(value)
        named, faults = dict[str, Any](), list[Misfit]()
        for name, one in value.items():
            try:
                named[name] = made.structure(one, item)
            except (BaseValidationError, Misfit) as error:
                faults.extend(_faults(error, (name,)))
        if faults:
            raise together(faults)
        return named

    return hook


def _word(value: Json, kind: object) -> str:
    words: tuple[str, ...] = get_args(kind)
    if not isinstance(value, str) or value not in words:
        raise Misfit(f"must be one of {', '.join(words)}, not {quoted(value)}")
    return value


def _system_prompt(value: Json, _: object) -> SystemPrompt | None:
    if value is None:
        return None
    if not is_object(value):
        raise Misfit("must be a mapping: the text of each section by its name")
    sections, faults = dict[str, str](), list[Misfit]()
    for name, text in value.items():
        try:
            sections[name if name == PREAMBLE else check_section_name(name)] = _text(text, None)
        except (Misfit, Refused) as fault:
            faults.append(Misfit(str(fault), (name,)))
    if faults:
        raise together(faults)
    return SystemPrompt(preamble=sections.pop(PREAMBLE, ""), sections=sections)


def _settings(value: Json, _: object) -> Settings:
    """By the names that a settings file has; a scenario is no other program's file, so nothing is passed over."""
    faults = [Misfit(fault.message, fault.place) for fault in islice(faults_in(value, strict=True), ENOUGH)]
    if faults:
        raise together(faults)
    return settings_of(value)


def _listed(value: Json) -> list[Json]:
    if not is_array(value):
        raise Misfit("must be a list: each item on a line of its own, behind a dash")
    return list(value)


def _listing(made: Converter) -> Hook:
    def hook(value: Json, kind: Any) -> Any:
        item: Any = get_args(kind)[0]
        listed: Any = list[item]
        return tuple(made.structure(_listed(value), listed))

    return hook


def _mapping(kind: type, made: Converter, **overrides: Any) -> Hook:
    """What cattrs makes for a class, for mappings alone."""
    structure = cast("Hook", make_dict_structure_fn(kind, made, **overrides))
    keys = ", ".join(field.name.removesuffix("_") for field in attrs.fields(kind))

    def hook(value: Json, _: Any) -> Any:
        if not is_object(value):
            raise Misfit(f"must be a mapping, with keys out of: {keys}")
        return structure(value, kind)

    return hook


def _by_key(what: str, table: Mapping[str, type], made: Converter) -> Hook:
    """One of several classes, told by the one key that only it has."""
    every = {field.name.removesuffix("_") for kind in table.values() for field in attrs.fields(kind)}

    def hook(value: Json, _: Any) -> Any:
        if value is None and what == "session":
            return None
        if not is_object(value):
            raise Misfit(f"a {what} must be a mapping with one of: {', '.join(table)}")
        named = [key for key in value if key in table]
        if len(named) == 1:
            kind: Any = table[named[0]]
            return made.structure(value, kind)
        others = islice((key for key in value if key not in every), ENOUGH)
        strange = [Misfit(unknown("key", key, every), (key,)) for key in others]
        raise together(strange or [Misfit(f"a {what} needs exactly one of: {', '.join(table)}", tuple(named[1:2]))])

    return hook


def _patterns(key: str, what: str, known: frozenset[str], kind: Any) -> Hook:
    """A list of patterns: `...`, the name of a kind, or a mapping."""

    def written_out(item: Json) -> Json:
        return {key: item} if isinstance(item, str) and item != GAP else item

    def faults(value: Json) -> Iterator[Misfit]:
        if value == GAP:
            return
        if not is_object(value):
            yield Misfit(f"must be {GAP}, the name of an {what}, or a mapping with its {key}")
            return
        name = value.get(key)
        if key in value and not isinstance(name, str):
            yield Misfit(f"must be the name of an {what}, not {quoted(name)}", (key,))
        elif isinstance(name, str) and (strange := strange_name(name, key, what, known)) is not None:
            yield strange
            return  # its other keys may be right for the kind that is meant
        yield from strange_keys(value, kind)

    def hook(value: Json, _: Any) -> tuple[Pattern, ...] | None:
        if value is None:
            return None
        values = [written_out(item) for item in _listed(value)]
        found = list(islice(((fault, at) for at, item in enumerate(values) for fault in faults(item)), ENOUGH))
        if found:
            raise together(one for fault, at in found for one in fault.each((at,)))
        return tuple(map(Pattern, values))

    return hook


def _faults(error: BaseException, place: Place) -> Iterator[Misfit]:
    """Every fault in what cattrs raised, with its place."""
    match error:
        case ClassValidationError():
            noted, others = error.group_exceptions()
            misspelt = any(isinstance(fault, ForbiddenExtraKeysError) for fault in others)
            for fault, note in noted:
                name = note.name.removesuffix("_")
                if isinstance(fault, KeyError):
                    if not misspelt:
                        yield Misfit(f"the key {name!r} is missing", place)
                else:
                    yield from _faults(fault, (*place, name))
            for fault in others:
                yield from _faults(fault, place)
        case IterableValidationError():
            noted_items, others = error.group_exceptions()
            for fault, item in noted_items:
                yield from _faults(fault, (*place, item.index))
            for fault in others:
                yield from _faults(fault, place)
        case ForbiddenExtraKeysError(cl=kind, extra_fields=extra):
            known = [field.name.removesuffix("_") for field in attrs.fields(kind)]
            for key in sorted(extra):
                yield Misfit(unknown("key", key, known), (*place, key))
        case Misfit():
            yield from error.each(place)
        case _:  # what we did not think of is the text's doing all the same
            yield Misfit(f"does not fit: {one_line(f'{type(error).__name__}: {error}')}", place)
