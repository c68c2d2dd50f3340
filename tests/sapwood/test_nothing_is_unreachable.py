"""However one moves, what was left can be found and is what it was, and a restart stands where the session stood (S6, N1)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import trio.testing

from sapwood import Session, read
from sapwood.events.messages import Message
from tests.sapwood.branching import at, branching, position_of

MOVES = 200


def is_tip(session: Session) -> bool:
    return position_of(session) in {branch.tip for branch in session.branches()}


async def wander(session: Session, chance: random.Random) -> dict[str, tuple[Message, ...]]:
    """Move at random, and say something now and then; what each tip showed when it was left."""
    left: dict[str, tuple[Message, ...]] = {}
    for _ in range(MOVES):
        position = position_of(session)
        if position is not None and is_tip(session):
            left[position] = session.context().messages
        target = chance.choice([None, *(entry.id for entry in session.entries())])
        await session.navigate(
            target, summarize=chance.random() < 0.2, label=chance.choice([None, "here"]) if target else None
        )
        if chance.random() < 0.3:
            await session.prompt("And?")
    return left


@pytest.mark.slow
async def test_each_former_tip_is_there_and_shows_what_it_did(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    chance = random.Random(7)  # noqa: S311 - the same walk each time
    path = tmp_path / "s.jsonl"
    async with branching(*(f"answer {nth}" for nth in range(300)), summaries=["Found."] * 900, where=path) as (
        session,
        _,
    ):
        await session.prompt("Which wood?")
        left = await wander(session, chance)
        assert len(left) > 20
        tree = session.tree()
        tips = {branch.tip for branch in session.branches()}
        for tip, messages in left.items():
            place = tree.index(tip)
            assert place is not None
            if tip not in tips:  # somebody went on from it
                assert any(tree.is_ancestor(place, tree.index(one) or 0) for one in tips)
            await session.navigate(at(tip))
            assert session.context().messages == messages
            assert position_of(session) == tip
        assert tips == {branch.tip for branch in session.branches()}
        context, position = session.context(), position_of(session)

    with read(path) as again:
        assert again.context().messages == context.messages
        assert again.context().leaf == context.leaf
    async with branching(where=path) as (session, _):
        assert position_of(session) == position
        assert [branch.tip for branch in session.branches() if branch.is_active] in ([position], [])


async def test_a_leaf_that_was_moved_is_there_after_a_restart_and_each_append_moves_it_on(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with branching("One.", "Two.", where=path) as (session, _):
        await session.prompt("First.")
        await session.prompt("Second.")
        first = session.entries()[1].id
        await session.navigate(first)
    before = path.read_bytes()

    async with branching("Three.", where=path) as (session, _):
        assert path.read_bytes() == before
        assert position_of(session) == first
        await session.prompt("Third.")
        assert session.context().leaf == session.entries()[-1].id
        assert [message.role for message in session.context().messages] == ["user", "assistant", "user", "assistant"]
