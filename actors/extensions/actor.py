"""The shell of the extensions: ask the next handler, take in what came, say what failed."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy

import trio

from sapwood.actors.extensions.extension import Handler, Registered
from sapwood.actors.extensions.handling import AskHandler
from sapwood.actors.extensions.merging import AnyAnswer, Asking, Came, NoAnswer, after
from sapwood.actors.kernel import CRASHES, Actor, Ref, Reply, Start
from sapwood.events.copies import detached
from sapwood.events.hooks import AnyQuestion, SessionShutdown, SessionStart
from sapwood.events.runtime import Diagnostic, Event, ExtensionError


class Extensions(Actor[AnyQuestion]):
    """Owns the order in which handlers are asked. Asked any question; announces which handlers failed, and what was overridden."""

    def __init__(
        self, registered: Registered, handlers: Ref, publish: Callable[[Event], int], once: set[int] | None = None
    ) -> None:
        """`once`: who was told of the beginning and of the end; it outlives a crash."""
        self._registered = registered
        self._handlers = handlers
        self._publish = publish
        self._once = set[int]() if once is None else once

    def handle(self, message: AnyQuestion) -> Reply | Start:
        asked = self._registered.of(type(message))
        if not asked:
            return Reply()
        return Start(lambda: self._ask(message, asked), name=asked[0].event)

    async def _ask(self, question: AnyQuestion, asked: tuple[Handler, ...]) -> AnyAnswer | None:
        asking = Asking(question)
        for handler in asked:
            if isinstance(question, SessionStart | SessionShutdown):
                if not self._is_due(handler):
                    continue
                came = await self._ask_once(handler, question)
            else:
                came = await self._ask_one(handler, asking.question)
            if isinstance(came, NoAnswer):
                self._publish(ExtensionError(extension=handler.extension, event=handler.event, error_message=came.why))
            asking = after(asking, handler.extension, came)
            if asking.over:
                break
        for lost in asking.lost:
            told = f"{asked[0].event}: extension {lost.by!r} overrode what {lost.whose!r} gave as {lost.field}"
            self._publish(
                Diagnostic(
                    code="answer_overridden",
                    message=told,
                    facts={"event": asked[0].event, "field": lost.field, "extension": lost.whose, "by": lost.by},
                )
            )
        return asking.answer

    def _is_due(self, handler: Handler) -> bool:
        """Whether it is to be told now: once, and of the end only where its extension was told of the beginning (H4)."""
        begins = [one for one in self._registered.of(SessionStart) if one.extension == handler.extension]
        began = handler.question is SessionStart or not begins or any(id(one) in self._once for one in begins)
        return began and id(handler) not in self._once

    async def _ask_once(self, handler: Handler, question: AnyQuestion) -> Came:
        """As any other; once more where what was to call it broke before it did."""
        came = await self._ask_one(handler, question, lambda: self._once.add(id(handler)))
        if isinstance(came, NoAnswer) and id(handler) not in self._once:
            came = await self._ask_one(handler, question, lambda: self._once.add(id(handler)))
        return came

    async def _ask_one(self, handler: Handler, question: AnyQuestion, begun: Callable[[], None] = lambda: None) -> Came:
        limit = math.inf if handler.limit is None else handler.limit
        came: Came = NoAnswer(f"it did not come within {limit:g} s")
        with trio.move_on_after(limit):
            try:
                came = await self._handlers.ask(AskHandler(handler, copy(detached(question)), begun))
            except CRASHES as crash:
                came = NoAnswer(str(crash))
        return came
