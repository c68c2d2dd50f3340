"""Whatever is asked, whatever breaks, whatever comes first: each input has exactly one outcome, and the log agrees (R3)."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest
import trio
import trio.testing

from sapwood import Delivered, Handle, SapwoodError, ScriptedAnswer, SessionBroken, SessionClosed, Withdrawn
from sapwood.actors.kernel import Receipt, Verdict
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.kernel.testing import CrashAt, Seeded, StrikeAt, Together
from sapwood.events.commands import QueuedInputs, Returned
from sapwood.events.runtime import MessageEnd, QueueUpdate
from tests.build import call
from tests.sapwood.playing import play_all
from tests.sapwood.striking import CrashFrom
from tests.talking import drain, talking

A_BATCH = 50
ORDINARY = 200
FULL = 5_000


def outcomes_of(batch: int) -> Counter[str]:
    seeds = range(batch * A_BATCH, (batch + 1) * A_BATCH)
    return trio.run(play_all, seeds, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(ORDINARY // A_BATCH))
def test_each_input_of_a_program_has_one_outcome(batch: int) -> None:
    outcomes = outcomes_of(batch)

    assert outcomes.keys() == {"Delivered", "Returned", "Withdrawn", "Failed"}, "the programs reach all of them"


@pytest.mark.full
@pytest.mark.parametrize("batch", range(ORDINARY // A_BATCH, FULL // A_BATCH))
def test_each_input_of_many_programs_has_one_outcome(batch: int) -> None:
    assert outcomes_of(batch)["Delivered"] > A_BATCH


# what the programs found


async def test_an_abort_does_not_wait_for_what_is_on_its_way_into_a_queue(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It used to wait for its outcome, which it has when there is a next run: for ever."""
    async with talking("one") as session:
        steered, later = session.steer("s"), session.follow_up("f")
        with trio.fail_after(1):
            await session.abort()
        assert steered.outcome_nowait is None
        await session.prompt("a")
        assert isinstance(await steered.outcome(), Delivered)
        assert isinstance(await later.outcome(), Delivered | Returned)


@pytest.mark.parametrize("seed", range(8))
async def test_inputs_are_queued_in_the_order_in_which_they_were_said(
    seed: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Each was queued by an operation of its own, and these begin in any order."""
    async with talking(tap=Seeded(seed)) as session:
        for text in "abcd":
            session.follow_up(text)
        await trio.sleep(1)
        assert [one.text for one in session.queue().follow_up] == [*"abcd"]


@pytest.mark.parametrize("at", range(1, 5))
@pytest.mark.parametrize("actor", ["agent", "inbox"])
async def test_a_crash_keeps_the_order_of_what_is_being_queued(
    actor: str, at: int, autojump_clock: trio.testing.MockClock
) -> None:
    """What was in hand was asked for again before what had come before it."""
    for seed in range(6):
        async with talking(tap=Together(Seeded(seed), CrashAt(actor, at))) as session:
            for text in "abcd":
                session.steer(text)
            await trio.sleep(1)
            assert [one.text for one in session.queue().steering] == [*"abcd"], seed


async def test_what_was_queued_stays_so_though_the_operation_that_queued_it_breaks(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It used to be told to have failed, and could be on its way into the log at that time."""
    async with talking("one", tap=StrikeAt("agent", 1, "end")) as session:
        steered = session.steer("s")
        await trio.sleep(1)
        assert steered.outcome_nowait is None
        await session.prompt("a")
        assert isinstance(await steered.outcome(), Delivered)


async def test_an_abort_does_not_wait_for_a_run_that_broke_before_it_began(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nobody told it that such a run had ended, so it waited for ever."""
    async with talking("one", tap=StrikeAt("agent", 1, "start")) as session:
        with pytest.raises(SessionBroken):
            await session.prompt("a")
        session.submit("b")
        with trio.fail_after(5):
            await session.abort()
        assert session.state == "idle"


async def test_a_tool_may_take_back_what_it_said() -> None:
    """The kernel's `UndeclaredAsk` used to come out."""
    taken_back: list[bool] = []

    async def change_its_mind() -> str:
        handle = session.follow_up("later")
        taken_back.append(await handle.cancel())
        assert isinstance(handle.outcome_nowait, Withdrawn) == taken_back[0]
        return "done"

    calling = ScriptedAnswer(calls=(call("c1", "change_its_mind"),))
    async with talking(calling, "done", "so be it", tools=[change_its_mind]) as session:
        await session.prompt("a")
    assert len(taken_back) == 1


async def test_taking_back_where_the_inbox_is_down_is_told_in_the_words_of_the_session() -> None:
    handles: list[Handle] = []

    async def story() -> None:
        async with talking("one", tap=CrashFrom("inbox", 2)) as session:
            handles.append(handle := session.follow_up("later"))
            await trio.testing.wait_all_tasks_blocked()
            for _ in range(4):
                with pytest.raises(SessionBroken):
                    await handle.cancel()

    with pytest.raises(SessionBroken):
        await story()
    assert [handle.outcome_nowait for handle in handles] == [Returned(text="later")]


@attrs.frozen
class Deaf:
    """Holds the inbox back at the news of messages, until it may hear."""

    may_hear: trio.Event = attrs.Factory(trio.Event)

    async def receipt(self, receipt: Receipt) -> Verdict:
        if isinstance(receipt.message, MessageEnd):
            await self.may_hear.wait()
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        pass


async def test_what_is_in_the_log_is_not_put_back_when_the_inbox_has_not_heard_of_it() -> None:
    """The news said that it waits, and the next run would have said it once more."""
    tap = Deaf()
    async with talking(ScriptedAnswer(text="one"), "two", tap=tap) as session:
        steered = session.steer("s")
        await trio.testing.wait_all_tasks_blocked()
        reader = session.events()
        handle = session.submit("a")
        await trio.testing.wait_all_tasks_blocked()
        assert session.state == "idle"
        assert session.queue() == QueuedInputs()
        tap.may_hear.set()
        assert isinstance(await handle.outcome(), Delivered)
        assert isinstance(await steered.outcome(), Delivered)
        told = [event for event in drain(reader) if isinstance(event, QueueUpdate)]
    assert told == [QueueUpdate(steering=(), follow_up=())]


async def test_what_the_log_has_is_delivered_though_the_inbox_is_down_when_the_session_closes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It used to be returned, as if it had never been said."""

    async def work() -> str:
        await trio.sleep(1)
        return "done"

    handles: list[Handle] = []

    async def story() -> None:
        calling = ScriptedAnswer(calls=(call("c1", "work"),))
        async with talking(calling, "one", "two", tools=[work], tap=CrashFrom("inbox", 3)) as session:
            session.submit("a")
            handles.append(later := session.follow_up("b"))
            await trio.sleep(5)
            assert later.entry_id in session._wiring.view.tree

    with pytest.raises(SessionBroken):
        await story()
    assert [type(handle.outcome_nowait) for handle in handles] == [Delivered]


@pytest.mark.parametrize("seed", range(12))
async def test_who_asks_while_the_session_closes_is_told_so(seed: int) -> None:
    """And not that some store is closed: the store is the session's."""
    told: list[SapwoodError] = []
    async with talking(tap=Seeded(seed)) as session, trio.open_nursery() as nursery:

        async def mark() -> None:
            try:
                await session.append_custom("x")
            except SapwoodError as error:
                told.append(error)

        nursery.start_soon(mark)
        await trio.lowlevel.checkpoint()
        await session.close()
    assert [type(error) for error in told] in ([], [SessionClosed])
