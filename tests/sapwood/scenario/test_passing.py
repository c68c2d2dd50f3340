"""The tap of a playing: who waits for quiet waits for those that a schedule holds, and for nobody for ever."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from sapwood.actors.kernel import ActorCrashed, Receipt, Ring, Verdict, open_system
from sapwood.actors.kernel.testing import Recording, Seeded
from sapwood.scenario.passing import Gate
from tests.actors.kernel.puppet import Note, Notes, Puppet


async def test_quiet_waits_until_a_schedule_has_let_everything_pass() -> None:
    gate = Gate(Seeded(3))
    async with open_system("s", ring=Ring(9), tap=gate) as system:
        refs = [system.spawn(name, Puppet) for name in "abc"]
        for ref in refs:
            for n in range(4):
                ref.tell(Note(n))
        await gate.quiet()
        done = [list(actor) for actor in [await ref.ask(Notes()) for ref in refs]]
    assert done == [[0, 1, 2, 3]] * 3


async def test_quiet_does_not_wait_for_what_is_held_for_good(autojump_clock: MockClock) -> None:
    class Wall(Recording):
        async def receipt(self, receipt: Receipt) -> Verdict:
            await trio.sleep(60)
            return await super().receipt(receipt)

    wall = Wall()
    gate = Gate(wall)
    async with open_system("s", ring=Ring(9), tap=gate) as system:
        system.spawn("a", Puppet).tell(Note(1))
        began = trio.current_time()
        await gate.quiet()
        assert trio.current_time() == began, "no time passes meanwhile"
        assert wall.passed == []


async def test_an_actor_is_crashed_once_at_its_next_message() -> None:
    gate = Gate(None)
    async with open_system("s", ring=Ring(9), tap=gate) as system:
        ref, other = system.spawn("a", Puppet), system.spawn("b", Puppet)
        gate.crash_next("a")
        assert await other.ask(Notes()) == []
        with pytest.raises(ActorCrashed):
            await ref.ask(Notes())
        assert await ref.ask(Notes()) == []
