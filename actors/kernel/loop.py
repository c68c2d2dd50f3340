"""The loop that something lives on: one `trio.run`, in one thread. Whoever touches it from elsewhere breaks it.

1. What waits is done on the loop, or refused (`WrongThread`) before anything is touched.
2. What does not wait may be called from any thread that has no loop of its own: it is done on the loop, and the thread waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import trio

from sapwood.actors.kernel.errors import WrongThread

T = TypeVar("T")


class Loop:
    """The loop on which it is made."""

    __slots__ = ("_thread", "_token")

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._token = trio.lowlevel.current_trio_token()

    @property
    def here(self) -> bool:
        """Whether the running code is on it."""
        try:
            return trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            return False

    def check(self) -> None:
        """Raises WrongThread for code that is not on it."""
        if not self.here:
            raise WrongThread

    def call(self, work: Callable[[], T]) -> T:
        """Do a thing that does not wait, see rule 2. Raises WrongThread on another loop, and once this one is over."""
        if self.here:
            return work()
        # a guest's thread belongs to its host between two steps: waiting in it for the loop would be for ever
        if trio.lowlevel.in_trio_run() or threading.get_ident() == self._thread:
            raise WrongThread
        try:
            return trio.from_thread.run_sync(work, trio_token=self._token)
        except trio.RunFinishedError:
            raise WrongThread from None
