"""Taps that strike actors for good, and hold whole sessions up."""

from __future__ import annotations

import attrs
import trio
import trio.testing

from sapwood.actors.kernel import Receipt, Verdict
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.kernel.testing import InjectedCrash


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
