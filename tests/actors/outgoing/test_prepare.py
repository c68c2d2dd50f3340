"""The one way out, as a strict provider sees it."""

from __future__ import annotations

from operator import is_

from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.outgoing import Outbox, Repair, prepare
from sapwood.events.content import ImageContent, TextContent, ThinkingContent
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CompactionSummaryMessage,
    Message,
    UserMessage,
)
from sapwood.events.models import Limits
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


LIMITS = st.one_of(
    st.none(),
    st.builds(
        Limits,
        images=st.none() | st.integers(0, 3),
        image_bytes=st.none() | st.integers(4, 8),
        text_bytes=st.none() | st.just(64),
        call_id_length=st.none() | st.just(16),
    ),
)
MUCH = st.lists(
    st.one_of(
        st.sampled_from(["hello", "x" * 100]).map(user),
        st.sampled_from(["aaaa", "aaaaaaaa", "aaaaaaaaaaaa"]).map(
            lambda data: UserMessage(content=(ImageContent(data=data, mime_type="image/png"),), timestamp=MS)
        ),
        st.tuples(
            st.lists(st.sampled_from(["text", call("a"), call("b|c")]), max_size=3),
            st.sampled_from(["toolUse", "toolUse", "error"]),
        ).map(lambda said: assistant(*said[0], stop=said[1])),  # type: ignore[arg-type]  # a literal, drawn from a list
        st.sampled_from(["a", "b|c"]).map(lambda name: result(name, "r")),
    ),
    max_size=8,
)


@given(st.lists(st.tuples(MUCH, st.integers(0, 3), LIMITS | st.just(None)), min_size=1, max_size=5))
def test_one_selection_after_the_other_is_prepared_as_each_by_itself(
    steps: list[tuple[list[Message], int, Limits | None]],
) -> None:
    outbox, selected, limits = Outbox(), list[Message](), steps[0][2]
    for added, gone, other in steps:
        limits = other if gone == 3 else limits
        selected = [*selected[: len(selected) - (gone if gone < 3 else 0)], *added]

        outgoing = outbox.prepare(selected, provider="scripted", model="talker", limits=limits)

        assert outgoing == prepare(selected, provider="scripted", model="talker", limits=limits)


def test_what_went_out_before_is_not_prepared_again() -> None:
    outbox = Outbox()
    selected: list[Message] = [user("one"), assistant(call("a"))]
    first = outbox.prepare(selected, provider="scripted", model="talker").messages

    more = outbox.prepare([*selected, user("two")], provider="scripted", model="talker").messages

    assert all(map(is_, first, more))
    assert len(more) == len(first) + 1


def test_a_result_that_came_late_takes_the_place_of_what_was_supplied_for_it() -> None:
    outbox = Outbox()
    selected: list[Message] = [assistant(call("a")), user("go on")]
    outbox.prepare(selected, provider="scripted", model="talker")

    outgoing = outbox.prepare([*selected, result("a")], provider="scripted", model="talker")

    assert outgoing.messages == (assistant(call("a")), result("a"), user("go on"))
