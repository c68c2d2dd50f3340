"""The handlers of extensions, called one at a time and each as an operation of its own: foreign code.

1. What a handler raises, and what it answers that is no answer, is `NoAnswer`, in words; what it raises is reported too.
2. Whoever asked may leave: the handler is cancelled then. One that does not heed that is left behind; the system names it when it closes.
3. It is called inside the run: one that waits for a command of its own session gets `WouldDeadlock`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import attrs
import trio

from sapwood.actors.extensions.answers import admitted
from sapwood.actors.extensions.extension import ExtensionContext, Handler
from sapwood.actors.extensions.merging import Came, NoAnswer
from sapwood.actors.foreign import LEAVE_AFTER, Fault, outcome_of
from sapwood.actors.kernel import Actor, Start, sealed
from sapwood.events.asking import Ask
from sapwood.events.hooks import AnyQuestion


class AskHandler(Ask[Came], frozen=True):
    """Ask this handler. The question is its own copy: what it does to that is nobody else's matter."""

    handler: Handler
    question: AnyQuestion


class Handlers(Actor[AskHandler]):
    """Owns the handlers that are at work. Asked to ask one; announces nothing."""

    def __init__(self, context: ExtensionContext, report: Callable[[str, BaseException], None]) -> None:
        """`report` is told of each fault in the code of an extension: whose, and what it raised."""
        self._context = context
        self._report = report

    def handle(self, message: AskHandler) -> Start:
        handler = message.handler
        return Start(
            lambda: sealed(lambda: self._ask(handler, message.question)),
            name=f"{handler.event} of extension {handler.extension}",
            grace=LEAVE_AFTER,
        )

    async def _ask(self, handler: Handler, question: AnyQuestion) -> Came:
        came = await outcome_of(
            lambda: self._answer(handler, question), lambda fault: self._report(handler.extension, fault)
        )
        return NoAnswer(came.words()) if isinstance(came, Fault) else came

    async def _answer(self, handler: Handler, question: AnyQuestion) -> Came:
        began = trio.current_time()
        answer = handler.function(question, attrs.evolve(self._context))
        held_up = trio.current_time() - began
        if inspect.isawaitable(answer):
            answer = await answer
        elif handler.limit is not None and held_up > handler.limit:
            return NoAnswer(f"it held everything up for {held_up:.3g} s, and has {handler.limit:g} s")
        return admitted(question, answer)
