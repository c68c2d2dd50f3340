"""How long somebody may say nothing, and the end of what lasts longer (M3).

1. It is counted in time in which something could have been heard. Where a host holds up the loop until the limit has passed, what came
   meanwhile has not been read: the wait begins anew then, once, and what is there is read first.
2. A renewal costs as much as setting a number: it is done at every event.
3. What the work raises comes out as it is, and who leaves it leaves at once.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import trio

T = TypeVar("T")

LATE: Final = 0.05
"""Seconds behind its time at which a limit is looked at, where others keep the loop as busy as they may: beyond that it stood still."""


class Patience:
    """A limit on silence, over one piece of work at a time."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        """Whether it came to an end before the work did."""
        self._ended = trio.Event()
        self._nap = trio.CancelScope()
        self.renew(seconds)

    def renew(self, seconds: float) -> None:
        """Something was heard: from now on this long."""
        self._seconds = seconds
        self._again = True
        self._due = trio.current_time() + seconds
        if self._due < self._nap.deadline < math.inf:
            self._nap.deadline = self._due

    async def bound(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """What the work comes to; None if the limit ended it, see `over`. Raises what the work raises."""
        value: T | None = None
        fault: Exception | None = None
        self.over, self._ended = False, trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, nursery.cancel_scope)
            try:
                value = await work()
                self.over = False  # it was there first
            except Exception as error:  # noqa: BLE001 - it is raised below, where no group is made of it
                fault, self.over = error, False
            finally:
                self._ended.set()
                self._nap.cancel()
        if fault is not None:
            raise fault
        return value

    async def _watch(self, scope: trio.CancelScope) -> None:
        """It ends by itself, and is no part of what is cancelled: what the work has come to would be lost with it."""
        while not self._ended.is_set():
            with trio.CancelScope(deadline=self._due, shield=True) as self._nap:
                await trio.sleep_forever()
            if self._ended.is_set():
                return
            late = trio.current_time() - self._due
            if late < 0:
                continue
            if late > LATE and self._again:
                self._due, self._again = trio.current_time() + self._seconds, False
                continue
            self.over = True
            scope.cancel(reason="nothing was heard for too long")
            return
