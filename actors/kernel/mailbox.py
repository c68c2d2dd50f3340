"""A mailbox: one order for events, tells and asks.

1. Events and tells never wait and are never lost; an ask waits outside while `ROOM` or more messages are pending.
2. An asker that leaves before its message was handled withdraws it: it is never handled.
3. An ask is answered at most once; what comes after the first answer, or after the asker left, is ignored.
"""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Final, Protocol, TypeAlias

import attrs
import trio

from sapwood.actors.kernel.chain import Link

ROOM: Final = (
    256  # some 10 ms of handling at 40 us a message: whoever is further behind is flooded, and askers should feel it
)


Then: TypeAlias = Callable[[BaseException | None], None]
"""What follows an answer: None for a reply, else what the asker would have been raised."""


class Leavable(Protocol):
    """The operation that works on an ask."""

    async def left(self) -> None:
        """The asker left."""


class Call:
    """One ask, from its question to its one answer."""

    __slots__ = ("_answered", "_error", "_then", "_value", "context", "left", "link", "operation")

    def __init__(self, link: Link | None, context: Context, then: Then | None = None) -> None:
        self.link = link
        """The operation that asks, if one does."""
        self.context = context
        """What the operation that answers runs in a copy of."""
        self.operation: Leavable | None = None
        self.left = False
        self._answered = trio.Event()
        self._then = then
        """Told of the answer by a plain call; what it raises is a crash of whoever answered, so it must not."""
        self._value: object = None
        self._error: BaseException | None = None

    @property
    def open(self) -> bool:
        """Whether somebody still waits for an answer."""
        return not self.left and not self._answered.is_set()

    def reply(self, value: object) -> None:
        """Answer."""
        if self.open:
            self._value = value
            self._answered.set()
            if self._then is not None:
                self._then(None)

    def refuse(self, error: BaseException) -> None:
        """Answer with an error, raised to the asker as it is."""
        if self.open:
            self._error = error
            self._answered.set()
            if self._then is not None:
                self._then(error)

    async def answer(self) -> object:
        """Wait for the answer. Cancelled, it withdraws the question, or lets the operation that works on it know."""
        try:
            await self._answered.wait()
        except BaseException:
            self.left = True
            if self.operation is not None:
                await self.operation.left()
            raise
        if self._error is not None:
            raise self._error
        return self._value


@attrs.frozen(eq=False)
class Envelope:
    """A message on its way, and the call that it asks for, if it asks."""

    message: object
    call: Call | None = None


class Mailbox:
    """What one actor has to handle. Only its actor takes."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[Envelope](math.inf)
        self._outside: deque[Envelope] = deque()
        self._pending = 0

    def put(self, envelope: Envelope) -> None:
        """Take it in; an ask stays outside while the mailbox is full."""
        if envelope.call is not None and self._pending >= ROOM:
            self._outside.append(envelope)
        else:
            self._admit(envelope)

    async def take(self) -> Envelope:
        """The next message, withdrawn ones too."""
        envelope = await self._receive.receive()
        self._pending -= 1
        self._refill()
        return envelope

    def purge(self) -> list[Envelope]:
        """Take out the asks that are inside; what was told stays, in order."""
        inside = [self._receive.receive_nowait() for _ in range(self._pending)]
        self._pending = 0
        for envelope in inside:
            if envelope.call is None:
                self._admit(envelope)
        self._refill()
        return [envelope for envelope in inside if envelope.call is not None]

    def empty(self) -> list[Envelope]:
        """Take out everything, those outside as well."""
        everything: list[Envelope] = []
        with contextlib.suppress(trio.WouldBlock):  # what is just being taken is counted, but no longer inside
            while True:
                everything.append(self._receive.receive_nowait())
        everything.extend(self._outside)
        self._pending = 0
        self._outside.clear()
        return everything

    def _admit(self, envelope: Envelope) -> None:
        self._send.send_nowait(envelope)
        self._pending += 1

    def _refill(self) -> None:
        while self._outside and self._pending < ROOM:
            self._admit(self._outside.popleft())
