"""Taps that strike operations, and actors for good, and whole sessions; and what strikes they find in a story."""

from __future__ import annotations

from collections import Counter

import attrs
import trio
import trio.testing

from sapwood.actors.kernel import Receipt, Verdict
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.kernel.testing import InjectedCrash


@attrs.define
class StrikeAt:
    """Breaks the nth operation of an actor, at its start or at its end, once."""

    actor: str
    n: int
    phase: Phase
    _seen: int = 0

    async def receipt(self, receipt: Receipt) -> Verdict:
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        if (actor, phase) == (self.actor, self.phase):
            self._seen += 1
            if self._seen == self.n:
                raise InjectedCrash(f"{operation} of {actor}, at its {phase}")


@attrs.frozen
class CrashFrom:
    """Crashes an actor at its nth receipt and at each one behind that: it stays down in the end."""

    actor: str
    n: int

    async def receipt(self, receipt: Receipt) -> Verdict:
        if receipt.actor == self.actor and receipt.n >= self.n:
            raise InjectedCrash(f"{self.actor} at receipt {receipt.n}")
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        pass


@attrs.define
class Counting:
    """Counts what every actor receives, and the operations that it starts and ends."""

    receipts: Counter[str] = attrs.Factory(Counter[str])
    operations: Counter[tuple[str, Phase]] = attrs.Factory(Counter[tuple[str, Phase]])

    async def receipt(self, receipt: Receipt) -> Verdict:
        self.receipts[receipt.actor] += 1
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        self.operations[actor, phase] += 1

    @property
    def moments(self) -> int:
        """All of them."""
        return self.receipts.total() + self.operations.total()


@attrs.define
class HoldAt:
    """Says when the nth message is received, or operation begins or ends, and holds it until who waited for that has done what they can."""

    n: int
    reached: trio.Event = attrs.field(factory=trio.Event)
    _passed: int = 0

    async def receipt(self, receipt: Receipt) -> Verdict:
        await self._pass()
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        await self._pass()

    async def _pass(self) -> None:
        self._passed += 1
        if self._passed == self.n:
            self.reached.set()
            await trio.testing.wait_all_tasks_blocked()
