"""Questions to extensions: the names on the wire, and which answers each may get."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events import hooks
from sapwood.events.base import Wire
from sapwood.events.hooks import (
    AddBeforeStart,
    AnyQuestion,
    Block,
    Boundary,
    Cancel,
    ChangeArguments,
    ChangeHeaders,
    ChangeInput,
    ChangeMessage,
    ChangeMessages,
    ChangePayload,
    ChangeResult,
    CompactionPreparation,
    Handled,
    ProvideSummary,
    Question,
    TreeAnswer,
    TreePreparation,
)
from tests.events.answers import answers_of
from tests.events.wire import as_json, assert_complete, assert_round_trip, shape, shapes, tag_fields
from tests.strategies import PER_KIND, of

QUESTIONS = {
    "session_before_compact": "preparation branchEntryIds customInstructions? reason willRetry",
    "session_before_tree": "preparation",
    "session_before_fork": "entryId wholeTree",
    "session_start": "reason",
    "session_shutdown": "",
    "input": "text images? source",
    "before_agent_start": "prompt images? sections",
    "context": "messages",
    "context_with_system": "messages",
    "before_message_append": "message",
    "before_turn_end": "turnIndex message toolResults outcome",
    "agent_before_settle": "outcome",
    "before_provider_headers": "headerNames",
    "before_provider_request": "payload",
    "after_provider_response": "status headers",
    "provider_stream_event": "provider api model data",
    "tool_call": "toolName toolCallId arguments",
    "tool_result": "toolName toolCallId content details? isError",
}
ANSWERS = {
    "cancel": "reason? by?",
    "summary": "text firstKept? usage? details?",
    "tree": "summary? instructions? replaceInstructions? label? usage? details?",
    "block": "reason? terminate?",
    "arguments": "arguments",
    "result": "content? details? isError? usage?",
    "messages": "messages",
    "message": "message",
    "input": "text images?",
    "handled": "reason? by?",
    "before_start": "messages? systemPrompt?",
    "boundary": "entries? goOn?",
    "headers": "headers",
    "payload": "payload",
}
MAY_ANSWER: dict[str, set[type]] = {
    "session_before_compact": {Cancel, ProvideSummary},
    "session_before_tree": {Cancel, TreeAnswer},
    "session_before_fork": {Cancel},
    "session_start": set(),
    "session_shutdown": set(),
    "input": {ChangeInput, Handled},
    "before_agent_start": {AddBeforeStart},
    "context": {ChangeMessages},
    "context_with_system": {ChangeMessages},
    "before_message_append": {ChangeMessage},
    "before_turn_end": {Boundary},
    "agent_before_settle": {Boundary},
    "before_provider_headers": {ChangeHeaders},
    "before_provider_request": {ChangePayload},
    "after_provider_response": set(),
    "provider_stream_event": set(),
    "tool_call": {Block, ChangeArguments},
    "tool_result": {ChangeResult},
}
EVERY_ANSWER: list[type[Any]] = [
    kind
    for kind in vars(hooks).values()
    if isinstance(kind, type) and issubclass(kind, Wire) and kind.__struct_config__.tag_field == "answer"
]


def test_the_names_of_the_questions_are_fixed() -> None:
    assert tag_fields(AnyQuestion) == {"type"}
    assert shapes(AnyQuestion) == QUESTIONS


def test_the_names_of_the_answers_are_fixed() -> None:
    assert {str(kind.__struct_config__.tag): shape(kind) for kind in EVERY_ANSWER} == ANSWERS
    assert len(EVERY_ANSWER) == len(ANSWERS)


def test_what_a_summary_can_be_made_from_has_fixed_names() -> None:
    assert shape(CompactionPreparation) == (
        "messagesToSummarize turnPrefixMessages isSplitTurn previousSummary? readFiles? modifiedFiles? tokensBefore "
        "firstKeptEntryId settings"
    )
    assert shape(TreePreparation) == (
        "targetId oldLeafId commonAncestorId entryIdsToSummarize userWantsSummary customInstructions? "
        "replaceInstructions? label?"
    )


def test_every_question_is_in_the_union_once() -> None:
    assert_complete(AnyQuestion, Question)


def test_the_type_of_a_question_says_what_may_be_answered() -> None:
    assert {str(kind.__struct_config__.tag): answers_of(kind) for kind in get_args(AnyQuestion)} == MAY_ANSWER
    assert {answer for answers in MAY_ANSWER.values() for answer in answers} == set(EVERY_ANSWER)


@pytest.mark.parametrize("kind", get_args(AnyQuestion), ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_a_question_comes_back_as_it_was(kind: type[Any], data: st.DataObject) -> None:
    assert_round_trip(data.draw(of(kind)), AnyQuestion)


@pytest.mark.parametrize("kind", EVERY_ANSWER, ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_an_answer_comes_back_as_it_was(kind: type[Any], data: st.DataObject) -> None:
    assert_round_trip(data.draw(of(kind)), kind)


def test_an_answer_that_gives_nothing_says_only_what_it_is() -> None:
    empty: list[Wire] = [Cancel(), TreeAnswer(), Block(), ChangeResult(), Handled(), AddBeforeStart(), Boundary()]

    assert [as_json(answer) for answer in empty] == [{"answer": answer.__struct_config__.tag} for answer in empty]


def test_a_blocked_call_has_pis_words_unless_the_handler_has_better_ones() -> None:
    assert Block().reason == "Tool execution was blocked"
