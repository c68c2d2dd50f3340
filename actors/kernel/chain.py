"""Who waits for whom: the chain of live operations above the running task.

1. Every task that descends from an operation sees it as its innermost link; a link's parent is the operation that asked for it.
2. A link that ended, and one whose asker stopped waiting, holds nobody up: the walk stops there.
3. An ask goes through unless the asked actor waits upstream (`WouldDeadlock`) or was not declared (`UndeclaredAsk`), in this order.
4. Only actors of one system declare whom they ask. An operation of one system may well use another system: it is foreign code there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Final, Protocol

import attrs

from sapwood.actors.kernel.errors import UndeclaredAsk, WouldDeadlock


class Party(Protocol):
    """An actor, as far as the chain knows it."""

    @property
    def name(self) -> str: ...
    @property
    def asks(self) -> Sequence[Party]: ...
    @property
    def system(self) -> object: ...
    @property
    def advice(self) -> str: ...


@attrs.define(eq=False)
class Link:
    """One operation in the chain."""

    actor: Party
    parent: Link | None
    """The operation that waits for this one; None once it no longer does."""
    live: bool = True


INNERMOST: Final[ContextVar[Link | None]] = ContextVar("sapwood.innermost_operation", default=None)


def innermost() -> Link | None:
    """The live operation that the running code belongs to, if any."""
    link = INNERMOST.get()
    return link if link is not None and link.live else None


def upstream(link: Link | None) -> Iterator[Link]:
    """The link itself, and every live operation that waits for it."""
    while link is not None and link.live:
        yield link
        link = link.parent


def check(link: Link | None, asked: Party) -> None:
    """May code below `link` ask this actor? Raises WouldDeadlock or UndeclaredAsk."""
    guard(link, asked)
    if (
        link is not None
        and link.actor.system is asked.system
        and not any(declared is asked for declared in link.actor.asks)
    ):
        raise UndeclaredAsk(link.actor.name, asked.name)


def guard(link: Link | None, asked: Party) -> None:
    """May code below `link` wait for this actor at all? Raises WouldDeadlock."""
    if link is not None and any(above.actor is asked for above in upstream(link)):
        raise WouldDeadlock(link.actor.name, asked.name, asked.advice)
