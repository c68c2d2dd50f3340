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
from sapwood.scenario.patterns import ROLES, Item, strange_keys, strange_name
from sapwood.scenario.wire import ENTRY_KINDS, EVENT_NAMES
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


@pytest.mark.parametrize(
    ("name", "key", "what", "words"),
    [
        ("mesage", "type", "entry", "no entry has the type 'mesage': did you mean 'message'?"),
        ("user", "type", "entry", "'user': a message is {type: message, message: {role: user}}"),
        ("user...", "type", "entry", "'user...': a message is {type: message, message: {role: user}}"),
        ("user…", "type", "entry", "'user…': a message is {type: message, message: {role: user}}"),
        ("toolResult", "type", "event", "a message is {type: message_end, message: {role: toolResult}}"),
        ("mess…", "type", "entry", "'mess…': for any rest write three dots, ..."),
        ("agent_strat...", "type", "event", "no event has the type 'agent_strat...': did you mean 'agent_start'?"),
        ("message", "role", "message", "a message is told by its role (there are: assistant, "),
        ("usr", "role", "message", "no message has the role 'usr': did you mean 'user'?"),
    ],
)
def test_a_name_that_nothing_has_is_told_with_what_was_meant(name: str, key: str, what: str, words: str) -> None:
    known = {"entry": ENTRY_KINDS, "event": EVENT_NAMES, "message": ROLES}[what]
    found = strange_name(name, key, what, known)

    assert found is not None
    assert words in found.message
    assert found.place == (key,)


@pytest.mark.parametrize("name", ["message", "mess...", "..."])
def test_a_name_and_the_beginning_of_one_are_good(name: str) -> None:
    assert strange_name(name, "type", "entry", ENTRY_KINDS) is None
