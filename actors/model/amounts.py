"""Tokens and money, out of whatever a provider writes for them. No I/O.

A number is one that a call can have taken; text that is such a number is one too. Anything else says nothing, and is never a zero (M8):
what is missing, negative, no number at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from sapwood.events.base import Json, is_object
from sapwood.events.messages import NO_USAGE, UNKNOWN_COST, Cost, Usage, is_amount

_DIGITS: Final = 15
"""More than a call can take, and few enough to be read at once."""


def tokens_of(value: Json) -> int | None:
    """A count of tokens; None for what is none."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) <= _DIGITS:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or value != int(value) or not is_amount(value):
        return None
    return int(value)


def dollars_of(value: Json) -> float | None:
    """An amount of money; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and is_amount(value) else None


def field(value: Json, *path: str) -> Json:
    """What stands at a path of keys; None where there is nothing."""
    for key in path:
        value = value.get(key) if is_object(value) else None
    return value


def text_at(value: Json, *path: str) -> str:
    """The text at a path of keys; empty where there is none."""
    found = field(value, *path)
    return found if isinstance(found, str) else ""


def usage_of(
    counts: Mapping[str, int | None],
    *,
    total: int | None = None,
    cost: float | None = None,
    write_1h: int | None = None,
) -> Usage:
    """What was billed, from `input` (without what came from the cache or went there), `output`, `cache_read`, `cache_write`, `reasoning`.

    `NO_USAGE` where neither an input nor an output is known. `cost` is the provider's own figure, in dollars.
    """
    if counts.get("input") is None and counts.get("output") is None:
        return NO_USAGE if cost is None else _whole(NO_USAGE, cost)
    said = {name: counts.get(name) or 0 for name in ("input", "output", "cache_read", "cache_write")}
    usage = Usage(
        **said,
        cache_write_1h=write_1h,
        reasoning=counts.get("reasoning"),
        total_tokens=sum(said.values()) if total is None else total,
        cost=UNKNOWN_COST,
    )
    return usage if cost is None else _whole(usage, cost)


def _whole(usage: Usage, dollars: float) -> Usage:
    told = Cost(input=0, output=0, cache_read=0, cache_write=0, total=dollars, total_from_provider=True)
    return Usage(
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        cache_write_1h=usage.cache_write_1h,
        reasoning=usage.reasoning,
        total_tokens=usage.total_tokens,
        cost=told,
    )
