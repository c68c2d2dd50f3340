"""The event ring: one publisher that never waits, any number of readers that never hurt.

1. `publish` is synchronous: it numbers the event (from 1), keeps it, wakes the readers. What is kept and read is `Track`'s.
2. A closed ring ends its readers once they drained; a closed, broken or forgotten reader harms nobody.
3. A cancelled receive loses nothing; a second task on one reader is refused, and so is another loop than the one that it was made on.
"""

from __future__ import annotations

from collections.abc import Callable

import trio
from trio.lowlevel import Abort, Task, checkpoint, current_task, reschedule, wait_task_rescheduled

from sapwood.actors.kernel.errors import Closed
from sapwood.actors.kernel.loop import Loop
from sapwood.actors.kernel.track import Cursor, Merge, Published, Resync, Track


class Ring:
    """Keeps the last `capacity` events (after merging) for readers to follow."""

    def __init__(
        self, capacity: int, *, merge: Merge | None = None, snapshot: Callable[[], object] | None = None
    ) -> None:
        self.closed = False
        self.track = Track(capacity, merge=merge, snapshot=snapshot)
        self.waiting: dict[Task, None] = {}
        """The tasks of readers that have read everything."""

    @property
    def seq(self) -> int:
        """The number of the last event published; 0 before the first."""
        return self.track.seq

    def publish(self, event: object) -> int:
        """Number the event and hand it to every reader. Never waits. Raises Closed."""
        if self.closed:
            raise Closed("the event ring")
        seq = self.track.append(event)
        if self.waiting:
            self._wake()
        return seq

    def reader(self, since: int | None = None) -> Reader:
        """Follow from now on, or from after event `since`; a `since` that the ring cannot continue begins with a Resync."""
        return Reader(self, self.track.cursor(since))

    def close(self) -> None:
        """Publish no more. Readers drain what is kept, then end."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        for task in self.waiting:
            reschedule(task)
        self.waiting.clear()


class Reader(trio.abc.ReceiveChannel[Published | Resync]):
    """A cursor over a ring; made by `Ring.reader`. One task at a time may receive."""

    def __init__(self, ring: Ring, cursor: Cursor) -> None:
        self._ring = ring
        self._cursor = cursor
        self._task: Task | None = None
        self._closed = False
        self._loop = Loop() if trio.lowlevel.in_trio_run() else None

    def receive_nowait(self) -> Published | Resync:
        """What comes next, or trio.WouldBlock. Raises trio.EndOfChannel behind the last event of a closed ring, and WrongThread."""
        self._check()
        return self._next()

    def _next(self) -> Published | Resync:
        if self._closed:
            raise trio.ClosedResourceError
        item = self._ring.track.read(self._cursor)
        if item is None:
            raise trio.EndOfChannel if self._ring.closed else trio.WouldBlock
        return item

    async def receive(self) -> Published | Resync:
        """What comes next. Raises trio.EndOfChannel, trio.ClosedResourceError, trio.BusyResourceError for a second task, WrongThread."""
        self._check()
        if self._closed:
            raise trio.ClosedResourceError
        if self._task is not None:
            raise trio.BusyResourceError("another task receives from this reader")
        self._task = current_task()
        try:
            if not self._must_wait():
                await checkpoint()
            while self._must_wait():
                await self._wait(self._task)
            return self._next()
        finally:
            self._task = None

    def close(self) -> None:
        """Stop reading. A task that waits in `receive` gets trio.ClosedResourceError. Raises WrongThread."""
        self._check()
        self._closed = True
        self._ring.track.forget(self._cursor)
        if (task := self._task) is not None and task in self._ring.waiting:
            del self._ring.waiting[task]
            reschedule(task)

    async def aclose(self) -> None:
        """`close`, as trio's channels spell it."""
        self.close()
        await checkpoint()

    def _check(self) -> None:
        if self._loop is not None and not self._ring.closed:  # of a closed one nobody is woken any more
            self._loop.check()

    def _must_wait(self) -> bool:
        return self._ring.track.drained(self._cursor) and not self._ring.closed and not self._closed

    async def _wait(self, task: Task) -> None:
        waiting = self._ring.waiting
        waiting[task] = None

        def abort(_: object) -> Abort:
            del waiting[task]
            return Abort.SUCCEEDED

        await wait_task_rescheduled(abort)
