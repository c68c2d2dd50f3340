"""What an actor is, and what it may answer.

1. `handle` is synchronous: it takes one message, changes the actor's own state, and returns at once.
2. Whatever takes time is an operation, named by `Start`; it ends in exactly one `Outcome`.
3. An exception out of `handle` is a crash, whatever its type; a refusal is returned, not raised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec

from sapwood.events.errors import SapwoodError

M = TypeVar("M")

Owner: TypeAlias = Literal["asker", "actor"]
"""Who an operation belongs to: with the asker it is cancelled when the asker leaves, with the actor it goes on."""


class Reply(msgspec.Struct, frozen=True):
    """The answer is there."""

    value: object = None


class Refuse(msgspec.Struct, frozen=True):
    """The answer is no; `error` is raised to the asker as it is. Nothing was changed."""

    error: SapwoodError


class Start(msgspec.Struct, frozen=True):
    """The answer will be what `operation` comes to. With nobody asking, the operation belongs to the actor."""

    operation: Callable[[], Awaitable[object]]
    name: str
    owner: Owner = "asker"
    tells: bool = False
    """Whether `Ended(name, outcome)` is put into the actor's own mailbox as well."""
    grace: float | None = None
    """Seconds that an asker who leaves waits for its cleanup; None: as many as the system has."""


class Done(msgspec.Struct, frozen=True):
    """The operation returned."""

    value: object = None


class Declined(msgspec.Struct, frozen=True):
    """The operation raised a typed refusal."""

    error: SapwoodError


class Crashed(msgspec.Struct, frozen=True):
    """The operation raised something else."""

    error: Exception


class Cancelled(msgspec.Struct, frozen=True):
    """The operation was cancelled: its asker left, or the system stops."""


Outcome: TypeAlias = Done | Declined | Crashed | Cancelled


class Ended(msgspec.Struct, frozen=True):
    """Told to an actor when an operation of its own, started with `tells=True`, has ended."""

    name: str
    outcome: Outcome


Reaction: TypeAlias = Reply | Refuse | Start | None
"""What `handle` returns. None is for told messages and events only; an ask always gets an answer."""


class Actor(ABC, Generic[M]):
    """Something that owns state and handles one message after the other. Made by a factory, and made again after a crash."""

    @abstractmethod
    def handle(self, message: M) -> Reaction:
        """Take one message. Never waits."""
