"""Stops that came before what they stop: a model call, the calls of an answer. No I/O.

1. A call that is stopped before it begins is stopped when it begins.
2. A stop that comes after its call has ended is for nobody, and is not kept.
3. It does not grow: the last `MOST` calls that it heard of are remembered.
"""

from __future__ import annotations

from typing import Final

MOST: Final = 256
"""A stop crosses its call on the way: so many others never come between them."""


class Stops:
    """See the module."""

    def __init__(self) -> None:
        self._early: dict[str, bool] = {}
        """Calls that are not under way: whether the call is to be stopped when it begins, or has ended."""

    def __len__(self) -> int:
        """How many calls wait to be stopped."""
        return sum(self._early.values())

    def stop(self, call_id: str) -> None:
        """A call that is not under way is to be stopped."""
        if call_id not in self._early:
            self._remember(call_id, early=True)

    def begins(self, call_id: str) -> bool:
        """Whether the call that begins now was stopped already."""
        return self._early.pop(call_id, False)

    def ended(self, call_id: str) -> None:
        """A call has ended."""
        self._remember(call_id, early=False)

    def _remember(self, call_id: str, *, early: bool) -> None:
        self._early[call_id] = early
        if len(self._early) > MOST:
            del self._early[next(iter(self._early))]
