"""Taps that stop at one point of a story, of all those that pass: to pause there, to break, or to have something else happen."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import trio
import trio.testing

from sapwood.actors.kernel import Receipt, Verdict
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.kernel.testing import InjectedCrash


@attrs.define
class Points:
    """Counts what passes once it is armed, and knows each by a name."""

    armed: bool = False
    passed: list[str] = attrs.Factory(list[str])

    async def receipt(self, receipt: Receipt) -> Verdict:
        await self._pass(f"{receipt.actor} gets {type(receipt.message).__name__}")
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        await self._pass(f"{actor}: {phase} of {operation}")

    async def _pass(self, name: str) -> None:
        if self.armed:
            self.passed.append(name)
            await self.here(len(self.passed))

    async def here(self, n: int) -> None:
        """The nth point is passed, from 1."""


@attrs.define
class Breaking(Points):
    """Breaks at one point: an actor that is to handle something, or an operation."""

    at: int = 0

    async def here(self, n: int) -> None:
        if n == self.at:
            raise InjectedCrash(self.passed[-1])


@attrs.define
class Calling(Points):
    """Has something done at one point, and goes on when all of that waits for something."""

    at: int = 0
    do: Callable[[], object] = lambda: None

    async def here(self, n: int) -> None:
        if n == self.at:
            self.do()
            await trio.testing.wait_all_tasks_blocked()


@attrs.define
class Pausing(Points):
    """Holds what passes at one point until it is let go; whoever comes later passes."""

    at: int = 0
    reached: trio.Event = attrs.Factory(trio.Event)
    go_on: trio.Event = attrs.Factory(trio.Event)

    async def here(self, n: int) -> None:
        if n == self.at:
            self.reached.set()
            await self.go_on.wait()
