"""A cell: one actor's name, mailbox, operations and present incarnation.

1. The actor and its task are made when the first message arrives.
2. A crash answers the message in hand, the asks in the mailbox and the running operations with `ActorCrashed`, keeps what was
   told, lets the operations clean up for at most the grace, and makes a new actor.
3. `RESTARTS` crashes are forgiven, and all of them once `CALM` messages were handled in between; then the actor is dead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, assert_never

import trio

from sapwood.actors.kernel.actor import Actor, Refuse, Reply, Start
from sapwood.actors.kernel.commons import Commons
from sapwood.actors.kernel.errors import ActorCrashed, ActorFailed, Closed
from sapwood.actors.kernel.mailbox import Call, Envelope, Mailbox
from sapwood.actors.kernel.operation import Operation
from sapwood.actors.kernel.tap import Receipt
from sapwood.events.errors import SapwoodError

RESTARTS: Final = (
    5  # a poisonous event heard once or twice is outlived; a state that cannot be rebuilt shows within a handful
)
CALM: Final = 100  # more messages than any one turn brings: whoever handled them has recovered


class Cell:
    """What a `Ref` stands for."""

    __slots__ = (
        "_commons",
        "_crashes",
        "_factory",
        "_failed",
        "_handled",
        "_mailbox",
        "_operations",
        "_receipts",
        "advice",
        "asks",
        "name",
    )

    def __init__(
        self, name: str, factory: Callable[[], Actor[Any]], asks: Sequence[Cell], commons: Commons, advice: str
    ) -> None:
        self.name = name
        self.asks = asks
        self.advice = advice
        """What who asks from inside of its operations is to do instead."""
        self._commons = commons
        self._factory = factory
        self._failed: Exception | None = None
        self._mailbox: Mailbox | None = None
        self._operations: dict[Operation, None] = {}
        self._crashes = 0
        self._handled = 0
        self._receipts = 0

    @property
    def system(self) -> Commons:
        """What it is a part of."""
        return self._commons

    def ask(self, message: object, call: Call) -> None:
        """Put a question. Raises Closed or ActorFailed."""
        if not self._commons.admits(call.link):
            raise Closed(self._commons.name)
        if self._failed is not None:
            raise self._blame("", self._failed)
        self._put(Envelope(message, call))

    def tell(self, message: object) -> None:
        """Put a message. What a failed or closed actor is told goes nowhere: its end was announced."""
        if self._failed is None and self._commons.phase != "closed":
            self._put(Envelope(message))

    def begin(self, start: Start, call: Call | None) -> Operation:
        """Begin an operation of this actor, for whoever waits for its answer."""
        operation = Operation(self, start, call, self._commons)
        self._operations[operation] = None
        operation.launch()
        return operation

    def ended(self, operation: Operation) -> None:
        """An operation is over."""
        self._operations.pop(operation, None)

    def close(self) -> None:
        """Answer everything pending with Closed."""
        for envelope in self._mailbox.empty() if self._mailbox is not None else ():
            if envelope.call is not None:
                envelope.call.refuse(Closed(self._commons.name))

    async def live(self) -> None:
        """The actor's task: one incarnation after the other."""
        while self._failed is None:
            actor = self._make()
            if actor is not None:
                await self._serve(actor)
            with trio.move_on_after(self._commons.grace):
                for operation in tuple(self._operations):
                    await operation.ended.wait()

    async def _serve(self, actor: Actor[Any]) -> None:
        """Handle messages until one of them is a crash."""
        assert self._mailbox is not None  # noqa: S101 - the task is made with the mailbox
        tapped = self._commons.tap is not None
        while True:
            envelope = await self._mailbox.take()
            try:
                if not tapped or await self._passes(envelope):
                    self._handle(actor, envelope)
            except Exception as error:  # noqa: BLE001 - a crash is any exception
                self._crash(type(envelope.message).__name__, error, envelope.call)
                return
            except BaseException:
                if envelope.call is not None:
                    envelope.call.refuse(Closed(self._commons.name))
                raise
            finally:
                self._commons.finish()

    async def _passes(self, envelope: Envelope) -> bool:
        """Show the receipt to the tap."""
        call, tap = envelope.call, self._commons.tap
        if tap is None or (call is not None and call.left):
            return True
        self._receipts += 1
        if await tap.receipt(Receipt(self.name, envelope.message, self._receipts)) == "handle":
            return True
        if call is not None:
            call.refuse(ActorCrashed(self.name, type(envelope.message).__name__, dropped=True))
        return False

    def _handle(self, actor: Actor[Any], envelope: Envelope) -> None:
        call = envelope.call
        if call is not None and call.left:
            return
        answer = actor.handle(envelope.message)
        self._handled += 1
        match answer:
            case Start():
                self.begin(answer, call)
            case Reply(value):
                if call is not None:
                    call.reply(value)
            case Refuse(error):
                if call is not None:
                    call.refuse(error)
            case None:
                if call is not None:
                    raise TypeError(f"{self.name} returned no answer to {type(envelope.message).__name__}")
            case _:
                assert_never(answer)

    def _make(self) -> Actor[Any] | None:
        try:
            return self._factory()
        except Exception as error:  # noqa: BLE001 - a factory that raises is a crash too
            self._crash("its factory", error, None)
            return None

    def _crash(self, message: str, error: Exception, call: Call | None) -> None:
        assert self._mailbox is not None  # noqa: S101 - only a cell with a task crashes
        self._crashes = 1 if self._handled >= CALM else self._crashes + 1
        self._handled = 0
        if self._crashes > RESTARTS:
            self._failed = error
            self._commons.failure = self._commons.failure or self._failure(error)
        # first taken out, then answered: whoever asks again on its answer asks the new incarnation
        out = self._mailbox.empty() if self._failed is not None else self._mailbox.purge()
        for operation in self._operations:  # what came first is answered first
            operation.disown(self._blame(message, error))
        if call is not None:
            call.refuse(self._blame(message, error))
        for envelope in out:
            if envelope.call is not None:
                envelope.call.refuse(self._blame(message, error))
        self._commons.finish(len(out))

    def _put(self, envelope: Envelope) -> None:
        self._commons.begin()
        if self._mailbox is None:
            self._mailbox = Mailbox()
            self._commons.context.copy().run(self._spawn)
        self._mailbox.put(envelope)

    def _spawn(self) -> None:
        self._commons.actors.start_soon(self.live, name=self.name)

    def _blame(self, message: str, error: Exception) -> SapwoodError:
        if self._failed is not None:
            return self._failure(self._failed)
        crash = ActorCrashed(self.name, message)
        crash.__cause__ = error
        return crash

    def _failure(self, error: Exception) -> ActorFailed:
        failure = ActorFailed(self.name)
        failure.__cause__ = error
        return failure
