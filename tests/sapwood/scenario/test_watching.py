"""What is seen of a session while it is played."""

from __future__ import annotations

import trio
import trio.testing

from sapwood import ScriptedAnswer
from sapwood.events.deltas import TextDelta
from sapwood.events.runtime import AgentSettled, AgentStart, MessageUpdate
from sapwood.runtime import RING_EVENTS
from sapwood.scenario.watching import Watcher
from tests.talking import talking


def piece(text: str, call_id: str = "c") -> MessageUpdate:
    return MessageUpdate(call_id=call_id, assistant_message_event=TextDelta(content_index=0, delta=text))


async def test_each_event_bears_the_moment_at_which_it_came(autojump_clock: trio.testing.MockClock) -> None:
    await trio.sleep(100)
    async with talking(ScriptedAnswer(text="late", wait=7)) as session, trio.open_nursery() as nursery:
        watcher = Watcher(session.events())
        nursery.start_soon(watcher.follow)
        await session.prompt("hi")
        await trio.testing.wait_all_tasks_blocked()

        assert {seen.at for seen in watcher.seen} == {0.0, 7.0}
        assert isinstance(watcher.seen[0].event, AgentStart)
        assert (watcher.seen[0].at, watcher.seen[-1].at, watcher.now) == (0.0, 7.0, 7.0)
        assert [seen.n for seen in watcher.seen] == list(range(1, len(watcher.seen) + 1))
        nursery.cancel_scope.cancel()


async def test_pieces_of_one_moment_are_one_event_however_they_were_read(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with talking() as session, trio.open_nursery() as nursery:
        watcher = Watcher(session.events())
        nursery.start_soon(watcher.follow)
        for event in (piece("a"), piece("b"), piece("c")):
            session.feed(event)
            await trio.testing.wait_all_tasks_blocked()
        await trio.sleep(1)
        for one in (piece("d"), piece("e", "other"), AgentSettled(aborted=False), piece("f", "other")):
            session.feed(one)
        await trio.testing.wait_all_tasks_blocked()

        assert [(seen.at, seen.event) for seen in watcher.seen] == [
            (0.0, piece("abc")),
            (1.0, piece("d")),
            (1.0, piece("e", "other")),
            (1.0, AgentSettled(aborted=False)),
            (1.0, piece("f", "other")),
        ]
        nursery.cancel_scope.cancel()


async def test_a_watcher_that_fell_behind_says_so(autojump_clock: trio.testing.MockClock) -> None:
    async with talking() as session, trio.open_nursery() as nursery:
        watcher = Watcher(session.events(since=0))
        for _ in range(RING_EVENTS + 1):
            session.feed(AgentStart())
        nursery.start_soon(watcher.follow)
        await trio.testing.wait_all_tasks_blocked()

        assert watcher.lost
        nursery.cancel_scope.cancel()


async def test_watching_ends_with_the_session(autojump_clock: trio.testing.MockClock) -> None:
    async with trio.open_nursery() as nursery, talking("hi") as session:
        nursery.start_soon(Watcher(session.events()).follow)
        await session.prompt("hi")
