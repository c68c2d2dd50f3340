"""Literal events and entries: the wire's shapes, with what a story need not say filled in."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.actors.environment import EPOCH_MS
from sapwood.events.entries import Label, MessageEntry, SessionInfo
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, ToolResultMessage, Usage, UserMessage
from sapwood.events.models import Model
from sapwood.events.runtime import AgentEnd, Diagnostic, TurnEnd
from sapwood.scenario.errors import Misfit
from sapwood.scenario.language import Place
from sapwood.scenario.wire import to_entries, to_event, to_model, to_usage
from tests.build import TIME, assistant, text


@pytest.mark.parametrize(
    ("event", "place", "words"),
    [
        (None, (), "an event must be a mapping with a type"),
        ({}, ("type",), "an event needs a type"),
        ({"type": 5}, ("type",), "an event needs a type"),
        ({"type": "agent_strat"}, ("type",), "did you mean 'agent_start'"),
        ({"type": "turn_start", "turnIndex": "0"}, ("turnIndex",), "expected 'int', got 'str'"),
        ({"type": "turn_start"}, (), "missing required field 'turnIndex'"),
        ({"type": "agent_start", "x": 1}, ("x",), "unknown key 'x'"),
        (
            {"type": "message_start", "message": {"role": "user", "contnt": ""}},
            ("message", "contnt"),
            "did you mean 'content'",
        ),
        ({"type": "message_start", "message": {"role": "usr"}}, ("message", "role"), "'usr' is no role"),
        (
            {"type": "agent_end", "willRetry": False, "messages": [{"role": "user", "content": [{"type": "txt"}]}]},
            ("messages", 0, "content", 0, "type"),
            "'txt' is no type",
        ),
    ],
)
def test_an_event_that_does_not_fit_is_told_with_its_place(event: Any, place: Place, words: str) -> None:
    with pytest.raises(Misfit) as caught:
        to_event(event)

    assert caught.value.place == place
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("entries", "place", "words"),
    [
        ([{"type": "lable"}], (0, "type"), "did you mean 'label'"),
        ([{"type": "session_info"}, {"type": "session_info", "id": "e1"}], (1, "id"), "is taken by an entry above"),
        ([{"type": "session_info", "parentId": "e9"}], (0, "parentId"), "no entry above has the id 'e9'"),
        ([{"type": "session_info", "name": 5}], (0, "name"), "expected 'str"),
        ([{"type": "label"}], (0,), "missing required field 'targetId'"),
    ],
)
def test_an_entry_that_does_not_fit_is_told_with_its_place(entries: list[Any], place: Place, words: str) -> None:
    with pytest.raises(Misfit) as caught:
        to_entries(entries)

    assert caught.value.place == place
    assert words in caught.value.message


def test_entries_form_a_chain_unless_they_name_their_parent() -> None:
    first, second, third, root = to_entries(
        [
            {"type": "session_info"},
            {"type": "session_info", "id": "b"},
            {"type": "label", "targetId": "b", "parentId": "e1", "timestamp": "then"},
            {"type": "session_info", "parentId": None},
        ]
    )

    assert first == SessionInfo(id=EntryId("e1"), parent_id=None, timestamp=TIME)
    assert second == SessionInfo(id=EntryId("b"), parent_id=EntryId("e1"), timestamp=TIME)
    assert third == Label(id=EntryId("e3"), parent_id=EntryId("e1"), timestamp="then", target_id=EntryId("b"))
    assert (root.id, root.parent_id) == ("e4", None)
    assert to_entries([]) == ()


def test_what_a_message_need_not_say_is_filled_in() -> None:
    model = Model(provider="p", id="m", api="a")
    user, answer, result = to_entries(
        [
            {"type": "message", "message": {"role": "user", "content": "hi"}},
            {"type": "message", "message": {"role": "assistant", "content": "there"}},
            {"type": "message", "message": {"role": "toolResult", "content": "ok", "toolCallId": "c", "toolName": "t"}},
        ],
        model,
    )

    assert isinstance(user, MessageEntry)
    assert isinstance(answer, MessageEntry)
    assert isinstance(result, MessageEntry)
    assert user.message == UserMessage(content="hi", timestamp=EPOCH_MS)
    assert answer.message == AssistantMessage(
        content=(text("there"),),
        api="a",
        provider="p",
        model="m",
        usage=Usage(input=0, output=0, cache_read=0, cache_write=0),
        stop_reason="stop",
        timestamp=EPOCH_MS,
    )
    assert isinstance(result.message, ToolResultMessage)
    assert (result.message.content, result.message.is_error) == ((text("ok"),), False)


def test_what_is_written_is_kept() -> None:
    written: dict[str, Any] = {
        "role": "assistant",
        "stopReason": "error",
        "model": "other",
        "timestamp": 5,
        "content": [],
    }

    (entry,) = to_entries([{"type": "message", "message": written}])

    assert isinstance(entry, MessageEntry)
    message = entry.message
    assert isinstance(message, AssistantMessage)
    assert (message.stop_reason, message.model, message.timestamp, message.content) == ("error", "other", 5, ())


def test_the_messages_of_an_event_are_filled_in_wherever_they_stand() -> None:
    said = {"role": "assistant", "content": "there"}
    result = {"role": "toolResult", "content": "ok", "toolCallId": "c", "toolName": "t"}

    end = to_event({"type": "agent_end", "messages": [said, result], "willRetry": False})
    turn = to_event({"type": "turn_end", "message": said, "toolResults": [result]})

    assert isinstance(end, AgentEnd)
    assert isinstance(turn, TurnEnd)
    assert (turn.message, *turn.tool_results) == end.messages
    assert turn.message.content == assistant("there").content


def test_only_messages_are_filled_in() -> None:
    facts = {"role": "user", "messages": [{"role": "user"}]}

    event = to_event({"type": "diagnostic", "code": "x", "message": "y", "facts": facts})

    assert isinstance(event, Diagnostic)
    assert event.facts == facts
    with pytest.raises(Misfit, match="expected 'array', got 'int'"):
        to_event({"type": "agent_end", "messages": 5, "willRetry": False})


def test_a_model_is_the_scripted_one_unless_it_says_otherwise() -> None:
    assert to_model({"id": "x"}) == Model(provider="scripted", id="x")
    assert to_model({"provider": "p", "id": "x", "contextWindow": 9}).context_window == 9
    with pytest.raises(Misfit, match="expected 'int"):
        to_model({"contextWindow": "9"})
    with pytest.raises(Misfit, match="must be a mapping"):
        to_model("x")


def test_usage_is_zero_where_it_says_nothing() -> None:
    assert to_usage({"output": 2, "totalTokens": 9}) == Usage(
        input=0, output=2, cache_read=0, cache_write=0, total_tokens=9
    )
    with pytest.raises(Misfit, match="did you mean 'input'") as caught:
        to_usage({"inptu": 2})
    assert caught.value.place == ("inptu",)
    with pytest.raises(Misfit, match="must be a mapping"):
        to_usage(5)


def test_every_entry_that_does_not_fit_is_told_but_not_what_may_be_wrong_because_of_another() -> None:
    with pytest.raises(Misfit) as caught:
        to_entries(
            [
                {"type": "session_info", "id": "a", "nam": "x"},
                {"type": "session_info", "parentId": "a"},
                {"type": "session_info", "nme": "x"},
            ]
        )

    assert [one.place for one in caught.value.each()] == [(0, "nam"), (2, "nme")]
