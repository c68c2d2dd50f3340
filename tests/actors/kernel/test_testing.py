from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from sapwood.actors.kernel import ActorCrashed, OperationCrashed, Reply, Ring, Start, open_system
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.kernel.testing import (
    Counting,
    CrashAt,
    DropAll,
    InjectedCrash,
    Passed,
    Recording,
    Seeded,
    StrikeAt,
    Together,
)
from tests.actors.kernel.puppet import Do, Note, Notes, Puppet


async def work() -> int:
    return 7


async def test_a_recording_keeps_what_passed() -> None:
    recording = Recording()
    async with open_system("s", ring=Ring(9), tap=recording) as system:
        await system.spawn("a", Puppet).ask(Do(lambda: Start(work, "work")))
    assert recording.passed[1:] == [Passed("a", "work", "start"), Passed("a", "work", "end")]


async def test_an_actor_is_crashed_at_its_nth_receipt_and_only_there() -> None:
    async with open_system("s", ring=Ring(9), tap=CrashAt("a", 2)) as system:
        ref = system.spawn("a", Puppet)
        assert await ref.ask(Notes()) == []
        with pytest.raises(ActorCrashed) as caught:
            await ref.ask(Notes())
        assert isinstance(caught.value.__cause__, InjectedCrash)
        assert await ref.ask(Notes()) == []


@pytest.mark.parametrize("phase", ["start", "end"])
async def test_an_operation_is_broken_at_its_start_or_its_end_and_only_there(phase: Phase) -> None:
    async with open_system("s", ring=Ring(9), tap=StrikeAt("a", 2, phase)) as system:
        ref = system.spawn("a", Puppet)
        done: list[int] = []

        async def noted() -> int:
            done.append(1)
            return 7

        assert await ref.ask(Do(lambda: Start(noted, "work"))) == 7
        with pytest.raises(OperationCrashed):
            await ref.ask(Do(lambda: Start(noted, "work")))
        assert await ref.ask(Do(lambda: Start(noted, "work"))) == 7
    assert len(done) == (2 if phase == "start" else 3)


async def test_what_was_counted_can_be_struck_one_by_one() -> None:
    counting = Counting()
    async with open_system("s", ring=Ring(9), tap=counting) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(Note(1))
        await ref.ask(Do(lambda: Start(work, "work")))
    assert counting.moments == 4
    assert counting.strikes() == [
        CrashAt("a", 1),
        CrashAt("a", 2),
        StrikeAt("a", 1, "end"),
        StrikeAt("a", 1, "start"),
    ]


async def test_all_messages_of_a_type_are_dropped() -> None:
    async with open_system("s", ring=Ring(9), tap=DropAll((Note,))) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(Note(1))
        ref.tell("kept")
        assert await ref.ask(Notes()) == ["kept"]


async def test_taps_together_see_everything_and_one_drop_is_enough() -> None:
    before, after = Recording(), Recording()
    async with open_system("s", ring=Ring(9), tap=Together(before, DropAll((Note,)), after)) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(Note(1))
        assert await ref.ask(Notes()) == []
        await ref.ask(Do(lambda: Start(work, "work")))
    assert before.passed == after.passed
    assert len(before.passed) == 5


async def race(seed: int) -> list[str]:
    """Three actors append to one list, twice each, by message and by operation."""
    order: list[str] = []

    def note(name: str) -> Reply:
        order.append(name)
        return Reply()

    def start(name: str) -> Do:
        async def operation() -> None:
            order.append(f"{name} works")

        return Do(lambda: Start(operation, "work"))

    async with open_system("s", ring=Ring(9), tap=Seeded(seed)) as system, trio.open_nursery() as nursery:
        for name in ("a", "b", "c"):
            ref = system.spawn(name, Puppet)
            ref.tell(Do(lambda name=name: note(name)))  # type: ignore[misc]
            nursery.start_soon(ref.ask, start(name))
    return order


def test_one_seed_is_one_order_and_many_seeds_are_many() -> None:
    orders = {seed: trio.run(race, seed) for seed in range(12)}
    for seed, order in orders.items():
        assert trio.run(race, seed) == order
    assert len({tuple(order) for order in orders.values()}) > 3


async def test_a_seeded_schedule_survives_the_cancellation_of_whoever_leads(autojump_clock: MockClock) -> None:
    async with open_system("s", ring=Ring(9), tap=Seeded(1)) as system:
        refs = [system.spawn(name, Puppet) for name in ("a", "b", "c")]
        for _ in range(3):
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    for ref in refs:
                        nursery.start_soon(ref.ask, Do(lambda: Start(trio.sleep_forever, "work")))
                    for _ in range(3):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
        with trio.fail_after(1):
            for ref in refs:
                assert await ref.ask(Notes()) == []
