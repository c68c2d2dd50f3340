"""Where a session meets the world, one place after the other: what stands there writes a recording, or plays one. A port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

from sapwood.events.base import Json
from sapwood.heard import Heard

if TYPE_CHECKING:
    from sapwood.lending import Lending
    from sapwood.session import Session

T = TypeVar("T")

CLOCK: Final = "now"
"""The key under which a time is drawn, in milliseconds since 1970."""


def as_it_is(value: Any) -> Any:
    """What is JSON already."""
    return value


class Line(Heard, Protocol):
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

    def opened(self, session: Session, lending: Lending) -> None:
        """The session is there, and begins: what is done to it from without is done to these."""
        ...

    def progress(self, key: str, tell: Callable[[Json], None]) -> Callable[[Json], None]:
        """How a tool tells of its progress, and a provider of what it hears: without waiting."""
        ...

    def close(self) -> None:
        """The session is closed."""
        ...

    def witness(self, kind: Literal["event", "entry"], line: bytes) -> None:
        """The session did this."""
        ...


def apart(line: Line, key: str, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
    """Work that is done on the other side, and gives nothing."""

    async def run() -> None:
        async def done() -> None:
            await work()

        await line.through(key, done, _nothing, _nothing, deaf=True)

    return run


def _nothing(_: Json) -> None:
    return None
