"""An answer from its pieces."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.model.assembly import CUT_OFF, Draft, apply, message
from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.events.content import TextContent, ThinkingContent
from sapwood.events.deltas import (
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import AssistantMessage
from tests.build import MODEL, MS, call, text, usage


def assemble(*pieces: Piece) -> AssistantMessage:
    return message(reduce(apply, pieces, Draft()), MODEL, started_ms=MS)


def test_pieces_add_up_in_the_order_of_their_blocks() -> None:
    answer = assemble(
        TextStart(content_index=1),
        ThinkingStart(content_index=0),
        ThinkingDelta(content_index=0, delta="h"),
        TextDelta(content_index=1, delta="so "),
        ThinkingDelta(content_index=0, delta="m"),
        TextDelta(content_index=1, delta="be it"),
        Finish(stop_reason="stop", usage=usage(7)),
    )

    assert answer.content == (ThinkingContent(thinking="hm"), TextContent(text="so be it"))
    assert (answer.stop_reason, answer.usage.total_tokens, answer.error_message) == ("stop", 7, None)


def test_the_end_of_a_block_is_the_authority_on_it() -> None:
    answer = assemble(
        TextDelta(content_index=0, delta="helo"),
        TextEnd(content_index=0, content="hello"),
        ThinkingEnd(content_index=1, content="hm"),
        Finish(stop_reason="stop"),
    )

    assert answer.content == (text("hello"), ThinkingContent(thinking="hm"))


def test_the_end_of_the_answer_is_the_authority_on_all_of_it() -> None:
    answer = assemble(TextDelta(content_index=0, delta="helo"), Finish(stop_reason="stop", content=(text("hello"),)))

    assert answer.content == (text("hello"),)


def test_a_stream_without_an_end_is_a_failed_answer_never_a_success() -> None:
    answer = assemble(TextDelta(content_index=0, delta="so"))

    assert (answer.stop_reason, answer.error_message) == ("error", CUT_OFF)
    assert answer.content == (text("so"),)


def test_a_call_is_there_only_when_its_arguments_arrived_whole() -> None:
    begun: list[Piece] = [
        ToolCallStart(content_index=0, id=ToolCallId("a"), tool_name="read"),
        ToolCallDelta(content_index=0, delta='{"pa'),
    ]

    assert assemble(*begun).content == ()
    assert assemble(*begun, ToolCallEnd(content_index=0, tool_call=call("a"))).content == (call("a"),)


@given(st.lists(st.text(max_size=5), max_size=8))
def test_a_text_is_the_sum_of_its_pieces(words: list[str]) -> None:
    pieces = [TextDelta(content_index=0, delta=word) for word in words]

    answer = assemble(TextStart(content_index=0), *pieces, Finish(stop_reason="stop"))

    assert answer.content == (text("".join(words)),)
