"""The actor of navigation in a session: its lease, its stops, its one write, and whom it asks in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from sapwood import Refused, ScriptedAnswer, Session, StaleLeaf, StoreError
from sapwood.actors.kernel import OperationCrashed
from sapwood.actors.kernel.tap import Receipt
from sapwood.actors.kernel.testing import CrashAt, Recording, StrikeAt
from sapwood.actors.navigation.actor import CANCELLED
from sapwood.events.commands import Navigated
from sapwood.events.errors import NavigationFailed, ReadOnly
from sapwood.events.requests import NavigateTo, StopNavigation
from sapwood.events.runtime import Diagnostic, SessionTree
from tests.actors.navigation.asked import asked
from tests.build import usage
from tests.sapwood.branching import FOUND, at, branching, position_of, state_of
from tests.talking import drain


async def ask(session: Session, message: NavigateTo) -> Navigated:
    return await session._wiring.system.actors["navigation"].ask(message)


async def test_it_takes_the_tree_and_gives_it_back() -> None:
    async with branching() as (session, _):
        moved = await ask(session, asked("a1"))

        assert moved.leaf == session._wiring.view.leaf
        assert session.state == "idle"


@pytest.mark.parametrize("holder", ["run", "compaction", "navigation"])
async def test_while_somebody_has_the_tree_nothing_is_asked_or_written(holder: Any) -> None:
    tap = Recording()
    async with branching(tap=tap) as (session, _):
        session._wiring.lease.grant(holder, "other")
        before = state_of(session)
        tap.passed.clear()
        with pytest.raises(Refused) as refused:
            await ask(session, asked("a1"))

        assert refused.value.reason == "busy"
        assert state_of(session) == before
        assert [one.actor for one in tap.passed if isinstance(one, Receipt)] == ["navigation", "exclusion"]
        session._wiring.lease.release("other")


async def test_it_asks_in_order_and_the_news_is_the_last() -> None:
    tap = Recording()
    async with branching(tap=tap) as (session, _):
        tap.passed.clear()
        await ask(session, asked("a1", summarize=True))

        came = [(one.actor, type(one.message).__name__) for one in tap.passed if isinstance(one, Receipt)]
        assert [one for one in came if one[1] != "EntryAppended"] == [
            ("navigation", "NavigateTo"),
            ("exclusion", "Acquire"),
            ("session_log", "CatchUp"),
            ("projection", "Select"),
            ("model", "Generate"),
            ("session_log", "Append"),
            ("projection", "Select"),
        ]


@pytest.mark.parametrize("early", [True, False])
async def test_a_stop_comes_through_before_it_begins_and_while_it_goes_on(
    early: bool, autojump_clock: trio.testing.MockClock
) -> None:
    async with branching(summaries=[ScriptedAnswer(text=FOUND, wait=9)]) as (session, _):
        before = state_of(session)
        actor = session._wiring.system.actors["navigation"]
        failed: list[NavigationFailed] = []

        async def move() -> None:
            with pytest.raises(NavigationFailed) as stopped:
                await ask(session, asked("a1", summarize=True))
            failed.append(stopped.value)

        async with trio.open_nursery() as nursery:
            if early:
                await actor.ask(StopNavigation(key="k"))
            nursery.start_soon(move)
            if not early:
                await trio.sleep(1)
                await actor.ask(StopNavigation(key="k"))
        assert [(str(one), one.aborted) for one in failed] == [(CANCELLED, True)]
        assert state_of(session) == before


async def test_whoever_leaves_stops_it(autojump_clock: trio.testing.MockClock) -> None:
    async with branching(summaries=[ScriptedAnswer(text=FOUND, wait=9)]) as (session, _):
        before = state_of(session)
        with trio.move_on_after(1) as scope:
            await ask(session, asked("a1", summarize=True))

        assert scope.cancelled_caught
        assert state_of(session) == before


async def test_a_crash_of_the_projection_behind_the_write_changes_nothing_of_what_is_told() -> None:
    """It used to be that what is in the log was not told."""
    for tap in (CrashAt("projection", 2), CrashAt("projection", 3)):
        async with branching(tap=tap) as (session, _):
            reader = session.events()
            moved = await ask(session, asked("a1"))

            told = [event for event in drain(reader) if isinstance(event, SessionTree)]
            assert [one.new_leaf_id for one in told] == [moved.leaf]
            assert position_of(session) == "a1"


async def test_one_that_breaks_leaves_the_tree_free() -> None:
    async with branching(tap=StrikeAt("navigation", 1, "start")) as (session, _):
        before = state_of(session)
        with pytest.raises(OperationCrashed):
            await ask(session, asked("a1"))

        assert state_of(session) == before
        await ask(session, asked("a1"))
        assert position_of(session) == "a1"


async def test_a_session_that_can_only_be_read_asks_nobody(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with branching("One.", where=path) as (session, _):
        await session.prompt("First.")
        first = session.entries()[0].id
    before = path.read_bytes()
    async with branching(where=path, read_only=True) as (session, provider):
        with pytest.raises(ReadOnly):
            await session.navigate(first, summarize=True)

        assert not provider.requests
    assert path.read_bytes() == before


async def test_a_disk_that_refuses_is_told_at_once_and_nothing_moved() -> None:
    async with branching() as (session, _):
        store: Any = session._wiring.view._store
        before = state_of(session)

        def refuse(lines: object) -> None:
            raise StoreError("the disk is full")

        stage, store.stage = store.stage, refuse
        with pytest.raises(StoreError, match="the disk is full"):
            await session.navigate(at("a1"))
        store.stage = stage

        assert state_of(session) == before


async def test_a_label_that_stands_nowhere_is_told() -> None:
    async with branching("Yes.") as (session, _):
        await session.navigate(at("u1"))
        await session.prompt("Other?")
        await session.edit(session.entries()[-1].id, None)
        await session.edit(session.entries()[-3].id, None)
        reader = session.events()
        await session.navigate(None, summarize=True, label="lost")

        assert [event.code for event in drain(reader) if isinstance(event, Diagnostic)] == ["label_dropped"]


@pytest.mark.parametrize("summarize", [True, False])
async def test_where_one_is_already_nothing_happens_and_a_label_is_told_of(*, summarize: bool) -> None:
    """It used to be dropped in silence. N1 lets nothing happen; no extension is asked, who might have refused the label (N6)."""
    async with branching() as (session, provider):
        before, reader = state_of(session), session.events()
        await session.navigate(at("a3"), summarize=summarize, label="here")

        assert (state_of(session), provider.requests) == (before, [])
        [told] = drain(reader)
        assert isinstance(told, Diagnostic)
        assert (told.code, told.message) == (
            "label_dropped",
            "the label 'here' stands nowhere: the session is where the move ends already. `label` marks an entry without one",
        )


@pytest.mark.parametrize("said", [True, False])
async def test_what_is_said_on_the_old_branch_meanwhile_makes_it_stale_and_bookkeeping_does_not(
    said: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """A summary of less than what is left would be one of another branch (S6)."""
    slow = ScriptedAnswer(text=FOUND, wait=9, usage=usage(5))
    async with branching(summaries=[slow]) as (session, _), trio.open_nursery() as nursery:
        came: list[object] = []

        async def move() -> None:
            try:
                came.append(await ask(session, asked("a1", summarize=True)))
            except StaleLeaf as stale:
                came.append(stale)

        nursery.start_soon(move)
        await trio.sleep(1)
        last = await session.edit(at("a2"), None) if said else await session.append_custom("state")
        await trio.sleep(60)

        [outcome] = came
        if said:
            assert isinstance(outcome, StaleLeaf)
            assert (outcome.expected, outcome.actual) == ("a3", last)
            assert position_of(session) == last
            assert session.tree().of_kind("branch_summary") == ()
        else:
            assert isinstance(outcome, Navigated)
            assert outcome.summary is not None
            assert outcome.summary.from_id == last, "the leaf as it was left"
        assert session.stats().by_purpose["branch_summary"].input == 5
