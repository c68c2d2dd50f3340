"""The tap of a playing: whoever orders or strikes stands behind it, and a story's own crashes are struck here.

`quiet` is how a player waits: until nothing runs and nobody who is held will go on by himself. Virtual time does not pass meanwhile.
"""

from __future__ import annotations

from collections import Counter

from trio.testing import wait_all_tasks_blocked

from sapwood.actors.kernel import Receipt, Tap, Verdict
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.kernel.testing import InjectedCrash
from sapwood.recording.recorder import Recorder

PATIENCE = 3
"""Rounds in which nobody passes before who is held counts as held for good: a schedule releases one a round."""


class Gate:
    """What every message of a playing passes. `Tap`."""

    recorder: Recorder | None = None
    """Who records the session, if somebody does: who waits for a turn there goes on by himself."""

    def __init__(self, inner: Tap | None) -> None:
        self._inner = inner
        self._to_crash: Counter[str] = Counter()
        self._held = self._passed = 0

    def crash_next(self, actor: str) -> None:
        """Crash this actor at the next message that it is to handle."""
        self._to_crash[actor] += 1

    async def receipt(self, receipt: Receipt) -> Verdict:
        verdict: Verdict = "handle"
        if self._inner is not None:
            self._held += 1
            try:
                verdict = await self._inner.receipt(receipt)
            finally:
                self._left()
        if self._to_crash[receipt.actor]:
            self._to_crash[receipt.actor] -= 1
            raise InjectedCrash(f"{receipt.actor}, as the story wants it")
        return verdict

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        if self._inner is not None:
            self._held += 1
            try:
                await self._inner.operation(actor, operation, phase)
            finally:
                self._left()

    async def quiet(self) -> None:
        """Return when nothing more happens without time."""
        rounds = 0
        while rounds < PATIENCE:
            before = self._passed
            await wait_all_tasks_blocked()
            if self._passed != before or (self.recorder is not None and self.recorder.busy):
                rounds = 0
            elif self._held:
                rounds += 1
            else:
                return

    def _left(self) -> None:
        self._held -= 1
        self._passed += 1
