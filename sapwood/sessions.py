"""The sessions that there are, as a channel for a host under trio (S14)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

import trio

from sapwood.actors.environment import Environment
from sapwood.events.catalog import ListedSession, UnlistedFile
from sapwood.store.catalog import Told

STEPS: Final = 32
"""Files that are looked into, or megabytes that are searched, between two looks whether anybody still waits: some milliseconds."""


class Sessions(trio.abc.ReceiveChannel[ListedSession]):
    """Sessions as they are found, the last active first. Ends with `EndOfChannel`; made by `Runtime.sessions`.

    Whoever stops, or is cancelled, waits for the step that is being done, and loses nothing that was found. For one reader at a time.
    """

    def __init__(self, told: Iterator[Told], environment: Environment) -> None:
        self._told = told
        self._environment = environment
        self._ready: deque[ListedSession] = deque()
        self._unlisted: list[UnlistedFile] = []
        self._is_open = True

    @property
    def unlisted(self) -> Sequence[UnlistedFile]:
        """The files and folders so far that could not be listed, and why."""
        return tuple(self._unlisted)

    async def receive(self) -> ListedSession:
        """The next one."""
        if not self._is_open:
            raise trio.ClosedResourceError
        while not self._ready:
            some = await self._environment.run_sync(self._some)
            if not some:
                raise trio.EndOfChannel
            for one in some:
                if isinstance(one, ListedSession):
                    self._ready.append(one)
                elif one is not None:
                    self._unlisted.append(one)
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Stop looking."""
        self._is_open = False
        self._ready.clear()
        await trio.lowlevel.checkpoint()

    def _some(self) -> list[Told]:
        """A few steps: up to the first that is told, so that nobody waits for the second."""
        some: list[Told] = []
        for one in self._told:
            some.append(one)
            if isinstance(one, ListedSession) or len(some) == STEPS:
                break
        return some
