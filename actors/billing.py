"""What several calls were billed: of two extensions, of a tool and who changed its result, of one summary. No I/O.

Each was paid for, whichever answer is used in the end (T6). What only one of them knows is not known of both (M8).
"""

from __future__ import annotations

from typing import Final

from sapwood.events.messages import UNKNOWN_COST, Cost, Usage

_ALWAYS: Final = ("input", "output", "cache_read", "cache_write")
_PERHAPS: Final = ("cache_write_1h", "reasoning", "total_tokens")


def added(one: Usage | None, other: Usage | None) -> Usage | None:
    """Both together; None where neither says anything."""
    if one is None or other is None:
        return one or other
    counts = {name: getattr(one, name) + getattr(other, name) for name in _ALWAYS}
    perhaps = {name: (getattr(one, name), getattr(other, name)) for name in _PERHAPS}
    counts |= {name: sum(known) for name, known in perhaps.items() if None not in known}
    return Usage(**counts, cost=_cost(one.cost, other.cost))


def _cost(one: Cost | None, other: Cost | None) -> Cost | None:
    if one is None and other is None:
        return None
    if one is None or other is None or not (one.known and other.known):
        return UNKNOWN_COST
    sums = {name: getattr(one, name) + getattr(other, name) for name in (*_ALWAYS, "total")}
    return Cost(**sums)
