"""Every call has its one result right behind it, wherever the log has put them."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.outgoing.pairing import UNKNOWN_FATE, Repair, pair
from sapwood.events.content import text_of
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import AssistantMessage, Message, ToolResultMessage
from tests.actors.outgoing.paired import assert_paired
from tests.build import assistant, call, result, system, user


def test_a_list_in_order_comes_back_as_it_is() -> None:
    messages = (user(), assistant(call("a"), call("b")), result("a"), result("b"), assistant("done"))

    paired, repairs = pair(messages)

    assert repairs == ()
    assert all(one is other for one, other in zip(paired, messages, strict=True))


def test_a_missing_result_is_supplied_in_place_as_an_error_that_says_what_is_unknown() -> None:
    paired, repairs = pair((assistant(call("a")), user("go on")))

    supplied = paired[1]
    assert isinstance(supplied, ToolResultMessage)
    assert (supplied.tool_call_id, supplied.is_error, text_of(supplied.content)) == ("a", True, UNKNOWN_FATE)
    assert repairs == (Repair("supplied", ToolCallId("a")),)


def test_a_result_without_a_call_is_left_out() -> None:
    paired, repairs = pair((user(), result("ghost"), assistant("hm")))

    assert paired == (user(), assistant("hm"))
    assert repairs == (Repair("dropped_result", ToolCallId("ghost")),)


def test_the_first_of_two_results_counts() -> None:
    paired, repairs = pair((assistant(call("a")), result("a", "first"), result("a", "second")))

    assert paired == (assistant(call("a")), result("a", "first"))
    assert repairs == (Repair("dropped_result", ToolCallId("a")),)


def test_a_result_behind_a_user_message_is_moved_to_its_call() -> None:
    paired, repairs = pair((assistant(call("a")), user("meanwhile"), result("a")))

    assert paired == (assistant(call("a")), result("a"), user("meanwhile"))
    assert repairs == (Repair("moved", ToolCallId("a")),)


def test_a_system_message_between_call_and_result_is_held_back() -> None:
    paired, _ = pair((assistant(call("a")), system(rules="new"), result("a")))

    assert paired == (assistant(call("a")), result("a"), system(rules="new"))


def test_an_id_that_is_used_again_later_gets_another_name_for_call_and_result() -> None:
    paired, repairs = pair((assistant(call("a")), result("a", "one"), assistant(call("a")), result("a", "two")))

    assert paired == (assistant(call("a")), result("a", "one"), assistant(call("a-2")), result("a-2", "two"))
    assert repairs == (Repair("renamed", ToolCallId("a")),)


def test_a_result_is_never_taken_from_a_later_call_of_the_same_id() -> None:
    paired, _ = pair((assistant(call("a")), assistant(call("a")), result("a", "of the second")))

    texts = [text_of(message.content) for message in paired if isinstance(message, ToolResultMessage)]
    assert texts == [UNKNOWN_FATE, "of the second"]


def test_the_same_call_twice_in_one_answer_is_sent_once() -> None:
    paired, repairs = pair((assistant(call("a"), call("a")), result("a")))

    assert paired == (assistant(call("a")), result("a"))
    assert repairs == (Repair("dropped_call", ToolCallId("a")),)


@pytest.mark.parametrize("ids", ["alone", "same"])
def test_a_long_log_of_unanswered_or_same_named_calls_is_paired_in_one_pass(ids: str) -> None:
    """Ten thousand calls without a result used to take most of a minute, and as many with one name five seconds."""
    calls = [assistant(call("c" if ids == "same" else f"c{n}")) for n in range(10_000)]
    answered = [reply for one in calls for reply in (one, result("c"))] if ids == "same" else calls
    started = time.process_time()

    paired, _ = pair(answered)

    assert len(paired) == 20_000
    assert time.process_time() - started < 5, "it grows with the square"


IDS = st.sampled_from(["a", "b", "c"])
MESSAGES = st.lists(
    st.one_of(
        st.just(user()),
        st.just(system(rules="x")),
        st.lists(IDS, max_size=3).map(lambda calls: assistant("thinking aloud", *map(call, calls))),
        IDS.map(result),
    ),
    max_size=14,
)


@given(MESSAGES)
def test_whatever_a_log_holds_goes_out_paired(messages: list[Message]) -> None:
    paired, repairs = pair(messages)

    assert_paired(paired)
    assert pair(paired) == (paired, ()), "what is paired is in order"
    if not repairs and tuple(messages) != paired:
        assert sorted(map(repr, messages)) == sorted(map(repr, paired)), (
            "without a repair nothing is lost, only held back"
        )


@given(MESSAGES)
def test_what_is_no_call_and_no_result_keeps_its_order(messages: list[Message]) -> None:
    paired, _ = pair(messages)

    def others(of: Sequence[Message]) -> list[Message]:
        return [message for message in of if not isinstance(message, AssistantMessage | ToolResultMessage)]

    assert others(paired) == others(messages)
