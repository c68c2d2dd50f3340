"""How an actor is reached from outside: tell and ask.

1. `tell` is synchronous and never waits. `ask` waits for the one answer; cancelled, it leaves nothing behind that it owns.
2. Where an ask would close a circle, was not declared, or comes from another thread, it is refused at once and nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar, cast

import trio

from sapwood.actors.kernel.cell import Cell
from sapwood.actors.kernel.chain import check, guard, innermost
from sapwood.actors.kernel.commons import Commons
from sapwood.actors.kernel.errors import ActorCrashed, Closed
from sapwood.actors.kernel.mailbox import Call, Then
from sapwood.events.asking import Ask
from sapwood.events.errors import SapwoodError

T = TypeVar("T")


class Ref:
    """One actor of a system, over all its incarnations. Made by `System.spawn` only."""

    __slots__ = ("_cell", "_commons", "asks", "name")

    def __init__(self, cell: Cell, asks: tuple[Ref, ...], commons: Commons) -> None:
        self.name = cell.name
        self.asks = asks
        """The actors that its operations may ask."""
        self._cell = cell
        self._commons = commons

    def __repr__(self) -> str:
        return f"<Ref {self._commons.name}/{self.name}>"

    def tell(self, message: object) -> None:
        """Put a message into the mailbox. A failed actor is told in vain. Raises Closed once the system was left, and WrongThread."""
        self._commons.loop.check()
        if self._commons.phase == "closed":
            raise Closed(self._commons.name)
        self._cell.tell(message)

    def guard(self) -> None:
        """Raises WouldDeadlock if the running code is part of what this actor waits for: then nobody may wait for it here.

        Raises WrongThread where nobody may wait for it either.
        """
        self._commons.loop.check()
        guard(innermost(), self._cell)

    def ask_soon(self, message: Ask[object], then: Then) -> None:
        """Put a question without waiting: `then` is called once, with None for a reply or with the error that `ask` would raise.

        It is nobody's question: it is not cancelled with whoever puts it, and cannot close a circle. `then` must not raise. Raises
        WrongThread.
        """
        self.put(message, then)

    def put(self, message: Ask[object], then: Then) -> Call:
        """As `ask_soon`, and what is waited at for the answer."""
        self._commons.loop.check()
        call = Call(None, copy_context(), then)
        try:
            self._cell.ask(message, call)
        except SapwoodError as error:
            call.refuse(error)
        return call

    async def ask(self, message: Ask[T]) -> T:
        """Put a question and wait for its answer.

        Raises what the actor refuses with, and ActorCrashed, ActorFailed, OperationCrashed, OperationCancelled, Closed,
        WouldDeadlock, UndeclaredAsk, WrongThread. Cancelled before the message was handled, the message is withdrawn; cancelled later, the
        operation that works on it is cancelled too if it belongs to the asker, which then waits for it up to the grace.
        """
        self._commons.loop.check()
        link = innermost()
        check(link, self._cell)
        call = Call(link, copy_context())
        self._cell.ask(message, call)
        return cast("T", await call.answer())


class Inquiry(Generic[T]):
    """The answer to what is asked here and now, for whoever waits for it later: nobody's question, as with `ask_soon`.

    As with `insist` it is asked once more if that very actor crashed before it answered: before whatever is asked later.
    """

    def __init__(self, ref: Ref, message: Ask[T]) -> None:
        self._ref = ref
        self._message = message
        self._there = trio.Event()
        self._call = self._ask(again=True)

    async def come(self) -> T:
        """Wait for it. Raises what `ask` would raise, but for circles: there are none."""
        await self._there.wait()
        return cast("T", await self._call.answer())

    def _ask(self, *, again: bool) -> Call:
        def answered(error: BaseException | None) -> None:
            if again and isinstance(error, ActorCrashed) and error.actor == self._ref.name:
                self._call = self._ask(again=False)
            else:
                self._there.set()

        return self._ref.put(self._message, answered)


async def insist(ref: Ref, message: Ask[T]) -> T:
    """Ask, and once more if that very actor crashed before it answered. Only for what may be done twice."""
    return await insist_anew(ref, lambda: message)


async def insist_anew(ref: Ref, make: Callable[[], Ask[T]]) -> T:
    """The same with a message that is made for each time."""
    try:
        return await ref.ask(make())
    except ActorCrashed as crash:
        if crash.actor != ref.name:
            raise
    return await ref.ask(make())
