"""Foreign code, and what it raises: a provider, a section function. Whatever it is, it is an outcome, unless it ends more than that."""

from __future__ import annotations

import trio

from sapwood.actors.kernel.errors import alone
from sapwood.events.content import without_surrogates


def is_an_end(fault: BaseException) -> bool:
    """Whether it is to end more than the call that raised it. A `CancelledError` of another loop is not."""
    if isinstance(fault, BaseExceptionGroup):
        return any(map(is_an_end, fault.exceptions))
    return isinstance(fault, trio.Cancelled | KeyboardInterrupt | SystemExit)


def words_of(fault: BaseException, speaking: type[BaseException] | tuple[()] = ()) -> str:
    """What went wrong, in a line: with the name of the error's class, unless it is one that is `speaking` for itself."""
    fault = alone(fault)
    try:
        said = str(fault)
    except Exception:  # noqa: BLE001 - foreign code, down to its words
        said = "(it has no words)"
    return without_surrogates(said if isinstance(fault, speaking) else f"{type(fault).__name__}: {said}")
