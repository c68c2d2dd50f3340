"""A run that was asked for, and how it is stopped."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from sapwood import CompactionFailed, ScriptedAnswer, Session
from sapwood.actors.agent.one_run import Run, Runs
from sapwood.actors.session_log.run_log import RunLog
from sapwood.events.ids import EntryId
from sapwood.events.requests import CompactNow, StopCompaction
from tests.build import MODEL
from tests.compacting import conversation, summary
from tests.talking import talking


def a_run(session: Session) -> Run:
    return Run(EntryId("r"), RunLog(session._wiring.pen))


async def test_what_is_asked_for_in_a_stopped_run_does_not_begin() -> None:
    async with conversation(summary()) as talk:
        run = a_run(talk.session)
        await run.stop()

        asked = CompactNow(key="k", entry_id=EntryId("k1"), reason="manual", model=MODEL)
        with pytest.raises(CompactionFailed, match="cancelled"):
            await run.ask(talk.actor("compaction"), asked, StopCompaction(key="k"))

        assert talk.requests() == []


async def test_what_is_under_way_ends_when_the_run_is_stopped(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(ScriptedAnswer(text=summary(), wait=1000)) as talk:
        run = a_run(talk.session)

        async def ask() -> None:
            asked = CompactNow(key="k", entry_id=EntryId("k1"), reason="manual", model=MODEL)
            with pytest.raises(CompactionFailed, match="cancelled"):
                await run.ask(talk.actor("compaction"), asked, StopCompaction(key="k"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await trio.sleep(1)
            await run.stop()

        assert run.stopped
        assert talk.compactions() == []


async def test_nobody_idles_in_a_stopped_run(autojump_clock: trio.testing.MockClock) -> None:
    async with talking() as session:
        run = a_run(session)
        async with trio.open_nursery() as nursery:
            with run.idle():
                nursery.start_soon(run.stop)
                await trio.sleep(100)
        with run.idle() as scope:
            await trio.sleep(100)

        assert scope.cancelled_caught
        assert trio.current_time() < 1


async def test_an_abort_stops_all_and_waits_for_those_that_had_begun(autojump_clock: trio.testing.MockClock) -> None:
    async with talking() as session:
        runs = Runs(session._wiring.pen)
        begun, waiting = runs.new(EntryId("a")), runs.new(EntryId("b"))
        begun.begun = True

        async def end() -> None:
            await trio.sleep(5)
            runs.end(begun)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(end)
            await runs.abort()

        assert trio.current_time() == 5
        assert (begun.stopped, waiting.stopped) == (True, True)
        runs.end(waiting)
        await runs.abort()


async def test_who_holds_runs_holds_them_until_all_have_decided(autojump_clock: trio.testing.MockClock) -> None:
    async with talking() as session:
        runs = Runs(session._wiring.pen)
        run = runs.new(EntryId("a"))
        cleared: list[float] = []

        async def clear() -> None:
            await run.clear()
            cleared.append(trio.current_time())

        async with trio.open_nursery() as nursery:
            with runs.held():
                with runs.held():
                    nursery.start_soon(clear)
                    await trio.sleep(2)
                await trio.sleep(3)
            await trio.sleep(4)
        await clear()

        assert cleared == [5, 9]


@pytest.mark.parametrize("first", ["held", "stopped"])
async def test_a_run_that_is_stopped_is_held_by_nobody(first: str, autojump_clock: trio.testing.MockClock) -> None:
    async with talking() as session:
        runs = Runs(session._wiring.pen)
        run = runs.new(EntryId("a"))
        if first == "stopped":
            await run.stop()
        with runs.held():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run.clear)
                await trio.sleep(1)
                await run.stop()

        assert trio.current_time() == 1
