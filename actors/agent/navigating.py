"""A move in the tree that a host asks for (N6)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from sapwood.actors.agent.desk import Desk
from sapwood.actors.agent.under_way import UnderWay
from sapwood.events.commands import Navigate, Navigated
from sapwood.events.requests import NavigateTo, StopNavigation


class Navigating:
    """Those of one session."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.under_way = UnderWay(desk.navigation, lambda key: StopNavigation(key=key), desk.shelf.queues)

    def begin(self, message: Navigate) -> tuple[str, Callable[[], Coroutine[Any, Any, Navigated]]]:
        """A name for it, and what is to be done."""
        key = self.under_way.begin(f"navigate {self._desk.pen.new_id()}")
        return key, lambda: self._navigate(key, message)

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
