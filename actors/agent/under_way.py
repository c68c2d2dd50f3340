"""What other actors do for the agent apart from its runs: a compaction that a person asked for, a navigation. How all of it is stopped."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager

import trio

from sapwood.actors.inbox.queues import Queues
from sapwood.actors.kernel import Ref, insist
from sapwood.events.asking import Ask
from sapwood.events.ids import EntryId


class UnderWay:
    """The errands of one other actor."""

    def __init__(self, who: Ref, stop: Callable[[str], Ask[None]], queues: Queues) -> None:
        """`stop` makes what `who` is told to stop one by its key."""
        self._who = who
        self._stop = stop
        self._queues = queues
        self._ended: dict[str, trio.Event] = {}
        self._waited: dict[str, frozenset[EntryId]] = {}
        """What waited to be said before each of them."""

    def begin(self, key: str) -> str:
        """One of this key is about to begin. What waits in the queues now goes on waiting, whatever comes of it."""
        self._waited[key] = frozenset(self._queued())
        return key

    def has_news(self, key: str) -> bool:
        """Whether something was said while it went on that is to start a run now: not behind one that was stopped. Asked when it ended."""
        waited = self._waited.pop(key, None)
        return waited is not None and any(one not in waited for one in self._queued())

    def _queued(self) -> Iterator[EntryId]:
        queued = self._queues.present()
        return (one.entry_id for one in (*queued.steering, *queued.follow_up))

    @contextmanager
    def one(self, key: str) -> Generator[None]:
        """Around one of them."""
        ended = self._ended[key] = trio.Event()
        try:
            yield
        finally:
            del self._ended[key]
            ended.set()

    @asynccontextmanager
    async def stopped(self) -> AsyncGenerator[None]:
        """All of them are told to stop, and have ended when the block is left."""
        under_way = tuple(self._ended.items())
        for key, _ in under_way:
            self._waited.pop(key, None)
            await insist(self._who, self._stop(key))
        yield
        for _, ended in under_way:
            await ended.wait()
