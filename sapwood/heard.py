"""Who hears what a host and its extensions do with a session: a recorder, or nobody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

T = TypeVar("T")


class Heard(Protocol):
    """Who hears what is done to a session: who records it."""

    async def rest(self) -> None:
        """Return when the session has come to rest, so that what the host does next begins from there."""
        ...

    def hosting(self) -> AbstractContextManager[None]:
        """What is drawn meanwhile is for what the host does: it is told with that, and not by itself."""
        ...

    def host(self, value: object) -> int:
        """The host does this; its number."""
        ...

    def lent(self, value: object) -> int:
        """An extension has this done by its session; its number."""
        ...

    async def doing(self, value: object, work: Callable[[], Awaitable[T]], *, lent: bool = False) -> T:
        """The host does this, or by `lent` an extension, and waits for it: behind a rest, and left from the moment it is cancelled."""
        ...

    def beside(self, key: str, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
        """What an extension does beside its session, as it is to be run. It is foreign code."""
        ...


class Unheard:
    """Nobody hears it."""

    async def rest(self) -> None:
        pass

    def hosting(self) -> AbstractContextManager[None]:
        return nullcontext()

    def host(self, value: object) -> int:  # noqa: ARG002 - the port's
        return 0

    def lent(self, value: object) -> int:  # noqa: ARG002 - the port's
        return 0

    async def doing(self, value: object, work: Callable[[], Awaitable[T]], *, lent: bool = False) -> T:  # noqa: ARG002 - the port's
        return await work()

    def beside(self, key: str, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:  # noqa: ARG002 - the port's
        return work
