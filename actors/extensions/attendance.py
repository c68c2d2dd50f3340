"""The beginning and the end of a session, as its extensions are told them (H4).

1. Who was told that it begins is told once that it ends, whatever came between.
2. What was published before the end is told to who subscribed to it first, as far as that takes `SETTLING`; and what those who were told of
   the end kept then, as an entry, is told behind that.
3. When it has ended what extensions still do is cancelled, and the contexts that they kept are stale (H3).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, Literal

import attrs
import trio

from sapwood.actors.extensions.companions import Dismiss, Settle
from sapwood.actors.extensions.context import Lent, Life
from sapwood.actors.extensions.extension import Registered
from sapwood.actors.foreign import LEAVE_AFTER
from sapwood.actors.kernel import CRASHES, Ref, insist
from sapwood.events.hooks import SessionShutdown, SessionStart

SETTLING: Final = 2.0
"""Seconds that handlers of events have for what is still to be told: as long as those of the end."""
Reason = Literal["new", "resume", "fork"]


@attrs.frozen(kw_only=True)
class Attendance:
    """Of one session."""

    registered: Registered
    extensions: Ref
    companions: Ref
    life: Life

    async def begins(self, lent: Lent, reason: Reason) -> None:
        """Lend the session to its extensions, and tell them that it begins. Returns when all were told."""
        self.life.lent = lent
        if self.registered.has(SessionStart):
            with suppress(*CRASHES):
                await insist(self.extensions, SessionStart(reason=reason))

    async def ends(self) -> None:
        """Tell them that it ends, and end what they do beside it. Bounded, and not to be cancelled: who calls sees to that."""
        if not self.registered.extensions:
            return
        in_time = await self._settles()
        if self.registered.has(SessionShutdown):
            with suppress(*CRASHES):
                await insist(self.extensions, SessionShutdown())
            if in_time:  # else somebody is stuck, and has had its time
                await self._settles()
        self.life.over, self.life.lent = True, None
        with suppress(*CRASHES), trio.move_on_after(2 * LEAVE_AFTER):
            await insist(self.companions, Dismiss())

    async def _settles(self) -> bool:
        """Wait until what was published is told; whether that was in time."""
        with suppress(*CRASHES), trio.move_on_after(SETTLING) as time:
            await insist(self.companions, Settle())
        return not time.cancelled_caught
