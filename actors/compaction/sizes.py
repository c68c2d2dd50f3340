"""What is large in a context, and how much of it goes out (C17). No I/O."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Final

from sapwood.actors.outgoing import prepare
from sapwood.actors.projection.counter import heuristic
from sapwood.events.context import Surveyed
from sapwood.events.messages import Message
from sapwood.events.models import Model

MOST: Final = 3
"""Entries that are named: whoever has to choose one to hide needs no list."""


def largest(surveyed: Surveyed) -> tuple[tuple[str, int], ...]:
    """The ids of the largest entries of those that were counted, and their tokens, the largest first."""
    counted = surveyed.entries[len(surveyed.entries) - len(surveyed.tokens) :]
    sizes = zip((one.entry.id for one in counted), surveyed.tokens, strict=True)
    return tuple(heapq.nlargest(MOST, ((str(one), count) for one, count in sizes if count), key=lambda one: one[1]))


def sent(messages: Sequence[Message], model: Model) -> int:
    """Tokens of a selection as it goes out to a model, by the rule of thumb: what the model's limits cut off is not sent (P11)."""
    outgoing = prepare(messages, provider=model.provider, model=model.id, limits=model.limits)
    return sum(map(heuristic, outgoing.messages))
