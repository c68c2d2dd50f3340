"""Pieces of an answer with the secrets in them again, and the answer as it is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.outgoing.unveiling import Unveiling, shown_answer
from sapwood.actors.outgoing.veil import NOTHING, Veil
from sapwood.events.content import TextContent, ThinkingContent, ToolCall
from sapwood.events.deltas import (
    Delta,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from sapwood.events.ids import ToolCallId
from tests.build import assistant, call

VEIL = Veil({"[[KEY]]": 'sk-"4711"'})
MEANT = 'sk-"4711"'


def delta(text: str, at: int = 0) -> TextDelta:
    return TextDelta(content_index=at, delta=text)


def test_a_name_in_two_pieces_is_one() -> None:
    one = Unveiling(VEIL)

    assert one.shown(TextStart(content_index=0)) == [TextStart(content_index=0)]
    assert one.shown(delta("use [[K")) == [delta("use ")]
    assert one.shown(delta("E")) == []
    assert one.shown(delta("Y]] now")) == [delta(f"{MEANT} now")]
    assert one.rest() == []


@pytest.mark.parametrize("ends", [True, False])
def test_what_only_began_like_a_name_is_told_at_the_end(*, ends: bool) -> None:
    one = Unveiling(VEIL)
    one.shown(delta("use [[K"))
    one.shown(delta("x[", at=1))

    if ends:
        told = one.shown(TextEnd(content_index=0, content="use [[K"))
        assert told == [delta("[[K"), TextEnd(content_index=0, content="use [[K")]
        assert one.rest() == [delta("[", at=1)]
    else:
        assert one.rest() == [delta("[[K"), delta("[", at=1)]
    assert one.rest() == []


def test_a_piece_without_text_stays_one() -> None:
    assert Unveiling(VEIL).shown(delta("")) == [delta("")]


@given(st.lists(st.integers(1, 40), max_size=6))
def test_however_arguments_are_cut_the_pieces_add_up_to_what_was_meant(cuts: list[int]) -> None:
    raw, one = json.dumps({"key": "[[KEY]]", "n": 1}), Unveiling(VEIL)
    pieces: list[Delta] = [ToolCallStart(content_index=0, id=ToolCallId("c1"), tool_name="read")]
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(raw)], strict=True):
        pieces.append(ToolCallDelta(content_index=0, delta=raw[start:end]))
    pieces.append(ToolCallEnd(content_index=0, tool_call=call("c1", key="[[KEY]]", n=1)))

    told = [two for piece in pieces for two in one.shown(piece)]

    said = "".join(piece.delta for piece in told if isinstance(piece, ToolCallDelta))
    assert json.loads(said) == {"key": MEANT, "n": 1}
    last = told[-1]
    assert isinstance(last, ToolCallEnd)
    assert last.tool_call.arguments == {"key": MEANT, "n": 1}


def test_thinking_is_shown_to_who_reads_along() -> None:
    one = Unveiling(VEIL)

    assert one.shown(ThinkingDelta(content_index=0, delta="of [[KEY")) == [ThinkingDelta(content_index=0, delta="of ")]
    assert one.shown(ThinkingEnd(content_index=0, content="of [[KEY]]")) == [
        ThinkingDelta(content_index=0, delta="[[KEY"),
        ThinkingEnd(content_index=0, content=f"of {MEANT}"),
    ]


SIGNED = ThinkingContent(thinking="[[KEY]]", thinking_signature="s")


@pytest.mark.parametrize(
    ("block", "kept"),
    [
        (TextContent(text="[[KEY]]", text_signature="s"), TextContent(text=MEANT, text_signature="s")),
        (ThinkingContent(thinking="[[KEY]]"), ThinkingContent(thinking=MEANT)),
        (SIGNED, SIGNED),
        (
            ToolCall(id=ToolCallId("c"), name="n", arguments={"[[KEY]]": ["[[KEY]]"]}, arguments_error="[[KEY]]"),
            ToolCall(id=ToolCallId("c"), name="n", arguments={MEANT: [MEANT]}, arguments_error=MEANT),
        ),
    ],
)
def test_an_answer_is_kept_as_it_was_meant_but_for_what_is_signed(block: Any, kept: Any) -> None:
    answer = assistant(block, stop="error", error="no [[KEY]]")

    shown = shown_answer(answer, VEIL)

    assert shown.content == (kept,)
    assert shown.error_message == f"no {MEANT}"
    assert shown_answer(answer, NOTHING) is answer
