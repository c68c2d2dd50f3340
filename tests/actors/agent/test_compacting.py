"""A compaction that a person asks for: whom it stops, what it hands back, and that it ends (C15)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from sapwood import (
    Compacted,
    CompactionFailed,
    Delivered,
    ImageContent,
    Refused,
    Returned,
    ScriptedAnswer,
    SessionClosed,
    StoreConflict,
)
from sapwood.actors.kernel.tap import Phase, Receipt, Verdict
from sapwood.events.commands import Compact
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.events.requests import CheckCompaction, CompactNow
from sapwood.events.runtime import CompactionEnd, CompactionStart, QueueUpdate, name_of
from tests.build import call
from tests.compacting import conversation, settings, summary

GOOD = summary(says="of tea")
SLOW = ScriptedAnswer(text=GOOD, wait=10)
DONE = ["compaction_start", "session_compact", "compaction_end"]
FAILED = ["compaction_start", "compaction_end", "session_compact_failed"]


class Kept:
    """What became of something that was done in the background."""

    value: Any = None
    error: BaseException | None = None

    async def of(self, work: Callable[[], Any]) -> None:
        try:
            self.value = await work()
        except Exception as error:  # noqa: BLE001 - whatever it is, a test looks at it
            self.error = error


class Held:
    """Keeps what is asked of the compaction at the door until something else was done."""

    def __init__(self, kind: type[CompactNow | CheckCompaction] = CompactNow) -> None:
        self._kind = kind
        self.came, self.let_in = trio.Event(), trio.Event()

    async def receipt(self, receipt: Receipt) -> Verdict:
        if isinstance(receipt.message, self._kind):
            self.came.set()
            await self.let_in.wait()
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        pass


async def test_it_works_where_nothing_happens_by_itself() -> None:
    async with conversation(GOOD, settings=settings(enabled=False)) as talk:
        assert isinstance(await talk.session.compact(), Compacted)


async def test_the_run_that_is_on_is_stopped_first_and_not_gone_on_with(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with conversation(GOOD, GOOD, turns=[ScriptedAnswer(text="never", wait=1000), "on"]) as talk:
        handle = talk.session.submit("go")
        await trio.sleep(1)
        began = trio.current_time()

        compacted = await talk.session.compact()

        assert trio.current_time() - began < 0.5
        outcome = await handle.outcome()
        assert isinstance(outcome, Delivered)
        assert outcome.aborted
        told = [name for name in map(name_of, talk.told()) if name in {*DONE, "agent_settled", "agent_start"}]
        assert told == ["agent_start", "agent_settled", *DONE]
        assert (len(talk.requests("turn")), talk.session.state) == (3, "idle")
        assert compacted.entry == talk.compactions()[0]


async def test_what_waits_is_handed_back_in_the_outcome_and_to_each_handle(
    autojump_clock: trio.testing.MockClock,
) -> None:
    image = ImageContent(data="aGk=", mime_type="image/png")
    async with conversation(GOOD, turns=[ScriptedAnswer(text="never", wait=1000), "on"]) as talk:
        run = talk.session.submit("go")
        await trio.sleep(1)
        later = talk.session.follow_up("later")
        steered = talk.session.steer("look", images=[image])
        await trio.testing.wait_all_tasks_blocked()
        talk.told()

        compacted = await talk.session.compact()

        returned = (Returned(text="look", images=(image,)), Returned(text="later"))
        assert compacted.returned == returned
        assert (await steered.outcome(), await later.outcome()) == returned
        assert isinstance(await run.outcome(), Delivered)
        assert [event for event in talk.told() if isinstance(event, QueueUpdate)][-1] == QueueUpdate(
            steering=(), follow_up=()
        )
        assert talk.session.queue().steering == talk.session.queue().follow_up == ()
        assert len(talk.requests("turn")) == 3


async def test_what_waits_is_handed_back_even_where_it_fails() -> None:
    async with conversation(ScriptedAnswer(error="invalid api key")) as talk:
        waits = talk.session.steer("waits")
        await trio.testing.wait_all_tasks_blocked()

        with pytest.raises(CompactionFailed):
            await talk.session.compact()

        assert await waits.outcome() == Returned(text="waits")


async def test_one_that_is_refused_stops_nobody_and_hands_nothing_back(autojump_clock: trio.testing.MockClock) -> None:
    """It used to abort the run and empty the queues, and then to say that there is nothing to compact."""
    slow = ScriptedAnswer(text="said", wait=10)
    async with conversation(turns=[slow, "on"], settings=settings(keep=500)) as talk:
        run = talk.session.submit("go")
        await trio.sleep(1)
        waits = talk.session.follow_up("later")
        await trio.testing.wait_all_tasks_blocked()
        talk.told()

        with pytest.raises(Refused, match=r"^Nothing to compact \(session too small\)$") as refused:
            await talk.session.compact()

        assert refused.value.reason == "nothing-to-do"
        words = "Compaction failed: Nothing to compact (session too small)"
        assert talk.told() == [
            CompactionStart(reason="manual"),
            CompactionEnd(reason="manual", aborted=False, will_retry=False, error_message=words),
        ]
        assert (talk.session.state, [one.text for one in talk.session.queue().follow_up]) == ("run", ["later"])
        for handle in (run, waits):
            outcome = await handle.outcome()
            assert isinstance(outcome, Delivered)
            assert not outcome.aborted
        assert talk.seen()[-4:] == ["go", "said", "later", "on"]


async def test_one_that_is_refused_hands_nothing_back_where_no_run_is_on() -> None:
    async with conversation(GOOD, turns=["on", "and on"]) as talk:
        await talk.session.compact()
        waits = talk.session.steer("waits")
        await trio.testing.wait_all_tasks_blocked()

        with pytest.raises(Refused, match=r"^Already compacted$"):
            await talk.session.compact()

        assert [one.text for one in talk.session.queue().steering] == ["waits"]
        await talk.session.prompt("go")
        assert isinstance(await waits.outcome(), Delivered)


@pytest.mark.parametrize("refused", [True, False])
async def test_while_it_is_looked_at_the_run_takes_up_nothing(
    *, refused: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """A look that takes its time used to let the next request go out, only to be stopped."""
    held = Held(CheckCompaction)
    async with conversation(
        GOOD,
        turns=[ScriptedAnswer(text="one", wait=1), "two"],
        settings=settings(keep=500 if refused else 20),
        tap=held,
    ) as talk:
        run, later = talk.session.submit("go"), talk.session.follow_up("later")
        kept = Kept()
        await trio.sleep(0.5)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.of, talk.session.compact)
            await trio.sleep(9)
            assert len(talk.requests("turn")) == 3
            held.let_in.set()

        outcome, said = await run.outcome(), await later.outcome()
        assert isinstance(outcome, Delivered)
        assert isinstance(said, Delivered if refused else Returned)
        assert outcome.aborted != refused
        assert len(talk.requests("turn")) == (4 if refused else 3)


async def test_while_it_is_looked_at_no_tool_begins(autojump_clock: trio.testing.MockClock) -> None:
    held, kept, ran = Held(CheckCompaction), Kept(), list[str]()

    def dig(path: str) -> str:
        ran.append(path)
        return path

    calling = ScriptedAnswer(text="see", calls=(call("c1", "dig", path="a"),), wait=1)
    async with conversation(GOOD, turns=[calling, "never"], tools=[dig], tap=held) as talk:
        run = talk.session.submit("go")
        await trio.sleep(0.5)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.of, talk.session.compact)
            await trio.sleep(9)
            held.let_in.set()

        assert isinstance(kept.value, Compacted)
        assert isinstance(await run.outcome(), Delivered)
        assert (ran, len(talk.requests("turn"))) == ([], 3)


async def test_a_log_that_cannot_be_written_is_known_before_the_run_is_stopped(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = tmp_path / "s.jsonl"
    async with conversation(GOOD, turns=[ScriptedAnswer(text="said", wait=10)], where=str(path)) as talk:
        talk.session.submit("go")
        await trio.sleep(1)
        talk.told()
        path.rename(tmp_path / "elsewhere.jsonl")

        with pytest.raises(StoreConflict):
            await talk.session.compact()

        assert (talk.news(), talk.session.state) == ([], "run")
        (tmp_path / "elsewhere.jsonl").rename(path)
        await talk.session.wait_idle()
        assert talk.seen()[-1] == "said"


async def test_what_it_has_cost_is_named_where_it_fails_behind_that(autojump_clock: trio.testing.MockClock) -> None:
    bad = ScriptedAnswer(error="invalid api key")
    async with conversation(bad, bad, turns=[ScriptedAnswer(text="never", wait=1000), "on"]) as talk:
        talk.session.submit("go")
        await trio.sleep(1)
        waits = talk.session.steer("waits")
        await trio.testing.wait_all_tasks_blocked()

        with pytest.raises(CompactionFailed, match="invalid api key") as failed:
            await talk.session.compact()

        assert (failed.value.stopped_run, failed.value.aborted) == (True, False)
        assert failed.value.returned == (Returned(text="waits"),)
        assert await waits.outcome() == Returned(text="waits")

        with pytest.raises(CompactionFailed, match="invalid api key") as again:
            await talk.session.compact()
        assert (again.value.stopped_run, again.value.returned) == (False, ())


async def test_a_refusal_that_nobody_could_know_before_is_a_failure_that_names_what_it_has_cost(
    autojump_clock: trio.testing.MockClock,
) -> None:
    held, kept = Held(), Kept()
    async with conversation(GOOD, turns=[ScriptedAnswer(text="never", wait=1000)], tap=held) as talk:
        talk.session.submit("go")
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.of, talk.session.compact)
            await held.came.wait()
            for item in talk.session.context().items:
                await talk.session.edit(item.entry_id, None)
            held.let_in.set()

        assert isinstance(kept.error, CompactionFailed)
        assert str(kept.error) == "Nothing to compact (session too small)"
        assert (kept.error.stopped_run, kept.error.aborted) == (True, False)
        assert (talk.compactions(), talk.session.state) == ([], "idle")


class HeldCheck(Held):
    """Keeps the check itself from beginning."""

    async def receipt(self, receipt: Receipt) -> Verdict:
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        if operation.startswith("compaction check") and phase == "start":
            self.came.set()
            await self.let_in.wait()


async def test_an_abort_stops_a_check_too(autojump_clock: trio.testing.MockClock) -> None:
    """The compaction does not begin, and the run has ended."""
    held, kept = HeldCheck(), Kept()
    async with conversation(GOOD, turns=[ScriptedAnswer(text="never", wait=1000)], tap=held) as talk:
        talk.session.submit("go")
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.of, talk.session.compact)
            await held.came.wait()
            nursery.start_soon(talk.session.abort)
            await trio.testing.wait_all_tasks_blocked()
            held.let_in.set()

        assert talk.session.state == "idle"
        assert isinstance(kept.error, CompactionFailed)
        assert kept.error.aborted
        assert talk.requests() == []


async def test_a_second_one_and_a_prompt_are_refused_while_it_is_on(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(SLOW, turns=["on"]) as talk:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(talk.session.compact)
            await trio.sleep(1)
            before = talk.session.entries()
            for what in (talk.session.compact, lambda: talk.session.prompt("no")):
                with pytest.raises(Refused) as refused:
                    await what()
                assert refused.value.reason == "busy"
            assert talk.session.entries() == before

        assert len(talk.compactions()) == 1
        assert talk.news() == DONE


@pytest.mark.parametrize("how", ["steer", "follow_up"])
async def test_what_is_said_meanwhile_starts_a_run_behind_it(how: str, autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(SLOW, turns=["on", "and on"]) as talk:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(talk.session.compact)
            await trio.sleep(1)
            one = getattr(talk.session, how)("one")
            two = getattr(talk.session, how)("two")
            assert isinstance(await one.outcome(), Delivered)
            assert isinstance(await two.outcome(), Delivered)

        told = [name for name in map(name_of, talk.told()) if name in {*DONE, "agent_start", "agent_settled"}]
        assert told == [*DONE, "agent_start", "agent_settled"]
        assert next(line for line in talk.seen() if line in {"one", "two", "on", "and on"}) == "one"
        assert talk.session.state == "idle"


async def test_what_is_said_meanwhile_starts_a_run_behind_one_that_failed_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with conversation(ScriptedAnswer(error="invalid api key", wait=10), turns=["on"]) as talk:
        kept = Kept()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.of, talk.session.compact)
            await trio.sleep(1)
            assert isinstance(await talk.session.follow_up("one").outcome(), Delivered)

        assert isinstance(kept.error, CompactionFailed)
        assert talk.seen()[-2:] == ["one", "on"]


async def test_whoever_waits_and_is_cancelled_stops_it(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(SLOW, GOOD) as talk:
        before = talk.session.entries()
        with trio.move_on_after(1):
            await talk.session.compact()
        await trio.testing.wait_all_tasks_blocked()

        assert (talk.news(), talk.session.entries(), talk.session.state) == (FAILED, before, "idle")
        await talk.session.compact()
        assert len(talk.compactions()) == 1


async def test_whoever_is_cancelled_while_the_run_is_being_stopped_leaves_no_compaction(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with conversation(GOOD, turns=[ScriptedAnswer(text="never", wait=1000)]) as talk:
        handle = talk.session.submit("go")
        await trio.sleep(1)
        with trio.CancelScope() as scope:
            scope.cancel()
            await talk.session.compact()
        await talk.session.abort()
        await handle.done()

        assert talk.compactions() == []
        assert talk.session.state == "idle"


async def test_an_abort_stops_it(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(SLOW) as talk:
        kept = Kept()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.of, talk.session.compact)
            await trio.sleep(1)
            began = trio.current_time()
            await talk.session.abort()
            assert trio.current_time() - began < 0.2
            assert talk.session.state == "idle"

        assert isinstance(kept.error, CompactionFailed)
        assert (str(kept.error), kept.error.aborted) == ("Compaction cancelled", True)
        assert talk.news() == FAILED


async def test_an_abort_while_the_run_is_being_stopped_for_it_stops_it_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def stubborn() -> str:
        return "done"

    async with conversation(SLOW, turns=[ScriptedAnswer(text="never", wait=1000)], tools=[stubborn]) as talk:
        kept = Kept()
        talk.session.submit("go")
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.of, talk.session.compact)
            nursery.start_soon(talk.session.abort)

        assert trio.current_time() < 12
        assert isinstance(kept.error, CompactionFailed) or isinstance(kept.value, Compacted)
        assert talk.session.state == "idle"


async def test_closing_stops_it_and_who_waits_is_told(autojump_clock: trio.testing.MockClock) -> None:
    kept = Kept()
    async with trio.open_nursery() as nursery, conversation(SLOW) as talk:
        nursery.start_soon(kept.of, talk.session.compact)
        await trio.sleep(1)
        began = trio.current_time()
        await talk.session.close()
        assert trio.current_time() - began < 0.5

    assert isinstance(kept.error, CompactionFailed | SessionClosed)
    assert talk.compactions() == []


async def test_a_closed_session_is_not_compacted() -> None:
    async with conversation(GOOD) as talk:
        await talk.session.close()

        with pytest.raises(SessionClosed):
            await talk.session.compact()


@pytest.mark.parametrize("instructions", [5, b"x", "\ud800"])
async def test_instructions_are_text(instructions: Any) -> None:
    async with conversation(GOOD) as talk:
        with pytest.raises(Refused, match="instructions is text"):
            await talk.session.compact(instructions)

        assert talk.news() == []


async def test_it_is_not_asked_for_by_what_has_the_tree_itself() -> None:
    async with conversation(GOOD) as talk:
        talk.session._wiring.lease.grant("navigation", "k")

        with pytest.raises(Refused) as refused:
            await talk.session.compact()

        assert refused.value.reason == "busy"
        assert (talk.news(), talk.session.state) == ([], "navigation")
        talk.session._wiring.lease.release("k")


async def test_a_run_that_compacts_is_not_stopped_for_another_one(autojump_clock: trio.testing.MockClock) -> None:
    too_long = ScriptedAnswer(error="prompt is too long")
    async with conversation(SLOW, turns=[too_long, "on"], settings=settings(keep=20, enabled=True), each=300) as talk:
        handle = talk.session.submit("go")
        await trio.sleep(1)

        with pytest.raises(Refused) as refused:
            await talk.session.compact()

        assert refused.value.reason == "busy"
        outcome = await handle.outcome()
        assert isinstance(outcome, Delivered)
        assert isinstance(outcome.answer, AssistantMessage)
        assert not outcome.aborted


async def test_the_command_itself_gives_the_same() -> None:
    async with conversation(GOOD) as talk:
        compacted = await talk.actor("agent").ask(Compact(entry_id=EntryId("k1")))

        assert compacted == Compacted(entry=talk.compactions()[0], tokens_after=compacted.tokens_after)
