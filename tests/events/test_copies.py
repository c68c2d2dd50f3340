from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.base import Json, is_array, is_object
from sapwood.events.content import ToolCall
from sapwood.events.copies import Detaching, detached
from sapwood.events.deltas import TextDelta, ToolCallEnd
from sapwood.events.entries import Custom, KnownEntry
from sapwood.events.hooks import AnyQuestion
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import SystemMessage, ToolDefinition
from sapwood.events.runtime import EntryAppended, Event, MessageEnd, MessageUpdate, ToolExecutionStart
from tests.build import MS, assistant, message_entry, result, user
from tests.strategies import of


def containers(value: Any) -> set[int]:
    """The identities of all dictionaries and lists in it."""
    found = {id(value)} if type(value) in {dict, list} else set[int]()
    items: list[object] = []
    if isinstance(value, msgspec.Struct):
        items = [getattr(value, name) for name in value.__struct_fields__]
    elif is_object(value):
        items = [*value.values()]
    elif is_array(value) or isinstance(value, tuple):
        items = [*value]
    return found.union(*map(containers, items))


@given(of(KnownEntry) | of(Event) | of(AnyQuestion))
def test_a_copy_is_equal_and_shares_nothing_that_can_change(entry: msgspec.Struct) -> None:
    copy = detached(entry)
    assert copy == entry
    assert not containers(copy) & containers(entry)


@given(of(Json))
def test_so_does_json(value: Json) -> None:
    copy = detached(value)
    assert copy == value
    assert not containers(copy) & containers(value)


@pytest.mark.parametrize(
    "value",
    [
        user(),
        assistant("words", "more"),
        result("c1"),
        message_entry("00000001", user()),
        MessageUpdate(call_id="x", assistant_message_event=TextDelta(content_index=0, delta="words")),
        "words",
        None,
    ],
)
def test_what_cannot_change_is_shared(value: object) -> None:
    assert detached(value) is value


def test_what_holds_arguments_sections_and_schemas_is_detached_wherever_it_stands() -> None:
    call = ToolCall(id=ToolCallId("c1"), name="read", arguments={"path": "a"})
    said = assistant(call)
    for value in (
        call,
        said,
        message_entry("00000001", said),
        MessageEnd(message=said, entry_id=EntryId("00000001")),
        EntryAppended(entry_id=EntryId("00000001"), kind="message", entry=message_entry("00000001", said)),
        ToolExecutionStart(tool_call_id=call.id, tool_name="read", args=call.arguments),
        MessageUpdate(call_id="x", assistant_message_event=ToolCallEnd(content_index=0, tool_call=call)),
        SystemMessage(
            content="",
            sections={"rules": "none"},
            tools_added=(ToolDefinition(name="read", description="", parameters={"type": "object"}),),
            timestamp=MS,
        ),
    ):
        copy = detached(value)
        assert copy == value
        assert containers(value)
        assert not containers(copy) & containers(value)


def test_a_circle_and_what_is_in_it_twice_are_copied_once() -> None:
    shared: list[object] = [1]
    circle: dict[str, Any] = {"a": shared, "b": shared, "t": ({"in": "a tuple"},)}
    circle["self"] = circle
    copy = detached(circle)
    assert copy["self"] is copy is not circle
    assert copy["a"] is copy["b"] is not shared
    assert copy["t"] == circle["t"]
    assert copy["t"][0] is not circle["t"][0]


class Untold(msgspec.Struct, frozen=True):
    """Of a type that msgspec cannot describe."""

    what: complex | dict[str, int]


def test_a_type_of_which_nothing_is_known_is_looked_into() -> None:
    value = Untold({"a": 1})
    assert detached(value) == value
    assert not containers(detached(value)) & containers(value)
    assert detached(Untold(1j)) == Untold(1j)


def test_how_deep_it_is_makes_no_difference() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    data = Custom(id=EntryId("0"), parent_id=None, timestamp="", custom_type="x", data=deep).data
    copy = detached(data)
    assert copy is not data
    while copy:  # a deep one is freed level by level
        copy = copy.pop()
    while deep:
        deep = deep.pop()


CALL = ToolCall(id=ToolCallId("c"), name="read", arguments={"path": "a"})


@given(
    st.lists(st.sampled_from([user("a"), assistant("b"), assistant(CALL), result("c", "d")]), max_size=12), st.data()
)
def test_one_tuple_after_the_other_is_detached_as_each_of_them_alone(known: list[Any], data: st.DataObject) -> None:
    """However much of the last one the next begins with."""
    detaching = Detaching[Any]()
    values: tuple[Any, ...] = ()
    for _ in range(5):
        values = (*values[: data.draw(st.integers(0, len(values)))], *known)

        copies = detaching.detached(values)

        assert copies == values
        assert not containers(copies) & containers(values)
        again = detaching.detached(values)
        assert not containers(again) & containers(copies), "each has its own"
        assert [a is b for a, b in zip(copies, values, strict=True)] == [detached(one) is one for one in values]
