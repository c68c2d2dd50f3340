"""Work that is asked for under a key and may be stopped by it: a compaction, a navigation.

1. A stop that comes before its work holds for it: the work does not begin.
2. A stop while it is under way cancels it; what the work shields ends well, and its result stands.
3. A stop that comes after its work is for nobody.
4. Who asked leaves: the work is cancelled with them, and nothing is raised in its place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import attrs
import trio

from sapwood.actors.stops import Stops

T = TypeVar("T")


@attrs.frozen
class Stoppable:
    """The work of one actor. `stopped` makes what is raised for work that somebody stopped."""

    _stopped: Callable[[], Exception]
    _stops: Stops = attrs.field(factory=Stops, init=False)
    _under_way: dict[str, trio.CancelScope] = attrs.field(factory=dict[str, trio.CancelScope], init=False)

    def stop(self, key: str) -> None:
        """Stop the work of this key, or the one that is about to come."""
        scope = self._under_way.get(key)
        if scope is None:
            self._stops.stop(key)
        else:
            scope.cancel(reason=str(self._stopped()))

    async def run(self, key: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work, and give what it gives."""
        scope = self._under_way[key] = trio.CancelScope()
        if self._stops.begins(key):
            self.stop(key)
        try:
            with scope:
                await trio.lowlevel.checkpoint_if_cancelled()
                return await work()
            raise self._stopped()
        finally:
            del self._under_way[key]
            self._stops.ended(key)
