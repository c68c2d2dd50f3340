from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from sapwood.actors.kernel import ActorCrashed, OperationCrashed, Receipt, Ring, Start, Verdict, open_system
from sapwood.actors.kernel.tap import Phase
from tests.actors.kernel.puppet import Do, Note, Notes, Puppet


class Watch:
    """A tap that does what a test says at each point."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.at_receipt: Callable[[Receipt], Awaitable[Verdict]] | None = None
        self.at_operation: Callable[[Phase], Awaitable[None]] | None = None

    async def receipt(self, receipt: Receipt) -> Verdict:
        self.seen.append((receipt.actor, receipt.message, receipt.n))
        return "handle" if self.at_receipt is None else await self.at_receipt(receipt)

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        self.seen.append((actor, operation, phase))
        if self.at_operation is not None:
            await self.at_operation(phase)


async def work() -> int:
    return 7


WORK = Do(lambda: Start(work, "work"))


async def test_every_receipt_and_every_operation_passes() -> None:
    tap = Watch()
    async with open_system("s", ring=Ring(9), tap=tap) as system:
        ref = system.spawn("a", Puppet, hears=(str,))
        ref.tell(Note(1))
        system.publish("event")
        assert await ref.ask(WORK) == 7
    assert tap.seen == [
        ("a", Note(1), 1),
        ("a", "event", 2),
        ("a", WORK, 3),
        ("a", "work", "start"),
        ("a", "work", "end"),
    ]


async def test_waiting_in_a_receipt_holds_the_actor_back_and_an_asker_may_still_leave() -> None:
    tap, gate = Watch(), trio.Event()

    async def hold(receipt: Receipt) -> Verdict:
        await gate.wait()
        return "handle"

    tap.at_receipt = hold
    async with open_system("s", ring=Ring(9), tap=tap) as system:
        ref = system.spawn("a", Puppet)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ref.ask, WORK)
                await wait_all_tasks_blocked()
                scope.cancel()
        gate.set()
        assert await ref.ask(Notes()) == []
    assert ("a", "work", "start") not in tap.seen


async def test_a_dropped_ask_is_answered() -> None:
    tap = Watch()

    async def drop(receipt: Receipt) -> Verdict:
        return "drop"

    tap.at_receipt = drop
    async with open_system("s", ring=Ring(9), tap=tap) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(Note(1))
        with pytest.raises(ActorCrashed) as caught:
            await ref.ask(Notes())
        assert caught.value.dropped
        tap.at_receipt = None
        assert await ref.ask(Notes()) == []


@pytest.mark.parametrize("at", ["start", "end"])
async def test_raising_at_an_operation_is_its_crash(at: Phase) -> None:
    tap = Watch()

    async def strike(phase: Phase) -> None:
        if phase == at:
            raise ValueError("injected")

    tap.at_operation = strike
    async with open_system("s", ring=Ring(9), tap=tap) as system:
        with pytest.raises(OperationCrashed):
            await system.spawn("a", Puppet).ask(WORK)


async def test_raising_at_a_receipt_is_the_actors_crash() -> None:
    tap = Watch()

    async def strike(receipt: Receipt) -> Verdict:
        if receipt.n == 2:
            raise ValueError("injected")
        return "handle"

    tap.at_receipt = strike
    async with open_system("s", ring=Ring(9), tap=tap) as system:
        ref = system.spawn("a", Puppet)
        ref.tell(Note(1))
        with pytest.raises(ActorCrashed):
            await ref.ask(Notes())
        assert await ref.ask(Notes()) == []
