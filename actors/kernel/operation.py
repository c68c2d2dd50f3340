"""An operation: a task that answers for an actor, with exactly one outcome.

1. It runs in its asker's context, with the asker's chain and itself on top.
2. When its asker leaves, an operation of the asker's is cancelled, and the asker waits up to the grace for its cleanup; an
   operation of the actor's goes on and its answer is forgotten.
3. An exception is its outcome, never its actor's crash; what is no Exception passes through.
"""

from __future__ import annotations

from typing import Protocol

import trio

from sapwood.actors.kernel.actor import Cancelled, Crashed, Declined, Done, Ended, Outcome, Start
from sapwood.actors.kernel.chain import INNERMOST, Link, Party
from sapwood.actors.kernel.commons import Commons
from sapwood.actors.kernel.errors import Closed, OperationCancelled, OperationCrashed
from sapwood.actors.kernel.mailbox import Call
from sapwood.events.errors import SapwoodError


class Parent(Party, Protocol):
    """The actor that started it."""

    def tell(self, message: object) -> None: ...
    def begin(self, start: Start, call: Call | None) -> Operation: ...
    def ended(self, operation: Operation) -> None: ...


class Operation:
    """One `Start`, running."""

    __slots__ = ("_actor", "_call", "_commons", "_link", "_scope", "_start", "_told", "ended")

    def __init__(self, actor: Parent, start: Start, call: Call | None, commons: Commons) -> None:
        self.ended = trio.Event()
        self._actor = actor
        self._call = call
        self._commons = commons
        self._link = Link(actor, call.link if call is not None else None)
        self._scope = trio.CancelScope()
        self._start = start
        self._told = start.tells

    @property
    def title(self) -> str:
        """Actor and operation, for people."""
        return f"{self._actor.name}/{self._start.name}"

    def launch(self) -> None:
        """Make the task. In a stopping system it starts cancelled, unless an operation's cleanup asked for it."""
        if self._call is not None:
            self._call.operation = self
        if not self._commons.admits(self._link.parent):
            self.cancel("the system stops")
        self._commons.begin()
        self._commons.running[self] = None
        (self._call or self._commons).context.copy().run(self._spawn)

    def cancel(self, reason: str) -> None:
        """Ask it to end."""
        self._scope.cancel(reason)

    def disown(self, error: SapwoodError) -> None:
        """Its actor crashed: cancel it; its asker gets `error`, and nobody is told of its end."""
        self.cancel("its actor crashed")
        self._told = False
        if self._call is not None:
            self._call.refuse(error)
        self._link.parent = None

    def abandon(self) -> None:
        """The grace is over: cancel it once more, and let its asker go."""
        self.cancel("the grace is over")
        if self._call is not None:
            self._call.refuse(Closed(self._commons.name))
        self._link.parent = None

    async def left(self) -> None:
        """The asker left: see rule 2."""
        if self._start.owner == "asker":
            self.cancel("its asker left")
            grace = self._commons.grace if self._start.grace is None else self._start.grace
            with trio.move_on_after(grace, shield=True):
                await self.ended.wait()
        self._link.parent = None

    async def run(self) -> None:
        """The task."""
        outcome: Outcome = Cancelled()
        try:
            outcome = await self._attempt()
            if self._commons.tap is not None:
                outcome = await self._pass_end(outcome)
        finally:
            self._settle(outcome)

    def _spawn(self) -> None:
        INNERMOST.set(self._link)
        self._commons.operations.start_soon(self.run, name=self.title)

    async def _attempt(self) -> Outcome:
        tap = self._commons.tap
        try:
            with self._scope:
                if tap is not None:
                    await tap.operation(self._actor.name, self._start.name, "start")
                return Done(await self._start.operation())
        except SapwoodError as error:
            return Declined(error)
        except Exception as error:  # noqa: BLE001 - whatever foreign code raises is this operation's outcome (rule 3)
            return Crashed(error)
        finally:
            self._link.live = False
        return Cancelled()

    async def _pass_end(self, outcome: Outcome) -> Outcome:
        tap = self._commons.tap
        assert tap is not None  # noqa: S101 - asked only with a tap
        self._scope = trio.CancelScope()  # the operation's own may be spent
        try:
            with self._scope:
                await tap.operation(self._actor.name, self._start.name, "end")
        except Exception as error:  # noqa: BLE001 - the crash injector strikes
            return Crashed(error)
        return outcome

    def _settle(self, outcome: Outcome) -> None:
        if self._call is not None:
            self._answer(self._call, outcome)
        if self._told:
            self._actor.tell(Ended(self._start.name, outcome))
        self._actor.ended(self)
        del self._commons.running[self]
        self.ended.set()
        self._commons.finish()

    def _answer(self, call: Call, outcome: Outcome) -> None:
        match outcome:
            case Done(value):
                call.reply(value)
            case Declined(error):
                call.refuse(error)
            case Crashed(error):
                crash = OperationCrashed(self._actor.name, self._start.name)
                crash.__cause__ = error
                call.refuse(crash)
            case Cancelled():
                call.refuse(OperationCancelled(self._actor.name, self._start.name))
