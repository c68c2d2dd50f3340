"""Asks the extensions, for whoever has a question to them: it costs nothing where nobody is to be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from sapwood.actors.kernel import CRASHES, Ref
from sapwood.events.hooks import Question

A = TypeVar("A")


@attrs.frozen(kw_only=True)
class Questions:
    """Those of one session."""

    has: Callable[[type[Question[Any]]], bool]
    """Whether anybody is to be asked such a one."""
    extensions: Ref
    """Whoever asks this has to tell what breaks from what says nothing."""

    async def ask(self, question: Question[A]) -> A | None:
        """What the answers come to. None: nobody is asked, nobody says anything, or what was to ask them broke (H2)."""
        if not self.has(type(question)):
            return None
        try:
            return await self.extensions.ask(question)
        except CRASHES:
            return None
