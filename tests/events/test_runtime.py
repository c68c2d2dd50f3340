"""News: the names on the wire, and which neighbours a reader that lags may get as one."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.deltas import Delta, TextDelta, TextStart, ThinkingDelta
from sapwood.events.ids import EntryId
from sapwood.events.runtime import (
    AgentSettled,
    AgentStart,
    CompactionReason,
    Event,
    MessageEnd,
    MessageUpdate,
    News,
    Purpose,
    TurnStart,
    merged,
    name_of,
)
from tests.build import user
from tests.events.wire import as_json, assert_complete, assert_round_trip, shapes, tag_fields
from tests.strategies import EVENTS, PER_KIND, TEXTS, of

PIS = {
    "agent_start": "",
    "agent_end": "messages willRetry",
    "agent_settled": "aborted errorMessage? errorType? unrecorded?",
    "turn_start": "turnIndex",
    "turn_end": "message toolResults",
    "message_start": "message",
    "message_update": "callId assistantMessageEvent",
    "message_end": "message entryId",
    "tool_execution_start": "toolCallId toolName args parentToolCallId?",
    "tool_execution_update": "toolCallId toolName partialResult parentToolCallId?",
    "tool_execution_end": "toolCallId toolName result isError durationMs? parentToolCallId?",
    "queue_update": "steering followUp",
    "entry_appended": "entryId kind entry?",
    "session_info_changed": "name?",
    "thinking_level_changed": "level",
    "compaction_start": "reason",
    "compaction_end": "reason result? aborted willRetry errorMessage?",
    "session_compact": "compactionEntry fromExtension reason willRetry",
    "session_compact_failed": "reason errorMessage? aborted willRetry fromExtension",
    "session_tree": "newLeafId oldLeafId summaryEntry? fromExtension?",
    "auto_retry_start": "attempt maxAttempts delayMs errorMessage",
    "auto_retry_end": "success attempt finalError?",
    "summarization_retry_scheduled": "attempt maxAttempts delayMs errorMessage",
    "summarization_retry_attempt_start": "source reason?",
    "summarization_retry_finished": "",
    "extension_error": "extension event errorMessage",
}
OURS = {
    "tool_abandoned": "toolCallId toolName afterMs",
    "model_changed": "provider modelId",
    "session_tree_failed": "targetId errorMessage? aborted fromExtension",
    "usage_reported": "purpose provider model usage",
    "session_moved": "oldPath newPath why",
    "session_file_lost": "path what",
    "damage_found": "records",
    "store_degraded": "errorMessage waiting",
    "store_recovered": "written",
    "diagnostic": "code message entryId? facts?",
}


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise TypeError("nothing is like it")

    __hash__ = None  # type: ignore[assignment]


def piece(words: str, call: str = "c1", block: int = 0) -> MessageUpdate:
    return MessageUpdate(call_id=call, assistant_message_event=TextDelta(content_index=block, delta=words))


def test_the_names_on_the_wire_are_pis_where_pi_has_them() -> None:
    assert tag_fields(Event) == {"type"}
    assert shapes(Event) == PIS | OURS


def test_every_event_is_in_the_union_once() -> None:
    assert_complete(Event, News)


def test_the_reasons_and_purposes_are_closed() -> None:
    assert get_args(CompactionReason) == ("manual", "threshold", "overflow")
    assert get_args(Purpose) == ("turn", "compaction", "turn_prefix", "branch_summary", "tool")


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_an_event_comes_back_as_it_was_under_its_name(kind: type[Event], data: st.DataObject) -> None:
    event = data.draw(of(kind))

    assert_round_trip(event, Event)
    assert as_json(event)["type"] == name_of(event)


def test_an_event_that_says_nothing_more_is_its_name() -> None:
    assert as_json(AgentStart()) == {"type": "agent_start"}
    assert name_of(AgentSettled(aborted=False)) == "agent_settled"


@given(texts=st.lists(TEXTS, min_size=2, max_size=5))
def test_pieces_of_one_answer_become_one_event_of_all_their_text(texts: list[str]) -> None:
    whole: Event = piece(texts[0])
    for text in texts[1:]:
        one = merged(whole, piece(text))
        assert one is not None
        whole = one

    assert whole == piece("".join(texts))


FEW: st.SearchStrategy[Event] = st.builds(
    MessageUpdate,
    call_id=st.sampled_from(["c1", "c2"]),
    assistant_message_event=st.builds(TextDelta, content_index=st.integers(0, 1), delta=TEXTS)
    | st.builds(ThinkingDelta, content_index=st.just(0), delta=TEXTS),
)


@given(first=FEW, second=FEW, third=FEW)
def test_it_does_not_matter_which_two_are_merged_first(first: Event, second: Event, third: Event) -> None:
    left, right = merged(first, second), merged(second, third)

    from_left = None if left is None else merged(left, third)
    from_right = None if right is None else merged(first, right)
    assert from_left == from_right


@pytest.mark.parametrize(
    "second",
    [
        piece("b", call="c2"),
        piece("b", block=1),
        MessageUpdate(call_id="c1", assistant_message_event=ThinkingDelta(content_index=0, delta="b")),
        MessageUpdate(call_id="c1", assistant_message_event=TextStart(content_index=1)),
        MessageEnd(message=user(), entry_id=EntryId("u1")),
        TurnStart(turn_index=0),
    ],
)
def test_nothing_is_merged_across_calls_blocks_and_kinds(second: Event) -> None:
    assert merged(piece("a"), second) is None
    assert merged(second, piece("a")) is None


@given(first=EVENTS, second=EVENTS)
def test_only_pieces_of_answers_are_ever_merged(first: Event, second: Event) -> None:
    one = merged(first, second)

    both: list[Delta] = [event.assistant_message_event for event in (first, second) if isinstance(event, MessageUpdate)]
    assert one is None or len(both) == 2


@pytest.mark.parametrize("odd", [None, 0.5, [], Incomparable()])
def test_what_is_no_piece_of_an_answer_is_not_merged_and_does_no_harm(odd: Any) -> None:
    """This used to raise at whoever published or read."""
    strange = [
        piece(odd),
        piece("a", call=odd),
        piece("a", block=odd),
        MessageUpdate(call_id="c1", assistant_message_event=odd),
    ]
    for event in strange:
        assert merged(event, event) is None
        assert merged(event, piece("b")) is None
        assert merged(piece("b"), event) is None
