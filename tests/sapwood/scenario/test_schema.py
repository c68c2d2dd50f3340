"""An editor marks nothing that can be played, and most of what cannot."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.base import is_array, is_object
from sapwood.scenario.errors import Misfit
from sapwood.scenario.schema import schema
from sapwood.scenario.structuring import fit
from sapwood.scenario.text import parse

STORIES = sorted((Path(__file__).parents[3] / "scenarios").rglob("*.yaml"))
VALUES = {path.name: parse(path.read_text(encoding="utf-8")).value for path in STORIES}
VALIDATOR: Any = jsonschema.Draft202012Validator(schema())


def is_loaded(value: Any) -> bool:
    try:
        fit(value, lambda _: 1)
    except Misfit:
        return False
    return True


def test_it_is_a_schema_and_the_same_each_time() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema() == schema()


@pytest.mark.parametrize("name", VALUES)
def test_a_story_that_ships_is_taken(name: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(VALUES[name])] == []


SAID = "title: A\nsteps: [{prompt: Hello}]\n"
WRONG = {
    "no mapping": "- 1",
    "no title": "steps: [{prompt: Hello}]",
    "no steps": "title: A",
    "unknown key": f"{SAID}colour: red",
    "text that is a number": "title: 5\nsteps: [{prompt: Hello}]",
    "unknown step": "title: A\nsteps: [{promt: Hello}]",
    "two steps in one": "title: A\nsteps: [{prompt: Hello, abort: true}]",
    "a word that is none": "title: A\nsteps: [{prompt: Hello, outcome: delievered}]",
    "a false true": "title: A\nsteps: [{abort: false}]",
    "an actor that is none": "title: A\nsteps: [{crash: nobody}]",
    "too long a wait": "title: A\nsteps: [{pass: 99999999999}]",
    "answers by a purpose that is none": f"{SAID}answers: {{turns: []}}",
    "an answer with a strange key": f"{SAID}answers: {{turn: [{{texts: Hello}}]}}",
    "a usage that is text": f"{SAID}answers: {{turn: [{{usage: {{input: many}}}}]}}",
    "a model without a window": f"{SAID}model: {{contextWindow: 0}}",
    "a model with a strange key": f"{SAID}model: {{window: 10}}",
    "a setting that is none": f"{SAID}settings: {{compactions: {{}}}}",
    "a setting of a wrong type": f"{SAID}settings: {{compaction: {{reserveTokens: -1}}}}",
    "a setting of other programs": f"{SAID}settings: {{theme: dark}}",
    "a section with a name that is none": f"{SAID}system_prompt: {{Big: text}}",
    "a session of two kinds": f"{SAID}session: {{file: a, entries: []}}",
    "an entry of no kind": f"{SAID}session: {{entries: [{{type: massage}}]}}",
    "an entry with a strange key": f"{SAID}session: {{entries: [{{type: label, targetId: e1, label: a, colour: red}}]}}",
    "an event of no kind": "title: A\nsteps: [{events: [{type: turn_begin}]}]",
    "an expected event of no kind": f"{SAID}expect: {{events: [turn_begin]}}",
    "an expected entry with a key of none": f"{SAID}expect: {{entries: [{{type: message, massage: {{}}}}]}}",
    "a tool that takes what there is not": f"{SAID}tools: {{a: {{takes: {{n: bytes}}}}}}",
    "extensions that are no list": f"{SAID}extensions: a.py",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_what_the_loader_refuses_is_marked(text: str) -> None:
    value = parse(text).value

    assert not is_loaded(value)
    assert not VALIDATOR.is_valid(value)


def test_the_wrong_ones_are_each_wrong_in_one_thing() -> None:
    assert is_loaded(parse(SAID).value)
    assert VALIDATOR.is_valid(parse(SAID).value)


@pytest.mark.parametrize(
    "expect", ["{events: [turn_..., ...]}", "{entries: [{type: mess...}]}", "{projection: [tool..., {role: us...}]}"]
)
def test_the_beginning_of_a_name_is_taken_by_both(expect: str) -> None:
    """The schema marked it where it stood without braces."""
    value = parse(f"{SAID}expect: {expect}").value

    assert is_loaded(value)
    assert VALIDATOR.is_valid(value)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Each part of a value: what holds it, and where."""
    keys: list[Any] = [*value] if is_object(value) else [*range(len(value))] if is_array(value) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


OTHER = st.sampled_from(
    [None, True, False, 0, 1, -1, 0.5, 10**13, "", "x", "...", "abort", [], {}, ["..."], {"type": "label"}]
)


@given(st.sampled_from(sorted(VALUES)), st.data())
def test_what_the_loader_takes_is_never_marked(name: str, data: st.DataObject) -> None:
    """Stories that ship, with something else in one place."""
    value = deepcopy(VALUES[name])
    holder, key = data.draw(st.sampled_from(places(value)))
    match data.draw(st.sampled_from(["other", "gone", "renamed"])):
        case "other":
            holder[key] = data.draw(OTHER)
        case "gone":
            del holder[key]
        case _ if is_object(holder):
            holder[data.draw(st.sampled_from(["label", "type", "text", "x"]))] = holder.pop(key)
        case _:
            holder.append(holder[key])

    if is_loaded(value):
        assert [error.message for error in VALIDATOR.iter_errors(value)] == []
