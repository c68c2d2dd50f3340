"""The one way out, as a strict provider sees it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.outgoing import Repair, prepare
from sapwood.events.content import TextContent, ThinkingContent
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import AssistantMessage, BashExecutionMessage, CompactionSummaryMessage, Message
from tests.actors.outgoing.paired import assert_paired
from tests.build import MS, assistant, call, result, system, user


def test_an_answer_that_has_only_thinking_of_another_model_left_is_left_out() -> None:
    thought = assistant(ThinkingContent(thinking="hm", thinking_signature="s"), " ", call("a"), model="other")

    outgoing = prepare([user(), thought, result("a")], provider="scripted", model="talker")

    assert outgoing.messages == (user(), assistant(call("a"), model="other"), result("a"))


def test_repairs_are_told() -> None:
    outgoing = prepare([assistant(call("a"))], provider="scripted", model="talker")

    assert outgoing.repairs == (Repair("supplied", ToolCallId("a")),)


ANY = st.lists(
    st.one_of(
        st.sampled_from(["", " ", "hello"]).map(user),
        st.tuples(
            st.lists(st.sampled_from([" ", "text", call("a"), call("b"), ThinkingContent(thinking="x")]), max_size=3),
            st.sampled_from(["stop", "toolUse", "error", "aborted", "length"]),
        ).map(lambda said: assistant(*said[0], stop=said[1])),  # type: ignore[arg-type]
        st.sampled_from(["a", "b"]).map(lambda name: result(name, "")),
        st.just(system(rules="x")),
        st.just(CompactionSummaryMessage(summary="s", tokens_before=1, timestamp=MS)),
        st.just(BashExecutionMessage(command="x", output="", cancelled=False, truncated=False, timestamp=MS)),
    ),
    max_size=12,
)


@given(ANY)
def test_whatever_a_log_holds_a_strict_provider_takes_it(messages: list[Message]) -> None:
    outgoing = prepare(messages, provider="scripted", model="talker").messages

    assert_paired(outgoing)
    for message in outgoing:
        if isinstance(message, AssistantMessage):
            assert message.stop_reason not in {"error", "aborted"}
            assert message.content
        blocks = [TextContent(text=message.content)] if isinstance(message.content, str) else message.content
        assert all(block.text.strip() for block in blocks if isinstance(block, TextContent) and message.content != "")


@given(ANY)
def test_preparing_what_was_prepared_changes_nothing(messages: list[Message]) -> None:
    once = prepare(messages, provider="scripted", model="talker").messages

    assert prepare(once, provider="scripted", model="talker").messages == once
