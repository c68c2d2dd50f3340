"""What is large in a context (C17). No I/O."""

from __future__ import annotations

import heapq
from typing import Final

from sapwood.events.context import Surveyed

MOST: Final = 3
"""Entries that are named: whoever has to choose one to hide needs no list."""


def largest(surveyed: Surveyed) -> tuple[tuple[str, int], ...]:
    """The ids of the largest entries of those that were counted, and their tokens, the largest first."""
    counted = surveyed.entries[len(surveyed.entries) - len(surveyed.tokens) :]
    sizes = zip((one.entry.id for one in counted), surveyed.tokens, strict=True)
    return tuple(heapq.nlargest(MOST, ((str(one), count) for one, count in sizes if count), key=lambda one: one[1]))
