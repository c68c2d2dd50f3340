"""The base of all that is written."""

from __future__ import annotations

import json

import msgspec
import pytest

from sapwood.events.base import Json, Number, Wire, is_array, is_object, listed


class Nest(Wire, frozen=True, kw_only=True):
    ring_number: str
    eggs: Number = 0
    last_seen: str | None = None


def test_names_are_camel_case_on_the_wire_and_defaults_are_left_out() -> None:
    assert msgspec.json.encode(Nest(ring_number="AX1")) == b'{"ringNumber":"AX1"}'
    assert msgspec.json.encode(Nest(ring_number="AX1", last_seen="May")) == b'{"ringNumber":"AX1","lastSeen":"May"}'


@pytest.mark.parametrize("line", ['{"ringNumber":"AX1","x":1}', '{"ring_number":"AX1"}', "{}", "[]"])
def test_what_the_type_does_not_know_is_an_error(line: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(line, type=Nest)


@pytest.mark.parametrize("eggs", ["1", "1.0", "2.5", "18446744073709551616"])
def test_whole_numbers_stay_whole_and_others_as_they_are(eggs: str) -> None:
    line = f'{{"ringNumber":"AX1","eggs":{eggs}}}'

    assert msgspec.json.encode(msgspec.json.decode(line, type=Nest)).decode() == line


def test_a_value_cannot_be_changed_and_can_be_a_key() -> None:
    nest = Nest(ring_number="AX1")

    with pytest.raises(AttributeError):
        setattr(nest, "eggs", 3)  # noqa: B010 - a checker would refuse the plain assignment
    assert {nest: 1}[Nest(ring_number="AX1")] == 1


@pytest.mark.parametrize(
    ("value", "answers"),
    [
        ({}, (True, False)),
        ([], (False, True)),
        ((1,), (False, True)),
        ("text", (False, False)),
        (b"bytes", (False, False)),
        (None, (False, False)),
        (json.loads("5"), (False, False)),
    ],
)
def test_objects_and_arrays_are_told_from_the_rest(value: Json, answers: tuple[bool, bool]) -> None:
    assert (is_object(value), is_array(value)) == answers


def test_a_list_of_things_is_anything_that_gives_them_but_text_and_a_mapping() -> None:
    for given in ([1, 2], (1, 2), iter([1, 2]), {1: None, 2: None}.keys()):
        assert listed(given) == (1, 2)
    for no_list in ("ab", b"ab", {1: 2}, 5, None):
        assert listed(no_list) is None
