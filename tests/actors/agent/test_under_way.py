"""What another actor does for the agent can be stopped as a whole, and is waited for."""

from __future__ import annotations

import trio
import trio.testing

from sapwood.actors.agent.under_way import UnderWay
from sapwood.actors.kernel import Reply, Ring, open_system
from sapwood.events.asking import Ask
from tests.actors.kernel.puppet import Do, Puppet, crash


async def test_all_that_are_under_way_are_told_and_have_ended_when_the_block_is_left() -> None:
    stopped: list[str] = []

    def stop(key: str) -> Ask[None]:
        def noted() -> Reply:
            stopped.append(key)
            return Reply()

        return Do(noted)

    async with open_system("test", ring=Ring(9)) as system, trio.open_nursery() as nursery:
        under_way = UnderWay(system.spawn("a", Puppet), stop)
        ends = trio.Event()
        ended: list[str] = []

        async def work(key: str) -> None:
            with under_way.one(key):
                await ends.wait()
            ended.append(key)

        nursery.start_soon(work, "one")
        nursery.start_soon(work, "two")
        await trio.testing.wait_all_tasks_blocked()
        async with under_way.stopped():
            assert sorted(stopped) == ["one", "two"]
            assert ended == []
            ends.set()
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(ended) == ["one", "two"]


async def test_what_has_ended_is_told_nothing() -> None:
    async with open_system("test", ring=Ring(9)) as system:
        under_way = UnderWay(system.spawn("a", Puppet), crash)
        with under_way.one("one"):
            pass
        async with under_way.stopped():
            pass
