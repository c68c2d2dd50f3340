"""What is seen of a session while it is played.

1. Each event bears the virtual second at which it was seen.
2. Neighbouring pieces of one answer that came at one moment are one event: how they were cut depends on who read when, their sum does not.
3. An event that was lost to the watcher is no event that did not happen: `lost` says so.
"""

from __future__ import annotations

from typing import assert_never, cast

import trio

from sapwood.actors.kernel import Published, Reader, Resync
from sapwood.events.runtime import Event, MessageUpdate, merged
from sapwood.scenario.played import Seen


class Watcher:
    """Follows a session's events."""

    def __init__(self, reader: Reader, *, seen: list[Seen] | None = None, start: float | None = None) -> None:
        """`seen` is gone on with, on a clock that began at `start`: a story may have several sessions, one after the other."""
        self._reader = reader
        self._start = trio.current_time() if start is None else start
        self.seen: list[Seen] = [] if seen is None else seen
        self.lost = False
        """Whether it ever fell so far behind that events were dropped."""

    @property
    def now(self) -> float:
        """Seconds since the watching began."""
        return trio.current_time() - self._start

    async def follow(self) -> None:
        """Note every event until the session ends."""
        async for item in self._reader:
            match item:
                case Published(event=event):
                    self._note(cast("Event", event))
                case Resync():
                    self.lost = True
                case _:
                    assert_never(item)

    def _note(self, event: Event) -> None:
        now = self.now
        last = self.seen[-1] if self.seen else None
        if last is not None and last.at == now and isinstance(event, MessageUpdate):
            one = merged(last.event, event)
            if one is not None:
                self.seen[-1] = Seen(last.n, now, one)
                return
        self.seen.append(Seen(len(self.seen) + 1, now, event))
