"""Ready taps: to record, to crash, to drop, and to run one program under many reproducible orders.

1. `Seeded` releases what it holds one at a time, and only when everything else is blocked, so the seed alone decides the order.
2. `Together` lets several taps see everything; one `"drop"` is enough.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TypeAlias

import attrs
import msgspec
import trio
from trio.testing import wait_all_tasks_blocked

from sapwood.actors.kernel.tap import Phase, Receipt, Tap, Verdict


class Passed(msgspec.Struct, frozen=True):
    """An operation started or ended."""

    actor: str
    operation: str
    phase: Phase


class InjectedCrash(Exception):
    """What `CrashAt` raises; no typed refusal."""


@attrs.define
class Recording:
    """Keeps everything that passed, in order."""

    passed: list[Receipt | Passed] = attrs.Factory(list[Receipt | Passed])

    async def receipt(self, receipt: Receipt) -> Verdict:
        self.passed.append(receipt)
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        self.passed.append(Passed(actor, operation, phase))


@attrs.frozen
class CrashAt:
    """Crashes an actor at its nth receipt, once."""

    actor: str
    n: int

    async def receipt(self, receipt: Receipt) -> Verdict:
        if (receipt.actor, receipt.n) == (self.actor, self.n):
            raise InjectedCrash(f"{self.actor} at receipt {self.n}")
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        pass


@attrs.define
class StrikeAt:
    """Breaks the nth operation of an actor, at its start or at its end, once."""

    actor: str
    n: int
    phase: Phase
    _seen: int = 0

    async def receipt(self, receipt: Receipt) -> Verdict:  # noqa: ARG002 - the port's
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        if (actor, phase) == (self.actor, self.phase):
            self._seen += 1
            if self._seen == self.n:
                raise InjectedCrash(f"{operation} of {actor}, at its {phase}")


@attrs.define
class Counting:
    """Counts what every actor receives, and the operations that it starts and ends."""

    receipts: Counter[str] = attrs.Factory(Counter[str])
    operations: Counter[tuple[str, Phase]] = attrs.Factory(Counter[tuple[str, Phase]])

    async def receipt(self, receipt: Receipt) -> Verdict:
        self.receipts[receipt.actor] += 1
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:  # noqa: ARG002 - the port's
        self.operations[actor, phase] += 1

    @property
    def moments(self) -> int:
        """All of them."""
        return self.receipts.total() + self.operations.total()

    def strikes(self) -> list[CrashAt | StrikeAt]:
        """A tap for each of them that breaks what was counted there, actor by actor."""
        return [
            *(CrashAt(actor, n) for actor, count in sorted(self.receipts.items()) for n in range(1, count + 1)),
            *(
                StrikeAt(actor, n, phase)
                for (actor, phase), count in sorted(self.operations.items())
                for n in range(1, count + 1)
            ),
        ]


@attrs.frozen
class DropAll:
    """Takes away every message of these types."""

    types: tuple[type, ...]

    async def receipt(self, receipt: Receipt) -> Verdict:
        return "drop" if isinstance(receipt.message, self.types) else "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        pass


class Together:
    """Several taps in a row."""

    def __init__(self, *taps: Tap) -> None:
        self._taps = taps

    async def receipt(self, receipt: Receipt) -> Verdict:
        verdicts = [await tap.receipt(receipt) for tap in self._taps]
        return "drop" if "drop" in verdicts else "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        for tap in self._taps:
            await tap.operation(actor, operation, phase)


Key: TypeAlias = tuple[str, str, int]


@attrs.define(eq=False)
class Held:
    """A task that waits for its turn."""

    key: Key
    woken: trio.Event = attrs.Factory(trio.Event)
    released: bool = False


class Seeded:
    """Holds receipts and starts of operations, and releases them in an order that the seed decides."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a schedule, not a secret
        self._held: list[Held] = []
        self._starts: dict[tuple[str, str], int] = {}
        self._led = False

    async def receipt(self, receipt: Receipt) -> Verdict:
        await self._hold((receipt.actor, "", receipt.n))
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        if phase == "start":
            self._starts[actor, operation] = n = self._starts.get((actor, operation), 0) + 1
            await self._hold((actor, operation, n))

    async def _hold(self, key: Key) -> None:
        """Wait for one's turn. One of the held tasks leads: it waits until all else is blocked, and draws."""
        me = Held(key)
        self._held.append(me)
        try:
            while not me.released:
                if self._led:
                    await me.woken.wait()
                else:
                    await self._lead()
        finally:
            if me in self._held:
                self._held.remove(me)
            if self._held and not self._led:
                self._wake(self._held[0])

    async def _lead(self) -> None:
        self._led = True
        try:
            await wait_all_tasks_blocked()
        finally:
            self._led = False
        drawn = self._random.choice(sorted(self._held, key=lambda held: held.key))
        self._held.remove(drawn)
        drawn.released = True
        self._wake(drawn)

    def _wake(self, held: Held) -> None:
        held.woken.set()
        if not held.released:
            held.woken = trio.Event()
