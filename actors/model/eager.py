"""Do something before a thing that is awaited has to wait, and only then: what is there already is taken first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@coroutine
def awaiting(thing: Awaitable[T], before: Callable[[], None]) -> Generator[Any, Any, T]:
    """What `thing` comes to. `before` is called each time that it waits.

    It must not raise, nor wait: by then what is awaited may have told the scheduler what wakes this task.
    """
    steps: Any = thing.__await__()
    step, value = steps.send, None
    try:
        while True:
            trap = step(value)
            before()
            try:
                value = yield trap
                step = steps.send
            except BaseException as error:  # noqa: BLE001 - it is for whoever waits
                step, value = steps.throw, error
    except StopIteration as end:
        result: T = end.value
        return result
