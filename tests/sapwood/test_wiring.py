"""What a session is made of outlives its actors' crashes, and ids are never used twice."""

from __future__ import annotations

from sapwood.actors.kernel.testing import CrashAt
from sapwood.events.ids import EntryId
from tests.build import words
from tests.talking import talking


async def test_actors_are_spawned_in_the_order_in_which_they_may_ask() -> None:
    async with talking() as session:
        actors = session._wiring.system.actors

        assert [*actors] == [
            *("session_log", "exclusion", "inbox", "projection", "handlers", "extensions", "model"),
            *("tools", "compaction", "navigation", "agent", "companions"),
        ]
        names = [*actors]
        for name, ref in actors.items():
            assert all(names.index(asked.name) < names.index(name) for asked in ref.asks)


async def test_the_fold_of_a_projection_that_crashed_is_made_anew_and_is_the_one_that_is_read() -> None:
    async with talking("one", "two", tap=CrashAt("projection", 2)) as session:
        before = session._wiring.fold()
        await session.prompt("a")
        await session.prompt("b")

        assert session._wiring.fold() is not before
        assert [words(message) for message in session.context().messages] == ["a", "one", "b", "two"]


async def test_an_id_that_an_entry_or_a_waiting_input_has_is_not_made_again() -> None:
    async with talking("one") as session:
        handle = session.steer("waits")
        await session.prompt("a")
        used = {entry.id for entry in session.entries()} | {handle.entry_id}

        made = {session._wiring.pen.new_id() for _ in range(500)}

        assert len(made) == 500
        assert not made & used
        assert all(isinstance(one, str) for one in made)
        assert EntryId("") not in made
