"""The one lease, and who has it. It outlives the actor: whoever held the tree before a restart still does."""

from __future__ import annotations

import trio

from sapwood.actors.exclusion.table import At
from sapwood.events.requests import Holder


class Lease:
    """Who may change the tree. Granted by the exclusion actor, given back by a plain call; anybody may read `holder`."""

    def __init__(self) -> None:
        self._key: str | None = None
        self._holder: Holder = "idle"
        self._idle = trio.Event()
        self._idle.set()
        self.compacting = False
        """Whether the run that holds the tree is compacting under its own lease."""

    @property
    def holder(self) -> Holder:
        return self._holder

    @property
    def at(self) -> At:
        """The holder, and whether it is a run that compacts."""
        return "run_compacting" if self._holder == "run" and self.compacting else self._holder

    def grant(self, holder: Holder, key: str) -> None:
        """For the exclusion actor alone: from now on `key` holds the tree."""
        self._holder, self._key = holder, key
        self._idle = trio.Event()

    def release(self, key: str) -> None:
        """Give the tree back. Whoever does not hold it changes nothing."""
        if key == self._key:
            self._holder, self._key, self.compacting = "idle", None, False
            self._idle.set()

    async def idle(self) -> None:
        """Wait until nobody holds it."""
        await self._idle.wait()
