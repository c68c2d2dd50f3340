"""Foreign code, and what it raises: a provider, a section, a tool, a handler. It is an outcome, unless it ends more than that."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import attrs
import trio

from sapwood.actors.environment import RunSync
from sapwood.actors.kernel.errors import alone
from sapwood.events.content import without_surrogates
from sapwood.events.errors import brief

T = TypeVar("T")

LIMIT: Final = 30.0
"""Seconds that foreign code has which somebody waits for, unless it says otherwise (H2): a handler, a section."""
LEAVE_AFTER: Final = 0.1
"""Seconds that foreign code has to end when it is stopped: half of what an abort may take until it has settled (R4)."""
_INTERRUPTS: Final = (KeyboardInterrupt, SystemExit)


@attrs.frozen(eq=False)
class Fault:
    """What foreign code raised, and what ends no more than the call of it."""

    error: BaseException

    def words(self, speaking: type[BaseException] | tuple[()] = ()) -> str:
        """As `words_of`."""
        return words_of(self.error, speaking)


async def outcome_of(work: Callable[[], Awaitable[T]], report: Callable[[BaseException], None]) -> T | Fault:
    """What foreign code comes to, or its fault, which is reported. Raises what is to end more than that."""
    try:
        return await work()
    except BaseException as fault:  # noqa: BLE001 - foreign code, and its end may be a part of what it raised
        ended = end_in(fault)
        if ended is not None:  # what else was raised on the way out is nobody's
            raise ended from None
        report(fault)
        return Fault(fault)


def end_in(fault: BaseException) -> BaseException | None:
    """What of it is to end more than the call that raised it, if anything is. A `CancelledError` of another loop is not.

    A `Cancelled` where nobody cancels is none: raised again by who kept it, it would cancel the whole system.
    """
    ends = (*_INTERRUPTS, trio.Cancelled) if _is_cancelled() else _INTERRUPTS
    if isinstance(fault, BaseExceptionGroup):
        return fault.split(ends)[0]
    return fault if isinstance(fault, ends) else None


def _is_cancelled() -> bool:
    return trio.lowlevel.in_trio_task() and trio.current_effective_deadline() == -math.inf


def words_of(fault: BaseException, speaking: type[BaseException] | tuple[()] = ()) -> str:
    """What went wrong, in a line: with the name of the error's class, unless it is one that is `speaking` for itself."""
    fault = alone(fault)
    try:
        said = str(fault)
    except BaseException as worse:  # foreign code, down to its words
        if end_in(worse) is not None:
            raise
        said = "(it has no words)"
    return brief(without_surrogates(said if isinstance(fault, speaking) else f"{type(fault).__name__}: {said}"))


async def in_thread(run_foreign: RunSync, function: Callable[[], object]) -> object:
    """A thread cannot be stopped: whoever is cancelled waits a while for it, longer than its caller does, and then leaves it."""
    ended, token = trio.Event(), trio.lowlevel.current_trio_token()

    def whole() -> tuple[object]:
        try:
            return (function(),)  # a coroutine that it gives is for us, and trio would close it
        finally:
            with contextlib.suppress(trio.RunFinishedError):  # everybody has gone home
                token.run_sync_soon(ended.set)

    try:
        return (await run_foreign(whole))[0]
    except trio.Cancelled:
        with trio.move_on_after(2 * LEAVE_AFTER, shield=True):
            await ended.wait()
        raise
