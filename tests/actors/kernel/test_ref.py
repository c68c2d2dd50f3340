from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from sapwood.actors.kernel import (
    ActorCrashed,
    Closed,
    Inquiry,
    Ref,
    Reply,
    Ring,
    Start,
    System,
    UndeclaredAsk,
    WouldDeadlock,
    insist,
    open_system,
)
from tests.actors.kernel.puppet import Do, Note, Notes, Puppet, crash


def asking(*refs: Ref) -> Do:
    """Start an operation that asks the first to ask the second to ask the third ..."""

    async def ask() -> object:
        first, *rest = refs
        return await first.ask(asking(*rest) if rest else Notes())

    return Do(lambda: Start(ask, "asking"))


async def test_an_operation_asks_what_its_actor_declared() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        log = system.spawn("log", Puppet)
        run = system.spawn("run", Puppet, asks=(log,))
        assert await run.ask(asking(log)) == []
        assert run.asks == (log,)


async def test_an_undeclared_ask_is_refused() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        log, run = system.spawn("log", Puppet), system.spawn("run", Puppet)
        with pytest.raises(UndeclaredAsk) as caught:
            await run.ask(asking(log))
        assert (caught.value.asker, caught.value.asked) == ("run", "log")


async def test_an_ask_back_up_the_chain_would_deadlock() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        log = system.spawn("log", Puppet)
        run = system.spawn("run", Puppet, asks=(log,), advice="ask somebody else")
        with pytest.raises(WouldDeadlock) as caught:
            await run.ask(asking(log, run))
        assert (caught.value.asker, caught.value.asked) == ("log", "run")
        assert str(caught.value).endswith("(run), for ever: ask somebody else")
        with pytest.raises(WouldDeadlock):
            await run.ask(asking(run))


async def test_a_task_below_an_operation_has_its_chain_and_a_task_that_outlives_it_is_free() -> None:
    got: list[object] = []

    async def probe(run: Ref, go: trio.Event) -> None:
        try:
            await run.ask(Notes())
        except WouldDeadlock as error:
            got.append(error.asked)
        await go.wait()
        got.append(await run.ask(Notes()))

    async with open_system("s", ring=Ring(9)) as system, trio.open_nursery() as foreign:
        run, go = system.spawn("run", Puppet), trio.Event()

        async def work() -> None:
            foreign.start_soon(probe, run, go)
            await wait_all_tasks_blocked()

        await run.ask(Do(lambda: Start(work, "work")))
        go.set()
    assert got == ["run", []]


async def test_an_operation_whose_asker_left_may_ask_the_askers_actor() -> None:
    left, got = trio.Event(), list[object]()
    async with open_system("s", ring=Ring(9)) as system:
        run_ref: list[Ref] = []

        async def work() -> None:
            await left.wait()
            try:
                got.append(await run_ref[0].ask(Notes()))
            except UndeclaredAsk as error:
                got.append(error.asked)

        log = system.spawn("log", Puppet)
        run = system.spawn("run", Puppet, asks=(log,))
        run_ref.append(run)

        async def leave_early() -> None:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(log.ask, Do(lambda: Start(work, "work", owner="actor")))
                    await wait_all_tasks_blocked()
                    scope.cancel()
            left.set()
            await wait_all_tasks_blocked()

        await run.ask(Do(lambda: Start(leave_early, "leaving")))
    assert got == ["run"]


async def test_an_actor_may_be_told_from_anywhere() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        log, run = system.spawn("log", Puppet), system.spawn("run", Puppet)

        async def work() -> None:
            log.tell(Note("told"))
            run.tell(Note("myself"))

        await run.ask(Do(lambda: Start(work, "work")))
        assert (await log.ask(Notes()), await run.ask(Notes())) == (["told"], ["myself"])


async def test_insisting_asks_once_more_after_a_crash_and_only_once() -> None:
    crashes = [ValueError("1")]

    def act() -> Reply:
        if crashes:
            raise crashes.pop()
        return Reply("second try")

    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        assert await insist(ref, Do(act)) == "second try"
        with pytest.raises(ActorCrashed):
            await insist(ref, crash())


async def test_insisting_does_not_repeat_what_another_actor_did_not_survive() -> None:
    tries: list[int] = []
    async with open_system("s", ring=Ring(9)) as system:
        log = system.spawn("log", Puppet)
        run = system.spawn("run", Puppet, asks=(log,))

        async def work() -> None:
            tries.append(1)
            await log.ask(crash())

        with pytest.raises(ActorCrashed) as caught:
            await insist(run, Do(lambda: Start(work, "work")))
    assert (caught.value.actor, tries) == ("log", [1])


async def test_nothing_is_asked_or_told_after_the_system_was_left() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
    with pytest.raises(Closed):
        await ref.ask(Notes())
    with pytest.raises(Closed):
        ref.tell(Note(1))


def names(system: System) -> list[str]:
    return [ref.name for ref in system.actors.values()]


async def test_a_ref_says_who_it_is() -> None:
    async with open_system("house", ring=Ring(9)) as system:
        assert repr(system.spawn("a", Puppet)) == "<Ref house/a>"
        assert names(system) == ["a"]


async def test_an_inquiry_is_asked_at_once_and_answered_to_whoever_waits_later() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        log = system.spawn("log", Puppet)
        first = Inquiry(log, Do(lambda: Reply(1)))
        await wait_all_tasks_blocked()

        assert await log.ask(Do(lambda: Reply(2))) == 2
        assert await first.come() == 1
        assert await first.come() == 1


async def test_an_inquiry_is_put_once_more_after_a_crash_and_before_what_is_asked_later() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        log = system.spawn("log", Puppet)
        order: list[int] = []

        def noting(n: int) -> Do:
            def act() -> Reply:
                order.append(n)
                return Reply(n)

            return Do(act)

        log.ask_soon(crash(), lambda _: None)
        inquiries = [Inquiry(log, noting(n)) for n in range(3)]

        assert [await one.come() for one in inquiries] == order == [0, 1, 2]


async def test_an_inquiry_of_a_closed_system_is_refused_to_whoever_waits() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        log = system.spawn("log", Puppet)
    with pytest.raises(Closed):
        await Inquiry(log, Notes()).come()


async def test_a_crash_answers_what_began_first_before_what_was_in_hand() -> None:
    answered: list[str] = []

    async def forever() -> None:
        await trio.sleep_forever()

    async with open_system("s", ring=Ring(9)) as system:
        log = system.spawn("log", Puppet)
        log.ask_soon(Do(lambda: Start(forever, "forever", owner="actor")), lambda _: answered.append("operation"))
        log.ask_soon(crash(), lambda _: answered.append("in hand"))
        log.ask_soon(Notes(), lambda _: answered.append("behind"))
        await wait_all_tasks_blocked()
    assert answered == ["operation", "in hand", "behind"]
