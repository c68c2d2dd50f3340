"""Pieces of an answer, and when two are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.deltas import (
    Delta,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ToolCallDelta,
    joined,
)
from tests.events.wire import assert_round_trip, shapes, tag_fields
from tests.strategies import DELTAS, PER_KIND, TEXTS, of

Piece = TextDelta | ThinkingDelta | ToolCallDelta
PIECES: tuple[type[Piece], ...] = (TextDelta, ThinkingDelta, ToolCallDelta)


def text_piece(words: str, block: int = 0) -> TextDelta:
    return TextDelta(content_index=block, delta=words)


def test_the_names_on_the_wire_are_pis() -> None:
    assert tag_fields(Delta) == {"type"}
    assert shapes(Delta) == {
        "text_start": "contentIndex",
        "text_delta": "contentIndex delta",
        "text_end": "contentIndex content",
        "thinking_start": "contentIndex",
        "thinking_delta": "contentIndex delta",
        "thinking_end": "contentIndex content",
        "toolcall_start": "contentIndex id toolName",
        "toolcall_delta": "contentIndex delta",
        "toolcall_end": "contentIndex toolCall",
    }


@pytest.mark.parametrize("kind", get_args(Delta), ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_a_piece_comes_back_as_it_was(kind: type[Delta], data: st.DataObject) -> None:
    assert_round_trip(data.draw(of(kind)), Delta)


@pytest.mark.parametrize("kind", PIECES, ids=lambda kind: kind.__name__)
@given(block=st.integers(0, 2), texts=st.lists(TEXTS, min_size=2, max_size=4))
def test_neighbours_of_one_block_become_one_piece_of_all_their_text(
    kind: Callable[..., Piece], block: int, texts: list[str]
) -> None:
    whole: Delta = kind(content_index=block, delta=texts[0])
    for text in texts[1:]:
        one = joined(whole, kind(content_index=block, delta=text))
        assert one is not None
        whole = one

    assert whole == kind(content_index=block, delta="".join(texts))


@given(first=DELTAS, second=DELTAS)
def test_only_pieces_of_one_kind_and_block_are_joined(first: Delta, second: Delta) -> None:
    one = joined(first, second)

    of_one_block = (
        isinstance(first, Piece)
        and isinstance(second, Piece)
        and type(first) is type(second)
        and first.content_index == second.content_index
    )
    assert (one is not None) == of_one_block
    assert one is None or type(one) is type(first)


FEW = st.one_of(
    [
        st.builds(kind, content_index=st.integers(0, 1), delta=TEXTS)
        for kind in (TextDelta, ThinkingDelta, ToolCallDelta)
    ]
    + [st.builds(TextStart, content_index=st.integers(0, 1))]
)


@given(first=FEW, second=FEW, third=FEW)
def test_it_does_not_matter_which_two_are_joined_first(first: Delta, second: Delta, third: Delta) -> None:
    left, right = joined(first, second), joined(second, third)

    from_left = None if left is None else joined(left, third)
    from_right = None if right is None else joined(first, right)
    assert from_left == from_right


@pytest.mark.parametrize(
    "second",
    [
        text_piece("b", block=1),
        ThinkingDelta(content_index=0, delta="b"),
        ToolCallDelta(content_index=0, delta="b"),
        TextStart(content_index=0),
        TextEnd(content_index=0, content="ab"),
    ],
)
def test_what_is_no_neighbour_stays_apart(second: Delta) -> None:
    assert joined(text_piece("a"), second) is None
    assert joined(second, text_piece("a")) is None


def test_an_empty_piece_is_joined_too() -> None:
    assert joined(text_piece(""), text_piece("a")) == text_piece("a")
    assert joined(text_piece("a"), text_piece("")) == text_piece("a")


class Broken:
    """No text and no number, and no answer to anything."""

    def __eq__(self, other: object) -> bool:
        raise TypeError("nothing is like it")

    def __add__(self, other: object) -> Broken:
        raise TypeError("nothing can be added")

    __hash__ = None  # type: ignore[assignment]


ANYTHING: st.SearchStrategy[Any] = st.sampled_from([None, 0, 1, -1, True, 0.5, float("nan"), "a", b"a", [1], Broken()])


@given(
    kinds=st.tuples(st.sampled_from(PIECES), st.sampled_from(PIECES)),
    blocks=st.tuples(ANYTHING, ANYTHING),
    texts=st.tuples(ANYTHING, ANYTHING),
)
def test_what_is_no_piece_of_text_is_not_joined_and_does_no_harm(
    kinds: tuple[Callable[..., Piece], Callable[..., Piece]], blocks: tuple[Any, Any], texts: tuple[Any, Any]
) -> None:
    """This used to raise TypeError at whoever published or read."""
    first, second = (kind(content_index=at, delta=text) for kind, at, text in zip(kinds, blocks, texts, strict=True))

    one = joined(first, second)

    assert one is None or (type(one.content_index), texts) == (int, ("a", "a"))
