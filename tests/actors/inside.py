"""Running something as an operation of an actor: parts of it may be left behind only there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from sapwood.actors.kernel import Ring, Start, open_system
from tests.actors.kernel.puppet import Do, Puppet

T = TypeVar("T")


async def inside(work: Callable[[], Awaitable[T]]) -> T:
    """What it comes to. Raises as an ask does."""
    async with open_system("test", ring=Ring(9)) as system:
        return cast("T", await system.spawn("a", Puppet).ask(Do(lambda: Start(work, "work"))))
