from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sapwood.actors.kernel import (
    ActorCrashed,
    ActorFailed,
    Closed,
    Ended,
    Refuse,
    Reply,
    Ring,
    Start,
    insist,
    open_system,
)
from sapwood.actors.kernel.cell import CALM, RESTARTS
from sapwood.actors.kernel.mailbox import ROOM
from tests.actors.kernel.puppet import Do, Note, Notes, Puppet, crash


async def outcome(ask: Any, into: list[object]) -> None:
    """Ask in a task of its own, and keep what came of it."""
    try:
        into.append(await ask())
    except trio.Cancelled:
        into.append("cancelled")
        raise
    except Exception as error:  # noqa: BLE001 - whatever comes is what the test looks at
        into.append(error)


async def test_an_actor_is_made_at_its_first_message() -> None:
    made: list[Puppet] = []

    def factory() -> Puppet:
        made.append(Puppet())
        return made[-1]

    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", factory)
        await wait_all_tasks_blocked()
        assert made == []
        await ref.ask(Notes())
        await ref.ask(Notes())
        assert len(made) == 1


async def test_a_refusal_is_raised_as_it_is_and_the_actor_lives_on() -> None:
    error = Closed("the shop")
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(Note(1))
        with pytest.raises(Closed) as caught:
            await ref.ask(Do(lambda: Refuse(error)))
        assert caught.value is error
        assert await ref.ask(Notes()) == [1]


async def test_a_crash_is_answered_with_its_cause() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        with pytest.raises(ActorCrashed) as caught:
            await system.spawn("a", Puppet).ask(crash("poison"))
        assert (caught.value.actor, caught.value.message) == ("a", "Do")
        assert str(caught.value.__cause__) == "poison"


async def test_a_crash_answers_waiting_asks_and_keeps_what_was_told_in_order() -> None:
    got: list[object] = []
    async with open_system("s", ring=Ring(9)) as system, trio.open_nursery() as nursery:
        ref = system.spawn("a", Puppet)
        ref.tell(Note("lost with its incarnation"))
        ref.tell(crash())
        ref.tell(Note(1))
        for _ in range(2):
            nursery.start_soon(outcome, partial(ref.ask, Notes()), got)
        await trio.lowlevel.cancel_shielded_checkpoint()
        ref.tell(Note(2))
        await wait_all_tasks_blocked()
        assert await ref.ask(Notes()) == [1, 2]
    assert {type(one) for one in got} <= {ActorCrashed, list}


async def test_asks_behind_a_crash_are_answered(nursery: trio.Nursery) -> None:
    got: list[object] = []
    gate = trio.Event()

    class Gate:
        async def receipt(self, receipt: object) -> Any:
            await gate.wait()
            return "handle"

        async def operation(self, actor: str, operation: str, phase: object) -> None:
            pass

    async with open_system("s", ring=Ring(9), tap=Gate()) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(crash())
        for n in range(3):
            ref.tell(Note(n))
            nursery.start_soon(outcome, partial(ref.ask, Notes()), got)
        await wait_all_tasks_blocked()
        gate.set()
        await wait_all_tasks_blocked()
        assert [type(one) for one in got] == [ActorCrashed] * 3
        assert await ref.ask(Notes()) == [0, 1, 2]


async def test_an_ask_that_gets_no_answer_is_a_crash() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        with pytest.raises(ActorCrashed) as caught:
            await system.spawn("a", Puppet).ask(Do(lambda: None))
        assert isinstance(caught.value.__cause__, TypeError)


async def test_an_answer_that_is_none_of_the_four_is_a_crash() -> None:
    wrong: Any = 5
    async with open_system("s", ring=Ring(9)) as system:
        with pytest.raises(ActorCrashed):
            await system.spawn("a", Puppet).ask(Do(lambda: wrong))


async def test_an_answer_to_what_was_told_goes_nowhere() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(Do(lambda: Reply(1)))
        ref.tell(Do(lambda: Refuse(Closed("it"))))
        assert await ref.ask(Notes()) == []


async def test_an_asker_that_leaves_before_its_turn_withdraws_the_message() -> None:
    done: list[str] = []

    def act() -> Reply:
        done.append("handled")
        return Reply()

    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        with trio.CancelScope() as scope:
            scope.cancel()
            await ref.ask(Do(act))
        await wait_all_tasks_blocked()
        assert done == []


async def test_an_ask_waits_while_the_mailbox_is_full_and_withdraws_from_there(nursery: trio.Nursery) -> None:
    gate, scope, got = trio.Event(), trio.CancelScope(), list[object]()

    class Gate:
        async def receipt(self, receipt: object) -> Any:
            await gate.wait()
            return "handle"

        async def operation(self, actor: str, operation: str, phase: object) -> None:
            pass

    async with open_system("s", ring=Ring(9), tap=Gate()) as system:
        ref = system.spawn("a", Puppet)
        for n in range(2 * ROOM):
            ref.tell(Note(n))

        async def leaving() -> None:
            with scope:
                await outcome(partial(ref.ask, crash()), got)

        nursery.start_soon(leaving)
        nursery.start_soon(outcome, partial(ref.ask, Notes()), got)
        await wait_all_tasks_blocked()
        scope.cancel()
        ref.tell(Note("last"))
        gate.set()
        await wait_all_tasks_blocked()
    assert got == ["cancelled", [*range(2 * ROOM), "last"]]


async def test_a_restart_waits_until_the_old_operations_cleaned_up(autojump_clock: MockClock) -> None:
    ended: list[float] = []

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
            ended.append(trio.current_time())

    async with open_system("s", ring=Ring(9), grace=2) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(Do(lambda: Start(work, "work", tells=True)))
        ref.tell(crash())
        await wait_all_tasks_blocked()
        assert not any(isinstance(note, Ended) for note in await ref.ask(Notes()))
        assert ended == [pytest.approx(1)]


async def test_an_actor_beyond_its_restart_limit_is_dead_and_leaving_raises_one_error() -> None:
    crashes: list[type] = []

    async def block() -> None:
        async with open_system("s", ring=Ring(9)) as system:
            ref = system.spawn("a", Puppet)
            got: list[object] = []
            for _ in range(RESTARTS):
                await outcome(partial(ref.ask, crash()), got)
            crashes.extend(type(one) for one in got)
            with pytest.raises(ActorFailed) as caught:
                await ref.ask(crash("the last"))
            assert str(caught.value.__cause__) == "the last"
            with pytest.raises(ActorFailed):
                await ref.ask(Notes())
            ref.tell(Note("in vain"))
            assert await system.spawn("b", Puppet).ask(Notes()) == []

    with pytest.raises(ActorFailed) as raised:
        await block()
    assert crashes == [ActorCrashed] * RESTARTS
    assert raised.value.actor == "a"
    assert isinstance(raised.value.__cause__, ValueError)


async def test_what_a_crash_answered_does_not_hold_up_the_stop(autojump_clock: MockClock) -> None:
    got: list[object] = []
    async with trio.open_nursery() as nursery, open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)

        async def flood() -> None:
            for _ in range(3):
                nursery.start_soon(outcome, partial(ref.ask, Notes()), got)
            await trio.lowlevel.checkpoint()

        ref.tell(Do(lambda: Start(flood, "flood")))
        await wait_all_tasks_blocked()
        for _ in range(20):
            ref.tell(Note(1))
        nursery.start_soon(outcome, partial(ref.ask, crash()), got)
        for _ in range(3):
            nursery.start_soon(outcome, partial(ref.ask, Notes()), got)
        await wait_all_tasks_blocked()
    assert len(got) == 7
    assert trio.current_time() == 0


async def test_crashes_are_forgiven_after_calm() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        for _ in range(3 * RESTARTS):
            ref.tell(crash())
            for n in range(CALM):
                ref.tell(Note(n))
        await wait_all_tasks_blocked()
        assert len(await ref.ask(Notes())) == CALM


async def test_a_factory_that_fails_is_a_crash_and_tried_again() -> None:
    fails = [ValueError("not yet")]

    def factory() -> Puppet:
        if fails:
            raise fails.pop()
        return Puppet()

    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", factory)
        ref.tell(Note("kept"))
        assert await insist(ref, Notes()) == ["kept"]


async def test_a_factory_that_always_fails_ends_in_one_failure() -> None:
    def factory() -> Puppet:
        raise ValueError("never")

    async def block() -> None:
        async with open_system("s", ring=Ring(9)) as system:
            ref = system.spawn("a", factory)
            with pytest.raises(ActorCrashed) as caught:
                await ref.ask(Notes())
            assert caught.value.message == "its factory"
            await wait_all_tasks_blocked()
            with pytest.raises(ActorFailed):
                await ref.ask(Notes())

    with pytest.raises(ActorFailed):
        await block()
