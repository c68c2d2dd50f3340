"""What a call cost (M8). No I/O.

What the provider says of the cost is the cost; else it is reckoned by the price that the host declared for the model; and where a price
is missing for tokens that were used, or no tokens were reported, nobody knows it: that is never told as zero.
"""

from __future__ import annotations

from typing import Final

import msgspec

from sapwood.events.messages import Cost, Usage
from sapwood.events.models import Price

PER: Final = 1_000_000
"""Tokens that a price is for."""


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage, whose counts are counts, with its cost, if that can be known."""
    if price is None or (usage.cost is not None and usage.cost.known):
        return usage
    kinds = (
        (usage.input, price.input),
        (usage.output, price.output),
        (usage.cache_read, price.cache_read),
        (usage.cache_write, price.cache_write),
    )
    if not any(tokens for tokens, _ in kinds) or any(tokens and dollars is None for tokens, dollars in kinds):
        return usage
    costs = [tokens * (dollars or 0) / PER for tokens, dollars in kinds]
    cost = Cost(input=costs[0], output=costs[1], cache_read=costs[2], cache_write=costs[3], total=sum(costs))
    return msgspec.structs.replace(usage, cost=cost)
