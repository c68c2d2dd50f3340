"""What a call cost: as the provider says, as the host's price makes it, or unknown."""

from __future__ import annotations

import pytest

from sapwood.actors.model.cost import PER, priced
from sapwood.events.messages import NO_USAGE, TOO_MUCH, UNKNOWN_COST, Cost, Usage
from sapwood.events.models import DEAREST, Price

KINDS = ("input", "output", "cache_read", "cache_write")
PRICE = Price(input=3, output=15, cache_read=0.3, cache_write=3.75)


def used(input: int = 1000, output: int = 100, *, cost: Cost | None = UNKNOWN_COST, **more: int) -> Usage:  # noqa: A002
    return Usage.of(input=input, output=output, cost=cost, **more)


def test_it_is_the_tokens_of_each_kind_at_its_price() -> None:
    cost = priced(used(cache_read=2_000_000, cache_write=4000), PRICE).cost

    assert cost is not None
    parts = [cost.input, cost.output, cost.cache_read, cost.cache_write, cost.total]
    assert parts == pytest.approx([0.003, 0.0015, 0.6, 0.015, 0.6195])
    assert cost.known


def test_what_the_provider_says_wins() -> None:
    told = used(cost=Cost(input=0, output=0, cache_read=0, cache_write=0, total=9))

    assert priced(told, PRICE) is told


def test_where_no_tokens_were_reported_nobody_knows_it() -> None:
    """This used to be a cost of nothing, and known."""
    assert priced(NO_USAGE, PRICE) is NO_USAGE


def test_the_dearest_model_with_the_largest_usage_has_a_cost_that_can_be_written() -> None:
    most = TOO_MUCH - 1
    cost = priced(used(most, most, cache_read=most, cache_write=most), Price(**dict.fromkeys(KINDS, DEAREST))).cost

    assert cost is not None
    assert cost.total == pytest.approx(4 * TOO_MUCH * DEAREST / PER)


@pytest.mark.parametrize("usage", [used(), used(cost=None), NO_USAGE])
def test_without_a_price_nobody_knows(usage: Usage) -> None:
    assert priced(usage, None) is usage


def test_a_price_that_is_missing_for_tokens_that_were_used_makes_it_unknown_and_never_less() -> None:
    bare = Price(input=3, output=15)
    cached = used(cache_read=1)

    assert priced(cached, bare) is cached
    cost = priced(used(), bare).cost
    assert cost is not None
    assert cost.total == pytest.approx(0.0045)
