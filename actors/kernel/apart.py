"""A part of an operation that may be left behind: foreign code, which may not end when it is asked to.

1. It is an operation of the same actor, below the one that begins it: the tap sees it, and it may not ask whoever waits for it.
2. Whoever waits for it may leave: it is cancelled and has `grace` seconds for its cleanup. After that nobody waits for it any more, and
   `running` says that it is still at it.
3. What it leaves open, a nursery or a scope, is its own fault and nobody else's: it runs in a task of its own.
4. What is left behind is named in `System.stragglers` if it outlives the system's own grace.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Generic, TypeVar, cast

import trio

from sapwood.actors.kernel.actor import Start
from sapwood.actors.kernel.chain import innermost
from sapwood.actors.kernel.errors import StrayCancelled, alone
from sapwood.actors.kernel.mailbox import Call
from sapwood.actors.kernel.operation import Operation, Parent

T = TypeVar("T")


async def sealed(work: Callable[[], Awaitable[T]]) -> T:
    """In a task below: trio breaks the task that ends with something open, and who waits for that sees it as an exception.

    A `Cancelled` that it kept from elsewhere would end in nothing, neither a value nor an exception: it is a `StrayCancelled`.
    """
    values: list[T] = []

    async def whole() -> None:
        values.append(await work())

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(whole)
    except BaseExceptionGroup as group:
        raise alone(group) from None
    if not values:
        raise StrayCancelled
    return values[0]


class Apart(Generic[T]):
    """Made inside an operation, and run once."""

    def __init__(self, work: Callable[[], Awaitable[T]], *, name: str, grace: float) -> None:
        self._start = Start(lambda: sealed(work), name, grace=grace)
        self._operation: Operation | None = None

    @property
    def begun(self) -> bool:
        return self._operation is not None

    @property
    def running(self) -> bool:
        """Whether it has begun and not ended. Once `run` is over: whether it was left behind."""
        return self._operation is not None and not self._operation.ended.is_set()

    async def run(self) -> T:
        """What it comes to.

        Raises what it refuses with, `OperationCrashed` for any other exception of its, and `OperationCancelled` if the system stops it.
        """
        link = innermost()
        if link is None:
            raise RuntimeError("a part of an operation is begun inside one")
        call = Call(link, copy_context())
        self._operation = cast("Parent", link.actor).begin(self._start, call)  # only operations make links
        return cast("T", await call.answer())
