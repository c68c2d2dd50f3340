"""What a host asks a session for is checked before anything is done; a move is asked for once."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import Refused
from sapwood.actors.kernel.testing import CrashAt
from sapwood.events.errors import SessionBroken, SessionClosed
from tests.sapwood.branching import at, branching, state_of


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"target": 7}, "the target of a move is text"),
        ({"summarize": "yes"}, "summarize is True or False"),
        ({"instructions": 7}, "instructions is text"),
        ({"replace_instructions": 1}, "replace_instructions is True or False"),
        ({"label": b"x"}, "a label is text"),
        ({"answer": ["x"]}, "an answer is text"),
        ({"ask_extensions": None}, "ask_extensions is True or False"),
    ],
)
async def test_what_is_not_what_is_asked_for_is_refused_at_once(given: dict[str, Any], words: str) -> None:
    async with branching() as (session, _):
        before = state_of(session)
        move: dict[str, Any] = {"target": at("a1"), **given}
        with pytest.raises(Refused) as refused:
            await session.navigate(**move)

        assert str(refused.value).startswith(words)
        assert refused.value.reason == "bad-input"
        assert state_of(session) == before


async def test_a_closed_session_goes_nowhere() -> None:
    async with branching() as (session, _):
        await session.close()
        with pytest.raises(SessionClosed):
            await session.navigate(at("a1"))


async def test_a_move_is_not_asked_for_twice_and_a_mark_is() -> None:
    """Asked again it might go on from where the first one ended."""
    async with branching(tap=CrashAt("agent", 1)) as (session, _):
        before = state_of(session)
        with pytest.raises(SessionBroken):
            await session.navigate(at("a1"))
        assert state_of(session) == before
    async with branching(tap=CrashAt("agent", 1)) as (session, _):
        assert await session.label(at("a1"), "ash")


async def test_branches_are_listed_with_labels_and_where_the_session_stands() -> None:
    async with branching("Light.") as (session, _):
        await session.navigate(at("a1"))
        await session.prompt("Spruce?")
        await session.navigate(at("a3"), label="ash")

        old, new = session.branches()
        assert (old.tip, old.label, old.is_active, old.entries) == ("a3", "ash", True, 4)
        assert (new.label, new.is_active, new.entries) == (None, False, 2)
