"""Numbers out of whatever a provider writes for them."""

from __future__ import annotations

import pytest

from sapwood.actors.model.amounts import dollars_of, field, text_at, tokens_of, usage_of
from sapwood.events.messages import NO_USAGE


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (0, 0),
        (7, 7),
        (7.0, 7),
        ("7", 7),
        (" 7 ", 7),
        (-1, None),
        (7.5, None),
        ("-7", None),
        ("7.5", None),
        ("seven", None),
        ("9" * 5000, None),
        (10**12, None),
        (float("nan"), None),
        (float("inf"), None),
        (True, None),
        (None, None),
        ([7], None),
        ({}, None),
    ],
)
def test_l04_a_count_of_tokens_is_one_that_a_call_can_have_taken(value: object, tokens: int | None) -> None:
    assert tokens_of(value) == tokens


@pytest.mark.parametrize(
    ("value", "dollars"),
    [(0, 0.0), (0.25, 0.25), (-1, None), (float("nan"), None), (True, None), ("1", None), (None, None)],
)
def test_an_amount_of_money_is_one_that_a_call_can_have_cost(value: object, dollars: float | None) -> None:
    assert dollars_of(value) == dollars


def test_what_is_not_there_is_nothing() -> None:
    said = {"a": {"b": 1, "c": "x"}, "d": [1]}

    assert field(said, "a", "b") == 1
    assert [field(said, "a", "x"), field(said, "d", "b"), field(None, "a"), field(7)] == [None, None, None, 7]
    assert [text_at(said, "a", "c"), text_at(said, "a", "b"), text_at(said, "e")] == ["x", "", ""]


def test_a_usage_that_says_nothing_is_not_zero() -> None:
    assert usage_of({}) == NO_USAGE
    assert usage_of({"input": None, "output": None, "cache_read": 5}) == NO_USAGE
    assert NO_USAGE.cost is not None
    assert not NO_USAGE.cost.known


def test_a_usage_has_its_sum_or_the_providers() -> None:
    counts = {"input": 1, "output": 2, "cache_read": 3, "cache_write": None, "reasoning": 1}

    assert usage_of(counts).total_tokens == 6
    assert usage_of(counts, total=9, write_1h=4).total_tokens == 9
    assert (usage_of(counts, write_1h=4).cache_write_1h, usage_of(counts).reasoning) == (4, 1)


def test_the_providers_own_figure_is_the_cost() -> None:
    cost = usage_of({"input": 1, "output": 2}, cost=0.5).cost

    assert cost is not None
    assert (cost.total, cost.total_from_provider, cost.known) == (0.5, True, True)
    free = usage_of({}, cost=0.0)
    assert free.cost is not None
    assert free.cost.known
