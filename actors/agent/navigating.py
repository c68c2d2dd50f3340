"""A move in the tree that a host asks for, and what is said meanwhile (N6, R3)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from sapwood.actors.agent.desk import Desk
from sapwood.actors.agent.under_way import UnderWay
from sapwood.events.commands import Input, Navigate, Navigated
from sapwood.events.ids import EntryId
from sapwood.events.requests import NavigateTo, StopNavigation


class Navigating:
    """Those of one session."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.under_way = UnderWay(desk.navigation, lambda key: StopNavigation(key=key))
        self._waited: dict[str, frozenset[EntryId]] = {}
        """What waited to be said before each of them."""

    def begin(self, message: Navigate) -> tuple[str, Callable[[], Coroutine[Any, Any, Navigated]]]:
        """A name for it, and what is to be done. What waits in the queues now goes on waiting, whatever comes of it."""
        key = f"navigate {self._desk.pen.new_id()}"
        self._waited[key] = frozenset(one.entry_id for one in self._queued())
        return key, lambda: self._navigate(key, message)

    def has_news(self, name: str) -> bool:
        """Whether something was said while the operation of this name went on. Asked once, when it has ended."""
        waited = self._waited.pop(name, frozenset[EntryId]())
        return any(one.entry_id not in waited for one in self._queued())

    def _queued(self) -> tuple[Input, ...]:
        queued = self._desk.shelf.queues.present()
        return (*queued.steering, *queued.follow_up)

    async def _navigate(self, key: str, message: Navigate) -> Navigated:
        desk = self._desk
        asked = NavigateTo(
            key=key,
            target=message.target,
            model=desk.chosen.model,
            summarize=message.summarize,
            instructions=message.instructions,
            replace_instructions=message.replace_instructions,
            label=message.label,
            answer=message.answer,
            ask_extensions=message.ask_extensions,
        )
        with self.under_way.one(key):
            return await desk.navigation.ask(asked)
