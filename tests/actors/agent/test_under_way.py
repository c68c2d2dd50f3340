"""What another actor does for the agent can be stopped as a whole, and is waited for."""

from __future__ import annotations

import trio
import trio.testing

from sapwood.actors.agent.under_way import UnderWay
from sapwood.actors.inbox.queues import Queues
from sapwood.actors.kernel import Reply, Ring, open_system
from sapwood.events.asking import Ask
from sapwood.events.commands import Input
from sapwood.events.ids import EntryId
from tests.actors.kernel.puppet import Do, Puppet, crash
from tests.build import MS


async def test_all_that_are_under_way_are_told_and_have_ended_when_the_block_is_left() -> None:
    stopped: list[str] = []

    def stop(key: str) -> Ask[None]:
        def noted() -> Reply:
            stopped.append(key)
            return Reply()

        return Do(noted)

    async with open_system("test", ring=Ring(9)) as system, trio.open_nursery() as nursery:
        under_way = UnderWay(system.spawn("a", Puppet), stop, Queues())
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
        under_way = UnderWay(system.spawn("a", Puppet), crash, Queues())
        with under_way.one("one"):
            pass
        async with under_way.stopped():
            pass


async def test_only_what_was_said_since_one_began_is_news_of_it_and_nothing_behind_one_that_was_stopped() -> None:
    async with open_system("test", ring=Ring(9)) as system:
        queues = Queues()
        under_way = UnderWay(system.spawn("a", Puppet), lambda _: Do(Reply), queues)
        queues.add("steering", Input(entry_id=EntryId("before"), text="before", timestamp=MS))
        quiet, loud, stopped = (under_way.begin(name) for name in ("quiet", "loud", "stopped"))
        assert not under_way.has_news(quiet)

        queues.add("follow_up", Input(entry_id=EntryId("meanwhile"), text="meanwhile", timestamp=MS))
        assert under_way.has_news(loud)
        assert not under_way.has_news(loud), "it has ended once"
        assert not under_way.has_news("another")
        with under_way.one(stopped):
            stopping = under_way.stopped()
            await stopping.__aenter__()
        await stopping.__aexit__(None, None, None)
        assert not under_way.has_news(stopped)
