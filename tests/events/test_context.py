"""What the model sees, and how full its window is."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given

from sapwood.events.context import (
    Absent,
    Context,
    ContextItem,
    ContextUsage,
    CounterName,
    Measured,
    TokenSource,
    Unsent,
)
from sapwood.events.ids import EntryId
from tests.build import assistant, user
from tests.events.wire import assert_round_trip, shape
from tests.strategies import of


def test_the_names_on_the_wire_are_fixed() -> None:
    assert shape(Context) == "leaf items absent gaps? thinkingLevel model counter?"
    assert shape(ContextItem) == "entryId message tokens unsent?"
    assert shape(ContextUsage) == "tokens window"
    assert shape(Measured) == "tokens source counted counter?"
    assert get_args(CounterName) == ("o200k_base", "cl100k_base", "heuristic")
    assert get_args(Unsent) == ("aborted", "failed", "result_of_unsent_call", "excluded", "empty")
    assert get_args(Absent) == ("compacted", "hidden", "silent", "unreadable")


@given(context=of(Context))
def test_a_context_comes_back_as_it_was(context: Context) -> None:
    assert_round_trip(context, Context)


@given(usage=of(ContextUsage))
def test_a_usage_comes_back_as_it_was(usage: ContextUsage) -> None:
    assert_round_trip(usage, ContextUsage)


def test_the_messages_are_those_of_the_items_in_order() -> None:
    asked, answered = user("hi"), assistant("hello")
    items = (
        ContextItem(entry_id=EntryId("u1"), message=asked, tokens=1),
        ContextItem(entry_id=EntryId("a1"), message=answered, tokens=2, unsent="empty"),
    )

    context = Context(leaf=EntryId("a1"), items=items, absent={}, thinking_level="off", model=None)

    assert context.messages == (asked, answered)


@pytest.mark.parametrize(
    ("tokens", "percent", "words"),
    [
        (None, None, "?/200000"),  # T5
        (82_400, 41.2, "41.2%/200000"),  # T5
        (0, 0, "0.0%/200000"),
        (200_000, 100, "100.0%/200000"),
        (230_000, 115, "115.0%/200000"),
    ],
)
def test_how_full_it_is_in_numbers_and_in_words(tokens: int | None, percent: float | None, words: str) -> None:
    usage = ContextUsage(tokens=tokens, window=200_000)

    assert usage.percent == (None if percent is None else pytest.approx(percent))
    assert str(usage) == words


def test_a_window_that_is_overrun_beyond_all_numbers_is_overrun() -> None:
    usage = ContextUsage(tokens=10**400, window=1)

    assert usage.percent == math.inf
    assert str(usage) == "inf%/1"


def test_only_a_count_behind_a_compaction_is_no_fact() -> None:
    known = [Measured(tokens=1, source=source, counted=1).known for source in get_args(TokenSource)]

    assert dict(zip(get_args(TokenSource), known, strict=True)) == {"reported": True, "estimated": True, "none": False}
