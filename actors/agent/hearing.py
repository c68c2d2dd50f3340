"""What is said into a queue while extensions are asked about it: the order in which it was said stays (R3).

Each is heard of behind the one before it, and queued then. One whose operation never began is passed over: the actor tells when each ended.
"""

from __future__ import annotations

import trio

from sapwood.actors.agent.hooks import RunHooks
from sapwood.actors.kernel import Ref, Start, insist
from sapwood.events.commands import Input, QueueName
from sapwood.events.requests import Accept


class Hearing:
    """Of one agent."""

    def __init__(self, hooks: RunHooks, inbox: Ref) -> None:
        self._hooks = hooks
        self._inbox = inbox
        self._under_way: dict[str, trio.Event] = {}

    @property
    def is_due(self) -> bool:
        """Whether anybody is to be asked: else what is said is queued at once."""
        return self._hooks.hears_input

    def begin(self, taken: Input, queue: QueueName) -> Start:
        name, before = f"queue {taken.entry_id}", next(reversed(self._under_way.values()), None)
        self._under_way[name] = trio.Event()
        return Start(lambda: self._hear(taken, queue, before), name=name, owner="actor", tells=True)

    def ended(self, name: str) -> bool:
        """Whether it was one of these that ended."""
        event = self._under_way.pop(name, None)
        if event is not None:
            event.set()
        return event is not None

    async def _hear(self, taken: Input, queue: QueueName, before: trio.Event | None) -> None:
        if before is not None:
            await before.wait()
        said = await self._hooks.heard(taken)
        await insist(self._inbox, Accept(input=said, queue=queue))
