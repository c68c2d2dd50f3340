"""Where a session meets the world, one place after the other: what stands there writes a recording, or plays one. A port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeVar

from sapwood.events.base import Json

T = TypeVar("T")


class Line(Protocol):
    """What is between a session and the world."""

    async def through(
        self,
        key: str,
        work: Callable[[], Awaitable[T]],
        encode: Callable[[T], Json],
        decode: Callable[[Json], T],
        *,
        deaf: bool = False,
    ) -> T:
        """What the world gives here: it has its turn, one at a time. `deaf`: it is foreign code, and may go on when it is cancelled."""
        ...

    def drawn(self, key: str, make: Callable[[], Json]) -> Json:
        """A time, or random bytes."""
        ...

    async def rest(self) -> None:
        """Return when the session has come to rest, so that what the host does next begins from there."""
        ...

    def hosting(self) -> AbstractContextManager[None]:
        """What is drawn meanwhile is for what the host does."""
        ...

    def host(self, value: object) -> int:
        """The host does this; its number."""
        ...

    def left(self, number: int) -> None:
        """The host has left what it did, before it was done."""
        ...

    def progress(self, key: str, tell: Callable[[Json], None]) -> Callable[[Json], None]:
        """How a tool tells of its progress."""
        ...

    def close(self) -> None:
        """The session is closed."""
        ...

    def witness(self, kind: Literal["event", "entry"], line: bytes) -> None:
        """The session did this."""
        ...
