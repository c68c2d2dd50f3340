"""Pieces that are there at once are handed over at once, and nothing is raised at whoever does it."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.model.handing import Hand, condensed
from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.events.deltas import TextDelta, TextEnd, TextStart, ThinkingDelta, ToolCallDelta

PIECES: st.SearchStrategy[Piece] = (
    st.builds(TextDelta, content_index=st.integers(0, 1), delta=st.text())
    | st.builds(ThinkingDelta, content_index=st.integers(0, 1), delta=st.text())
    | st.builds(ToolCallDelta, content_index=st.integers(0, 1), delta=st.text())
    | st.builds(TextStart, content_index=st.integers(0, 1))
)


def delta(said: str, at: int = 0) -> TextDelta:
    return TextDelta(content_index=at, delta=said)


def test_neighbours_of_one_block_are_one_piece() -> None:
    pieces: list[Piece] = [
        TextStart(content_index=0),
        delta("a"),
        delta("b"),
        delta("c", 1),
        ThinkingDelta(content_index=1, delta="d"),
        ThinkingDelta(content_index=1, delta="e"),
        TextEnd(content_index=0, content="ab"),
        delta("f"),
    ]

    assert list(condensed(pieces)) == [
        TextStart(content_index=0),
        delta("ab"),
        delta("c", 1),
        ThinkingDelta(content_index=1, delta="de"),
        TextEnd(content_index=0, content="ab"),
        delta("f"),
    ]


@given(st.lists(PIECES))
def test_what_is_said_is_the_same_and_no_two_neighbours_are_left(pieces: list[Piece]) -> None:
    def spelt(some: list[Piece]) -> list[tuple[object, ...]]:
        return [
            (type(piece), piece.content_index, letter)
            for piece in some
            if not isinstance(piece, Finish)
            for letter in (getattr(piece, "delta", "-"))
        ]

    told = list(condensed(pieces))

    assert spelt(told) == spelt(pieces)
    assert list(condensed(told)) == told


def test_what_is_taken_is_gone_and_nothing_is_nothing() -> None:
    waiting, seen = deque[Piece]([delta("a"), delta("b")]), list[Piece]()

    def take(piece: Piece) -> bool:
        seen.append(piece)
        return True

    hand = Hand(waiting, take, lambda: pytest.fail("nobody wants that"))
    hand.over()
    hand.over()

    assert (seen, list(waiting), hand.open, hand.fault) == ([delta("ab")], [], True, None)


def test_after_the_last_piece_nothing_is_handed_over_and_the_read_is_cancelled() -> None:
    end, seen, cancelled = Finish(stop_reason="stop"), list[Piece](), list[bool]()

    def take(piece: Piece) -> bool:
        seen.append(piece)
        return True

    waiting = deque[Piece]([delta("a"), end, delta("late")])
    hand = Hand(waiting, take, lambda: cancelled.append(True))
    hand.over()
    waiting.append(delta("later"))
    hand.over()

    assert (seen, hand.open, cancelled) == ([delta("a"), end], False, [True])


@pytest.mark.parametrize("fault", [None, KeyError("ours"), KeyboardInterrupt()])
def test_who_wants_no_more_or_breaks_is_handed_nothing_further(fault: BaseException | None) -> None:
    seen, cancelled = list[Piece](), list[bool]()

    def take(piece: Piece) -> bool:
        seen.append(piece)
        if fault is not None:
            raise fault
        return False

    waiting = deque[Piece]([delta("a"), TextStart(content_index=1)])
    hand = Hand(waiting, take, lambda: cancelled.append(True))
    hand.over()

    assert (seen, hand.open, hand.fault, cancelled) == ([delta("a")], False, fault, [True])
