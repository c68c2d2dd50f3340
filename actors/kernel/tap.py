"""The one point that every receipt and every operation passes.

1. `receipt` is awaited before a message is handled: waiting in it holds that actor back, raising is a crash of that actor,
   `"drop"` takes the message away.
2. `operation` is awaited before an operation starts and after it ended: waiting holds it back, raising makes it `Crashed`.
3. Without a tap nothing is awaited. Ready taps stand in `sapwood.actors.kernel.testing`.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import msgspec

Verdict: TypeAlias = Literal["handle", "drop"]
Phase: TypeAlias = Literal["start", "end"]


class Receipt(msgspec.Struct, frozen=True):
    """An actor is about to handle a message."""

    actor: str
    message: object
    n: int
    """This is the actor's nth receipt, from 1, counted on over its restarts."""


class Tap(Protocol):
    """Who records, orders and breaks what the actors do."""

    async def receipt(self, receipt: Receipt) -> Verdict:
        """A message is about to be handled."""
        ...

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        """An operation is about to start, or has just ended."""
        ...
