"""An answer from its pieces."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.model.assembly import CUT_OFF, STOPPED, Broken, Draft, answer_of, unfinished
from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.events.content import TextContent, ThinkingContent, without_surrogates
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
from sapwood.events.errors import LONGEST_WORDS
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import NO_USAGE, UNKNOWN_COST, AssistantMessage, Cost, Usage
from sapwood.events.models import Price
from tests.build import MODEL, MS, call, text, usage


def assemble(*pieces: Piece) -> AssistantMessage:
    draft = Draft()
    for piece in pieces:
        draft.add(piece)
    return answer_of(draft, MODEL, started_ms=MS, stopped=False, error=None)


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


def test_what_went_wrong_is_kept_as_far_as_anybody_reads() -> None:
    """2 MB of it used to be in the log, and took seconds to be searched for whether asking again may help."""
    answer = assemble(Finish(stop_reason="error", error_message="overloaded " + "x" * 2_000_000))

    assert answer.error_message == "overloaded " + "x" * (LONGEST_WORDS - 11) + " …"


def test_a_block_that_began_and_said_nothing_is_an_empty_block() -> None:
    answer = assemble(ThinkingStart(content_index=0), TextStart(content_index=1), Finish(stop_reason="stop"))

    assert answer.content == (ThinkingContent(thinking=""), text(""))


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


def test_usage_is_whole_for_whoever_adds_it_up_and_an_unknown_price_is_marked() -> None:
    reported = Usage(input=1, output=2, cache_read=3, cache_write=4)

    answer = assemble(Finish(stop_reason="stop", usage=reported))

    assert answer.usage.total_tokens == 10
    assert answer.usage.cost == UNKNOWN_COST
    priced = Cost(input=1, output=0, cache_read=0, cache_write=0, total=1)
    told = msgspec.structs.replace(reported, cost=priced, total_tokens=7)
    assert assemble(Finish(stop_reason="stop", usage=told)).usage == told


def test_what_came_of_an_unfinished_answer_is_kept_with_the_reason() -> None:
    draft = Draft()
    draft.add(TextDelta(content_index=0, delta="so"))

    answer = unfinished(draft, MODEL, started_ms=MS, reason="aborted", error="stopped")

    assert (answer.content, answer.stop_reason, answer.error_message) == ((text("so"),), "aborted", "stopped")


@pytest.mark.parametrize(
    ("broken", "mended"),
    [("a\ud800b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("\ude00\ud83d", "\ufffd\ufffd"), ("plain 漢", "plain 漢")],
)
def test_half_a_character_is_replaced_and_two_halves_that_meet_are_one(broken: str, mended: str) -> None:
    assert without_surrogates(broken) == mended
    answer = assemble(
        TextDelta(content_index=0, delta=broken[:1]),
        TextDelta(content_index=0, delta=broken[1:]),
        ToolCallEnd(content_index=1, tool_call=call("a", path=broken)),
        Finish(stop_reason="stop"),
    )

    assert answer.content == (text(mended), call("a", path=mended))


def test_what_cannot_be_kept_ends_the_answer_and_keeps_what_came() -> None:
    draft = Draft()
    assert draft.add(TextDelta(content_index=0, delta="so")) == TextDelta(content_index=0, delta="so")
    assert draft.add("nothing") is None

    answer = answer_of(draft, MODEL, started_ms=MS, stopped=False, error=None)

    assert (answer.content, answer.stop_reason) == ((text("so"),), "error")
    assert answer.error_message == str(draft.fault)
    assert "str" in str(draft.fault)


GOOD, BAD, JUNK = Finish(stop_reason="stop"), Finish(stop_reason="pending"), "no piece"


@pytest.mark.parametrize(
    ("last", "stopped", "error", "reason", "why"),
    [
        # the end that came is the answer, whoever stopped it and whatever broke then
        *[(GOOD, stopped, error, "stop", None) for stopped in (False, True) for error in (None, "it broke")],
        *[(BAD, stopped, error, "error", "Finish") for stopped in (False, True) for error in (None, "it broke")],
        *[(JUNK, stopped, error, "error", "str") for stopped in (False, True) for error in (None, "it broke")],
        (None, True, "it broke", "aborted", STOPPED),
        (None, True, None, "aborted", STOPPED),
        (None, False, "it broke", "error", "it broke"),
        (None, False, None, "error", CUT_OFF),
    ],
)
def test_the_end_beats_a_bad_piece_that_a_stop_and_that_what_broke(
    last: object, stopped: bool, error: str | None, reason: str, why: str | None
) -> None:
    draft = Draft()
    draft.add(TextDelta(content_index=0, delta="so"))
    if last is not None:
        draft.add(last)

    answer = answer_of(draft, MODEL, started_ms=MS, stopped=stopped, error=None if error is None else Broken(error))

    assert (answer.content, answer.stop_reason) == ((text("so"),), reason)
    assert answer.error_message is None if why is None else why in (answer.error_message or "")


def test_a_bad_end_is_a_failed_answer_with_what_came_and_what_is_good_of_it() -> None:
    """This used to lose the text, the usage, or the whole answer."""
    draft = Draft()
    draft.add(TextDelta(content_index=0, delta="so"))
    assert draft.add(Finish(stop_reason="pending", usage=usage(7), response_id="r1")) is None

    answer = answer_of(draft, MODEL, started_ms=MS, stopped=False, error=None)

    assert (answer.content, answer.stop_reason, answer.usage.total_tokens) == ((text("so"),), "error", 7)
    assert answer.response_id == "r1"
    assert "stop_reason: pending" in (answer.error_message or "")


@pytest.mark.parametrize("price", [None, Price(input=3, output=15), Price(input=3, output=15, cache_read=1)])
def test_an_answer_whose_usage_cannot_be_is_kept_with_no_usage_and_no_price(price: Price | None) -> None:
    """Reckoning its price used to raise, and a paid answer was lost."""
    draft = Draft()
    draft.add(Finish(stop_reason="stop", content=(text("so"),), usage=msgspec.structs.replace(NO_USAGE, input=10**400)))
    model = msgspec.structs.replace(MODEL, price=price)

    answer = answer_of(draft, model, started_ms=MS, stopped=False, error=None)

    assert (answer.content, answer.stop_reason, answer.usage) == ((text("so"),), "error", NO_USAGE)
    assert "usage: input: expected tokens" in (answer.error_message or "")


def test_an_answer_of_a_model_with_a_price_has_its_cost() -> None:
    model = msgspec.structs.replace(MODEL, price=Price(input=3, output=15))
    draft = Draft()
    draft.add(Finish(stop_reason="stop", usage=Usage.of(input=1000, output=100)))
    cost = answer_of(draft, model, started_ms=0, stopped=False, error=None).usage.cost

    assert cost is not None
    assert cost.known
    assert cost.total == pytest.approx(0.0045)
