"""Two bills are one, and what one of them does not know nobody knows of both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.billing import added
from sapwood.events.messages import UNKNOWN_COST, Cost, Usage
from tests.strategies import of


def cost(total: int) -> Cost:
    return Cost(input=total, output=2 * total, cache_read=3 * total, cache_write=4 * total, total=10 * total)


def used(by: int, *, price: Cost | None = None) -> Usage:
    return Usage(
        input=by,
        output=2 * by,
        cache_read=3 * by,
        cache_write=4 * by,
        cache_write_1h=5 * by,
        reasoning=6 * by,
        total_tokens=7 * by,
        cost=price,
    )


def test_each_count_and_each_price_is_added() -> None:
    assert added(used(1, price=cost(1)), used(10, price=cost(10))) == used(11, price=cost(11))


def test_whoever_says_nothing_adds_nothing() -> None:
    assert added(used(1), None) == used(1)
    assert added(None, used(1)) == used(1)
    assert added(None, None) is None


def test_a_count_that_one_does_not_tell_is_not_told_of_both() -> None:
    bare = Usage(input=1, output=2, cache_read=3, cache_write=4)

    assert added(bare, used(1)) == added(used(1), bare) == Usage(input=2, output=4, cache_read=6, cache_write=8)


@pytest.mark.parametrize("price", [None, UNKNOWN_COST])
def test_a_cost_that_nobody_knows_makes_the_sum_one(price: Cost | None) -> None:
    known, unknown = used(1, price=cost(1)), used(1, price=price)

    assert added(known, unknown) == added(unknown, known) == used(2, price=UNKNOWN_COST)
    assert added(unknown, unknown) == used(2, price=price)


@given(one=of(Usage), other=of(Usage) | st.none())
def test_the_order_makes_no_difference(one: Usage, other: Usage | None) -> None:
    assert added(one, other) == added(other, one)
