from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sapwood.actors.kernel import (
    ActorCrashed,
    Cancelled,
    Closed,
    Crashed,
    Declined,
    Done,
    Ended,
    OperationCancelled,
    OperationCrashed,
    Ring,
    Start,
    open_system,
)
from sapwood.actors.kernel.actor import Owner
from tests.actors.kernel.puppet import Do, Note, Notes, Puppet, crash


def start(operation: Callable[[], Awaitable[object]], *, owner: Owner = "asker", tells: bool = False) -> Do:
    return Do(lambda: Start(operation, "work", owner=owner, tells=tells))


async def give() -> int:
    return 7


async def refuse() -> None:
    raise Closed("the world")


async def fail() -> None:
    raise ValueError("oops")


async def forever() -> None:
    await trio.sleep_forever()


async def test_what_an_operation_returns_is_the_answer() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        assert await system.spawn("a", Puppet).ask(start(give)) == 7


async def test_a_typed_refusal_is_raised_as_it_is() -> None:
    error = Closed("the world")

    async def raising() -> None:
        raise error

    async with open_system("s", ring=Ring(9)) as system:
        with pytest.raises(Closed) as caught:
            await system.spawn("a", Puppet).ask(start(raising))
        assert caught.value is error


async def test_a_crashed_operation_is_its_outcome_and_its_actor_lives_on() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(Note("before"))
        with pytest.raises(OperationCrashed) as caught:
            await ref.ask(start(fail))
        assert (caught.value.actor, caught.value.operation) == ("a", "work")
        assert isinstance(caught.value.__cause__, ValueError)
        assert await ref.ask(Notes()) == ["before"]


async def test_the_actor_is_told_of_the_end_when_it_wishes() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        for operation in (give, refuse, fail):
            ref.tell(start(operation, tells=True))
        await wait_all_tasks_blocked()
        notes = await ref.ask(Notes())
    outcomes = {type(note.outcome): note for note in notes if isinstance(note, Ended)}
    assert outcomes.keys() == {Done, Declined, Crashed}
    assert outcomes[Done] == Ended("work", Done(7))


async def test_the_mailbox_goes_on_while_an_operation_runs(nursery: trio.Nursery) -> None:
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        nursery.start_soon(ref.ask, start(forever))
        await wait_all_tasks_blocked()
        assert await ref.ask(Notes()) == []
        nursery.cancel_scope.cancel()


async def test_an_askers_operation_is_cancelled_when_the_asker_leaves_and_has_ended_by_then() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
            ended.append("cleaned")

    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ref.ask, start(work, tells=True))
                await wait_all_tasks_blocked()
                scope.cancel()
        assert ended == ["cleaned"]
        assert await ref.ask(Notes()) == [Ended("work", Cancelled())]


async def test_an_actors_operation_goes_on_when_its_asker_leaves() -> None:
    go = trio.Event()

    async def work() -> str:
        await go.wait()
        return "made"

    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ref.ask, start(work, owner="actor", tells=True))
                await wait_all_tasks_blocked()
                scope.cancel()
        go.set()
        await wait_all_tasks_blocked()
        assert await ref.ask(Notes()) == [Ended("work", Done("made"))]


async def test_an_asker_that_leaves_waits_for_a_deaf_operation_up_to_the_grace(autojump_clock: MockClock) -> None:
    async def deaf() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(10)

    async with open_system("s", ring=Ring(9), grace=2) as system:
        ref = system.spawn("a", Puppet)
        with trio.move_on_after(1):
            await ref.ask(start(deaf))
        assert trio.current_time() == pytest.approx(3)
    assert trio.current_time() == pytest.approx(10)


async def test_an_operation_that_is_cancelled_by_the_stop_answers_so(nursery: trio.Nursery) -> None:
    caught: list[Exception] = []
    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)

        async def ask() -> None:
            with pytest.raises(OperationCancelled) as error:
                await ref.ask(start(forever))
            caught.append(error.value)

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
    await wait_all_tasks_blocked()
    assert len(caught) == 1


async def test_an_actors_crash_cancels_its_operations_and_answers_their_askers(nursery: trio.Nursery) -> None:
    ended, caught = list[str](), list[BaseException | None]()

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("work")

    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)

        async def ask() -> None:
            with pytest.raises(ActorCrashed) as error:
                await ref.ask(start(work, tells=True))
            caught.append(error.value.__cause__)

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        ref.tell(crash("poison"))
        await wait_all_tasks_blocked()
        assert ended == ["work"]
        assert [str(error) for error in caught] == ["poison"]
        assert await ref.ask(Notes()) == []


async def test_an_operation_runs_in_its_askers_context() -> None:
    bound: ContextVar[str] = ContextVar("bound", default="nothing")

    async def look() -> str:
        return bound.get()

    async with open_system("s", ring=Ring(9)) as system:
        ref = system.spawn("a", Puppet)
        bound.set("asker")
        assert await ref.ask(start(look)) == "asker"
        ref.tell(start(look, tells=True))
        await wait_all_tasks_blocked()
        assert await ref.ask(Notes()) == [Ended("work", Done("nothing"))]


async def test_an_operation_may_be_ended_by_its_actors_own_scope() -> None:
    scope = trio.CancelScope()

    async def work() -> str:
        with scope:
            await trio.sleep_forever()
        return "aborted"

    async with open_system("s", ring=Ring(9)) as system, trio.open_nursery() as nursery:
        ref = system.spawn("a", Puppet)
        got: list[object] = []

        async def ask() -> None:
            got.append(await ref.ask(start(work)))

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        scope.cancel()
        await wait_all_tasks_blocked()
        assert got == ["aborted"]
