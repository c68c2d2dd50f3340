"""The handlers of extensions, called one at a time and each as an operation of its own: foreign code.

1. What a handler raises, and what it answers that is no answer, is `NoAnswer`, in words; what it raises is reported too.
2. Whoever asked may leave: the handler is cancelled then. One that does not heed that is left behind; the system names it when it closes.
3. It is called inside the run: one that waits for a command of its own session gets `WouldDeadlock`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import trio

from sapwood.actors.extensions.answers import admitted
from sapwood.actors.extensions.context import ExtensionContext, Life
from sapwood.actors.extensions.extension import Handler
from sapwood.actors.extensions.merging import Came, NoAnswer
from sapwood.actors.foreign import LEAVE_AFTER, Fault, outcome_of
from sapwood.actors.kernel import Actor, Start, sealed
from sapwood.events.asking import Ask
from sapwood.events.hooks import AnyQuestion


class AskHandler(Ask[Came], frozen=True):
    """Ask this handler. The question is its own copy: what it does to that is nobody else's matter."""

    handler: Handler
    question: AnyQuestion
    begun: Callable[[], None] = lambda: None
    """Called when it is called."""


class Handlers(Actor[AskHandler]):
    """Owns the handlers that are at work. Asked to ask one; announces nothing."""

    def __init__(self, life: Life, report: Callable[[str, BaseException], None]) -> None:
        """`report` is told of each fault in the code of an extension: whose, and what it raised."""
        self._life = life
        self._report = report

    def handle(self, message: AskHandler) -> Start:
        handler = message.handler
        return Start(
            lambda: sealed(lambda: self._ask(message)),
            name=f"{handler.event} of extension {handler.extension}",
            grace=LEAVE_AFTER,
        )

    async def _ask(self, asked: AskHandler) -> Came:
        asked.begun()
        question = asked.question
        return await called(
            asked.handler, question, self._life, lambda answer: admitted(question, answer), self._report
        )


async def called(
    handler: Handler,
    heard: object,
    life: Life,
    admit: Callable[[object], Came],
    report: Callable[[str, BaseException], None],
) -> Came:
    """What came of one call of a handler, which `admit` makes ours."""

    async def answer() -> Came:
        began = trio.current_time()
        given = handler.function(heard, ExtensionContext(life, handler.extension))
        held_up = trio.current_time() - began
        if inspect.isawaitable(given):
            given = await given
        elif handler.limit is not None and held_up > handler.limit:
            return NoAnswer(f"it held everything up for {held_up:.3g} s, and has {handler.limit:g} s")
        return admit(given)

    came = await outcome_of(answer, lambda fault: report(handler.extension, fault))
    return NoAnswer(came.words()) if isinstance(came, Fault) else came
