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


def test_only_what_was_said_since_it_was_asked_for_is_news() -> None:
    shelf = Shelf()
    shelf.queues.add("steering", said("before"))
    navigating = Navigating(desk(shelf))
    quiet, _ = navigating.begin(Navigate(target=at("a1")))
    assert not navigating.has_news(quiet)
    name, _ = navigating.begin(Navigate(target=at("a1")))
    shelf.queues.add("follow_up", said("meanwhile"))

    assert navigating.has_news(name)
    assert navigating.has_news("another operation"), "of which nothing was noted"


def test_nothing_that_waits_is_no_news() -> None:
    navigating = Navigating(desk(Shelf()))
    name, _ = navigating.begin(Navigate(target=None))

    assert not navigating.has_news(name)
    assert not navigating.has_news("compact")


async def test_it_is_asked_with_the_sessions_present_model() -> None:
    async with branching() as (session, provider):
        await session.navigate(at("a1"), summarize=True)

        assert provider.requests[0].model == session.model
