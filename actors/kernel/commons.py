"""What the actors of one system share: its phase, its load, its tap and its nurseries.

1. Phases go one way: open, stopping (only its own operations may still ask), closed (nobody may).
2. The load is every message not yet handled and every operation not yet ended; a stopping system waits for it to reach zero.
3. Actors live in one nursery and operations in another, so that actors can serve the last operations.
"""

from __future__ import annotations

from contextvars import Context
from typing import Literal, Protocol, TypeAlias

import attrs
import trio

from sapwood.actors.kernel.chain import Link, upstream
from sapwood.actors.kernel.errors import ActorFailed
from sapwood.actors.kernel.loop import Loop
from sapwood.actors.kernel.tap import Tap

SystemPhase: TypeAlias = Literal["open", "stopping", "closed"]


class Running(Protocol):
    """An operation, as far as the system that stops it knows it."""

    @property
    def title(self) -> str: ...
    def cancel(self, reason: str) -> None: ...
    def abandon(self) -> None: ...


@attrs.define(eq=False, kw_only=True)
class Commons:
    """One a system."""

    name: str
    tap: Tap | None
    grace: float
    """Seconds that operations have for their cleanup."""
    context: Context
    """What an actor, and an operation that nobody asked for, runs in a copy of."""
    actors: trio.Nursery
    operations: trio.Nursery
    loop: Loop = attrs.Factory(Loop)
    """Where it lives."""
    phase: SystemPhase = "open"
    failure: ActorFailed | None = None
    """The first actor that failed for good."""
    running: dict[Running, None] = attrs.Factory(dict[Running, None])
    _load: int = 0
    _idle: trio.Event | None = None

    def admits(self, link: Link | None) -> bool:
        """Whether code below this link may ask now."""
        return self.phase == "open" or (
            self.phase == "stopping" and any(above.actor.system is self for above in upstream(link))
        )

    def begin(self, count: int = 1) -> None:
        """So many more things to do."""
        self._load += count

    def finish(self, count: int = 1) -> None:
        """So many done."""
        self._load -= count
        if self._load == 0 and self._idle is not None:
            self._idle.set()

    async def idle(self) -> None:
        """Wait until nothing is left to do."""
        if self._load:
            self._idle = trio.Event()
            await self._idle.wait()
