"""A pattern speaks of what there is."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.context import ContextItem
from sapwood.events.entries import KnownEntry
from sapwood.events.ids import EntryId
from sapwood.events.runtime import Event
from sapwood.scenario.checking import item_value
from sapwood.scenario.language import Place
from sapwood.scenario.patterns import Item, strange_keys
from tests.build import user
from tests.strategies import PER_KIND, of

CALL = {"type": "toolCall", "arguments": {"anything": 1}}


@pytest.mark.parametrize(
    "pattern",
    [
        {"type": "agent_end", "willRetry": None},
        {"type": "agent_end", "messages": ["...", {"role": "assistant", "stopReason": "stop"}]},
        {"type": "message_...", "message": {"role": "user"}},
        {"message": {"content": "..."}, "entryId": "x"},
        {"type": "message_end", "message": {"role": "assistant", "content": [CALL]}},
        {"type": "message_end", "message": {"role": "toolResult", "details": {"anything": {"at": "all"}}}},
        {"type": "message_end", "message": {"role": "toolResu..."}},
        {"type": "message_end", "message": "...", "entryId": {"not": "looked into"}},
    ],
)
def test_a_key_that_there_is_is_let_be(pattern: Any) -> None:
    assert list(strange_keys(pattern, Event)) == []


@pytest.mark.parametrize(
    ("pattern", "place", "words"),
    [
        ({"type": "agent_end", "wilRetry": True}, ("wilRetry",), "did you mean 'willRetry'"),
        ({"type": "agent_start", "willRetry": True}, ("willRetry",), "unknown key 'willRetry'"),
        ({"typ": "agent_start"}, ("typ",), "did you mean 'type'"),
        ({"type": "turn_end", "message": {"stopReson": "x"}}, ("message", "stopReson"), "did you mean 'stopReason'"),
        (
            {"type": "agent_end", "messages": [{"role": "user"}, {"role": "user", "stopReason": "stop"}]},
            ("messages", 1, "stopReason"),
            "unknown key 'stopReason'",
        ),
        (
            {"type": "message_end", "message": {"role": "assistant", "content": ["...", {"type": "text", "txt": ""}]}},
            ("message", "content", 1, "txt"),
            "did you mean 'text'",
        ),
    ],
)
def test_a_key_that_could_never_be_seen_is_told_with_its_place(pattern: Any, place: Place, words: str) -> None:
    [misfit] = strange_keys(pattern, Event)

    assert misfit.place == place
    assert words in misfit.message


def test_every_key_that_could_never_be_seen_is_told() -> None:
    pattern = {"type": "message_end", "mesage": {}, "message": {"role": "user", "contnt": "", "txt": ""}}

    assert [one.place for one in strange_keys(pattern, Event)] == [
        ("mesage",),
        ("message", "contnt"),
        ("message", "txt"),
    ]


@pytest.mark.parametrize("kind", [*get_args(Event), *get_args(KnownEntry)], ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_whatever_can_be_seen_can_be_expected(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    value = msgspec.to_builtins(data.draw(of(kind)))

    assert list(strange_keys(value, Event if kind in get_args(Event) else KnownEntry)) == []


def test_a_message_of_the_projection_has_the_keys_that_are_compared() -> None:
    seen = item_value(ContextItem(entry_id=EntryId("u1"), message=user("hi"), tokens=1))

    assert list(seen) == [field.encode_name for field in msgspec.structs.fields(Item)]
    assert list(strange_keys(seen, Item)) == []
    [misfit] = strange_keys({"role": "user", "token": 1}, Item)
    assert "did you mean 'tokens'" in misfit.message
