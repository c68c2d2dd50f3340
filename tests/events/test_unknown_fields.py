"""What our types do not know is told apart, and put back where it was."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.base import Json, is_object
from sapwood.events.entries import EXTRA, Custom, Header, KnownEntry, Label, MessageEntry
from sapwood.events.messages import Usage
from sapwood.events.unknown_fields import (
    LINE,
    fields_of,
    info_of,
    item_type,
    merge,
    patch,
    split,
    struct_for,
    without_line,
)
from tests.strategies import JSON, PER_KIND, foreign, of, with_nulls

KINDS = (Header, *get_args(KnownEntry))
USAGE: dict[str, Json] = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}


def same(one: Json, other: Json) -> bool:
    """Equal, and a whole number is not a fraction nor a yes."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def answer(**message: Json) -> dict[str, Json]:
    """An answer's line as a value, with a field that we do not know at each level."""
    return {
        "type": "message",
        "id": "a1",
        "parentId": None,
        "timestamp": "t",
        "top": 1,
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "x", "block": [2]}, {"type": "text", "text": "y"}],
            "usage": {**USAGE, "tier": "fast", "cost": {"input": 0, "deep": {"er": 3}}},
            "inMessage": {"four": 4},
            **message,
        },
    }


def test_what_is_unknown_has_the_shape_of_the_value() -> None:
    known, overlay = split(answer(), MessageEntry)

    assert overlay == {
        "top": 1,
        "message": {
            "content": [{"block": [2]}, None],
            "usage": {"tier": "fast", "cost": {"deep": {"er": 3}}},
            "inMessage": {"four": 4},
        },
    }
    assert known["message"]["content"] == [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
    assert known["message"]["usage"] == {**USAGE, "cost": {"input": 0}}


def test_nothing_unknown_is_no_overlay() -> None:
    value = {"type": "label", "id": "b", "parentId": None, "timestamp": "t", "targetId": "a", "label": "x"}

    assert split(value, KnownEntry) == (value, None)


def test_what_is_inside_arguments_details_and_data_is_not_looked_at() -> None:
    value = {"type": "custom", "id": "b", "parentId": None, "timestamp": "t", "customType": "x", "data": {"zeta": 1}}

    assert split(value, KnownEntry) == (value, None)


def test_a_default_that_is_spelled_out_goes_with_the_unknown() -> None:
    value = {"type": "label", "id": "b", "parentId": None, "timestamp": "t", "targetId": "a", "label": None}

    known, overlay = split(value, KnownEntry)

    assert "label" not in known
    assert overlay == {"label": None}
    assert merge(known, overlay, KnownEntry) == value


def test_a_field_that_is_called_as_our_extra_is_unknown() -> None:
    assert split({EXTRA: {"a": 1}, "input": 1}, Usage) == ({"input": 1}, {EXTRA: {"a": 1}})
    assert split({"type": "custom", EXTRA: {"a": 1}}, Custom) == ({"type": "custom"}, {EXTRA: {"a": 1}})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_put_together_again_it_is_what_it_was(kind: Any, data: st.DataObject) -> None:
    ours = data.draw(of(kind))
    value = data.draw(foreign(ours) | with_nulls(ours))

    known, overlay = split(value, kind)

    assert same(merge(known, overlay, kind), value)


@given(value=JSON, kind=st.sampled_from([*KINDS, KnownEntry, Usage, tuple[Usage, ...], Json]))
def test_what_has_another_shape_is_left_for_the_decoder(value: Json, kind: Any) -> None:
    assert same(merge(*split(value, kind), kind), value)


@given(value=JSON, overlay=JSON)
def test_no_overlay_fits_what_is_no_struct(value: Json, overlay: Json) -> None:
    merged = merge(value, overlay, Label)

    if is_object(value):
        assert {key: merged[key] for key in value} == value
    else:
        assert merged == value


def test_a_known_field_is_never_overwritten() -> None:
    assert merge({**USAGE, "input": 5}, {"input": 1, "tier": "fast"}, Usage) == {**USAGE, "input": 5, "tier": "fast"}
    assert merge({"input": 5}, {"input": {"deep": 1}}, Usage) == {"input": 5}


def test_a_list_of_another_length_keeps_its_new_items() -> None:
    known, overlay = split(answer(), MessageEntry)
    known["message"]["content"] = [{"type": "text", "text": "new"}]

    merged = merge(known, overlay, MessageEntry)

    assert merged["message"]["content"] == [{"type": "text", "text": "new"}]
    assert merged["message"]["inMessage"] == {"four": 4}


def test_a_list_that_became_a_text_stays_a_text() -> None:
    known, overlay = split(answer(), MessageEntry)
    known["message"]["content"] = "new"

    assert merge(known, overlay, MessageEntry)["message"]["content"] == "new"


def test_a_part_that_is_gone_takes_its_unknown_fields_along() -> None:
    # this used to leave {"cost": {"deep": ...}, "tier": "fast"} behind: a usage that nobody could read
    known, overlay = split(answer(), MessageEntry)
    del known["message"]["usage"]

    assert "usage" not in merge(known, overlay, MessageEntry)["message"]


def test_a_null_that_was_spelled_out_gives_way_to_a_value() -> None:
    known, overlay = split(
        {"type": "label", "id": "b", "parentId": None, "timestamp": "t", "targetId": "a", "label": None}, Label
    )

    assert merge({**known, "label": "x"}, overlay, Label)["label"] == "x"


SAID: dict[str, Json] = {"id": "a", "n": 1.0, "odd": {"kept": [1], "text": None}, "list": [1, "?"], "zeta": 5}
WAS: dict[str, Json] = {"id": "a", "n": 1, "odd": {"text": ""}, "list": [1], "made": 0}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"id": "b"}, {"id": "b"}),
        ({"n": 2}, {"n": 2}),
        ({"odd": {"text": "x"}}, {"odd": {"kept": [1], "text": "x"}}),
        ({"odd": {}}, {"odd": {"kept": [1]}}),
        ({"odd": None}, {"odd": None}),
        ({"list": [2]}, {"list": [2]}),
        ({"made": 1}, {"made": 1}),
        ({"new": {"a": 1}}, {"new": {"a": 1}}),
    ],
)
def test_only_what_was_changed_is_laid_over_what_was_said(changes: Json, expected: Json) -> None:
    assert same(patch(SAID, WAS, {**WAS, **changes}), {**SAID, **expected})


def test_what_was_taken_away_is_taken_away() -> None:
    now = {key: item for key, item in WAS.items() if key not in {"n", "made"}}

    assert patch(SAID, WAS, now) == {key: item for key, item in SAID.items() if key != "n"}


def test_another_value_is_laid_over_whole() -> None:
    assert (patch(5, {}, {"a": 1}), patch({"a": 1}, {"a": 1}, 5)) == ({"a": 1}, 5)


def test_the_unknown_fields_alone_are_without_the_line() -> None:
    assert without_line({LINE: "x", "zeta": 1}) == {"zeta": 1}
    assert without_line({LINE: "x"}) is without_line(None) is None


def test_what_a_type_is_made_of() -> None:
    assert list(fields_of(Label)) == ["id", "parentId", "timestamp", "targetId", "label"]
    struct = struct_for({"type": "label"}, info_of(KnownEntry))
    assert struct is not None
    assert struct.cls is Label
    assert struct_for({"type": "later"}, info_of(KnownEntry)) is None
    inner = item_type(info_of(str | tuple[int, ...]))
    assert inner is not None
    assert item_type(info_of(str)) is None
