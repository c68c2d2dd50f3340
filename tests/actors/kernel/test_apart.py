from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sapwood.actors.kernel import Apart, Closed, OperationCrashed, Ref, Ring, Start, System, WouldDeadlock, open_system
from sapwood.actors.kernel.apart import sealed
from sapwood.actors.kernel.errors import StrayCancelled
from sapwood.actors.kernel.testing import Passed, Recording
from tests.actors.keeping import cancelled_once
from tests.actors.kernel.puppet import Do, Notes, Puppet

GRACE = 0.1


def below(work: Callable[[], Awaitable[object]], parts: list[Apart[object]]) -> Do:
    """An operation that runs this apart, and gives what it comes to."""

    async def whole() -> object:
        part = Apart(work, name="part", grace=GRACE)
        parts.append(part)
        assert not part.begun
        return await part.run()

    return Do(lambda: Start(whole, "work"))


def puppet(system: System) -> Ref:
    return system.spawn("a", Puppet)


async def test_what_it_returns_comes_back() -> None:
    async def give() -> int:
        return 7

    parts: list[Apart[object]] = []
    async with open_system("s", ring=Ring(9)) as system:
        assert await puppet(system).ask(below(give, parts)) == 7
    assert (parts[0].begun, parts[0].running) == (True, False)


async def test_a_refusal_of_it_comes_as_it_is_and_a_crash_of_it_with_its_name() -> None:
    async def refuse() -> None:
        raise Closed("the world")

    async def fail() -> None:
        raise ValueError("oops")

    async with open_system("s", ring=Ring(9)) as system:
        ref = puppet(system)
        with pytest.raises(Closed):
            await ref.ask(below(refuse, []))
        with pytest.raises(OperationCrashed) as caught:
            await ref.ask(below(fail, []))
        assert caught.value.operation == "part"
        assert isinstance(caught.value.__cause__, ValueError)


async def test_who_leaves_waits_for_its_cleanup_up_to_its_grace(autojump_clock: MockClock) -> None:
    cleaned: list[float] = []

    async def tidy() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(GRACE / 2)
            cleaned.append(trio.current_time())

    parts: list[Apart[object]] = []
    async with open_system("s", ring=Ring(9)) as system:
        with trio.move_on_after(1):
            await puppet(system).ask(below(tidy, parts))
        assert cleaned == [pytest.approx(1 + GRACE / 2)]
        assert not parts[0].running


async def test_what_ignores_its_cancellation_is_left_behind_and_named(autojump_clock: MockClock) -> None:
    may_end = trio.Event()

    async def stay() -> None:
        with trio.CancelScope(shield=True):
            await may_end.wait()

    parts: list[Apart[object]] = []
    async with open_system("s", ring=Ring(9), grace=0.5) as system:
        with trio.move_on_after(1) as scope:
            await puppet(system).ask(below(stay, parts))
        assert scope.cancelled_caught
        assert parts[0].running
        assert await system.actors["a"].ask(Notes()) == [], "its actor goes on"
        started = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(system.stop)
            await trio.sleep(0.6)
            assert system.stragglers == ("a/part",)
            may_end.set()
        assert trio.current_time() - started < 1
    assert not parts[0].running


async def test_it_is_left_within_its_own_grace_and_not_the_systems(autojump_clock: MockClock) -> None:
    may_end = trio.Event()

    async def stay() -> None:
        with trio.CancelScope(shield=True):
            await may_end.wait()

    async with open_system("s", ring=Ring(9), grace=30) as system:
        started = trio.current_time()
        with trio.move_on_after(1):
            await puppet(system).ask(below(stay, []))
        assert trio.current_time() - started == pytest.approx(1 + GRACE)
        may_end.set()
        await wait_all_tasks_blocked()


async def test_it_may_not_ask_whoever_waits_for_it() -> None:
    async with open_system("s", ring=Ring(9)) as system:
        ref = puppet(system)

        async def ask_back() -> None:
            await ref.ask(Notes())

        with pytest.raises(WouldDeadlock):
            await ref.ask(below(ask_back, []))


async def test_the_tap_sees_it() -> None:
    async def nothing() -> None:
        pass

    tap = Recording()
    async with open_system("s", ring=Ring(9), tap=tap) as system:
        await puppet(system).ask(below(nothing, []))
    phases = [(one.operation, one.phase) for one in tap.passed if isinstance(one, Passed)]
    assert phases == [("work", "start"), ("part", "start"), ("part", "end"), ("work", "end")]


async def test_outside_of_an_operation_there_is_nothing_to_be_a_part_of() -> None:
    async def nothing() -> None:
        pass

    with pytest.raises(RuntimeError, match="inside one"):
        await Apart(nothing, name="part", grace=GRACE).run()


async def test_a_cancelled_that_it_kept_is_a_crash_with_a_name() -> None:
    """It used to be an IndexError."""
    kept = await cancelled_once()

    async def astray() -> None:
        raise kept

    with pytest.raises(StrayCancelled, match="a cancellation that was not its own"):
        await sealed(astray)
    async with open_system("s", ring=Ring(9)) as system:
        ref = puppet(system)
        with pytest.raises(OperationCrashed) as caught:
            await ref.ask(below(astray, []))
        assert isinstance(caught.value.__cause__, StrayCancelled)
        assert await ref.ask(Notes()) == [], "and cancels nobody"


async def test_a_cancellation_of_its_own_goes_on() -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await sealed(trio.sleep_forever)
    assert scope.cancelled_caught
