"""What other actors do for the agent apart from its runs: a compaction that a person asked for, a navigation. How all of it is stopped."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

import trio

from sapwood.actors.kernel import Ref, insist
from sapwood.events.asking import Ask


class UnderWay:
    """The errands of one other actor."""

    def __init__(self, who: Ref, stop: Callable[[str], Ask[None]]) -> None:
        """`stop` makes what `who` is told to stop one by its key."""
        self._who = who
        self._stop = stop
        self._ended: dict[str, trio.Event] = {}

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
            await insist(self._who, self._stop(key))
        yield
        for _, ended in under_way:
            await ended.wait()
