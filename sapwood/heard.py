"""Who hears what a host does with a session: a recorder, or nobody."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Heard(Protocol):
    """Who hears what a host does: who records a session."""

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


class Unheard:
    """Nobody hears it."""

    async def rest(self) -> None:
        pass

    def hosting(self) -> AbstractContextManager[None]:
        return nullcontext()

    def host(self, value: object) -> int:  # noqa: ARG002 - the port's
        return 0

    def left(self, number: int) -> None:
        pass
