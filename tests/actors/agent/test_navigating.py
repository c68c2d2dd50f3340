"""Whether something was said while a move went on: only then does a run begin behind it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sapwood.actors.agent.navigating import Navigating
from sapwood.actors.inbox import Shelf
from sapwood.events.commands import Input, Navigate
from sapwood.events.ids import EntryId
from tests.build import MS
from tests.sapwood.branching import at, branching


def desk(shelf: Shelf) -> Any:
    """What it looks at."""
    ids = iter("abcdef")
    return SimpleNamespace(shelf=shelf, navigation=None, pen=SimpleNamespace(new_id=lambda: EntryId(next(ids))))


def said(name: str) -> Input:
    return Input(entry_id=EntryId(name), text=name, timestamp=MS)


def test_each_has_a_name_of_its_own_and_what_waited_before_it_is_no_news() -> None:
    shelf = Shelf()
    shelf.queues.add("steering", said("before"))
    navigating = Navigating(desk(shelf))
    one, _ = navigating.begin(Navigate(target=at("a1")))
    two, _ = navigating.begin(Navigate(target=None))

    assert one != two
    assert [navigating.under_way.has_news(name) for name in (one, two)] == [False, False]


async def test_it_is_asked_with_the_sessions_present_model() -> None:
    async with branching() as (session, provider):
        await session.navigate(at("a1"), summarize=True)

        assert provider.requests[0].model == session.model
