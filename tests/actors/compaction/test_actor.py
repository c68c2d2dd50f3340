"""The shell of the compaction: what it appends, what it tells, and that it gives the tree back, however it ends."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import trio
import trio.testing

from sapwood import CompactionFailed, Environment, Refused, ScriptedAnswer
from sapwood.actors.kernel.tap import Phase, Receipt, Verdict
from sapwood.events.entries import MessageEntry
from sapwood.events.errors import SapwoodError
from sapwood.events.ids import EntryId
from sapwood.events.messages import SystemMessage
from sapwood.events.requests import Append, CheckCompaction, CompactNow, StopCompaction
from sapwood.events.runtime import CompactionEnd, CompactionStart, Diagnostic, SessionCompactFailed
from tests.build import usage
from tests.compacting import NEWS, SMALL, Talk, conversation, settings, sized, summary
from tests.store.faults import FaultyDisk
from tests.talking import names

GOOD = summary(says="of tea")
FAILED = ["compaction_start", "compaction_end", "session_compact_failed"]
DONE = ["compaction_start", "session_compact", "compaction_end"]


async def test_the_past_is_summarised_and_what_is_recent_stays() -> None:
    async with conversation(GOOD, turns=["on"]) as talk:
        compacted = await talk.session.compact()

        [entry] = talk.compactions()
        assert (compacted.entry, compacted.returned) == (entry, ())
        assert talk.news() == DONE
        assert talk.session.state == "idle"
        assert [one[:2] for one in talk.seen()] == ["##", "u1", "a1"]
        assert compacted.tokens_after == sum(item.tokens for item in talk.session.context().items)

        await talk.session.prompt("next")
        assert [one[:2] for one in talk.seen()] == ["##", "u1", "a1", "ne", "on"]


async def test_the_entry_has_all_that_is_known_of_it() -> None:
    answer = ScriptedAnswer(text=GOOD, usage=usage(7))
    async with conversation(answer, system_prompt="Be brief.") as talk:
        before = talk.session.context_usage().tokens
        leaf = talk.session.tree().leaf
        await talk.session.compact()

        [entry] = talk.compactions()
        assert (entry.summary, entry.tokens_before, entry.from_hook) == (GOOD, before, None)
        assert entry.usage is not None
        assert entry.usage.total_tokens == 7
        assert entry.details == {
            "readFiles": [],
            "modifiedFiles": [],
            "fidelity": {"score": 1.0, "madeUp": []},
            "model": talk.session.model.key,
        }
        assert leaf is not None
        assert entry.parent_id == talk.session.tree().id(leaf)
        kept = next(one for one in talk.session.entries() if one.id == entry.first_kept_entry_id)
        assert sized(10, "u1") in str(kept)
        assert entry.system_message is not None
        assert entry.system_message.sections == {"preamble": "Be brief."}


async def test_nothing_of_the_prompt_is_recorded_again_because_of_it() -> None:
    async with conversation(GOOD, turns=["on"], system_prompt="Be brief.") as talk:
        await talk.session.compact()
        await talk.session.prompt("next")

        spoken = [entry.message for entry in talk.session.entries() if isinstance(entry, MessageEntry)]
        assert sum(isinstance(message, SystemMessage) for message in spoken) == 1
        prompts = [one.messages[0] for one in talk.requests("turn")]
        assert {str(getattr(one, "sections", None)) for one in prompts} == {"{'preamble': 'Be brief.'}"}


async def test_the_calls_of_a_summary_are_no_messages_and_each_is_billed_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    bad = ScriptedAnswer(error="overloaded")
    missing = ScriptedAnswer(text=summary(less=1), usage=usage(5))
    async with conversation(bad, missing, ScriptedAnswer(text=GOOD, usage=usage(7))) as talk:
        await talk.session.compact()

        told = talk.told()
        assert not [name for name in names(told) if name.startswith(("message", "turn", "agent"))]
        assert [name for name in names(told) if name.startswith("usage")] == ["usage_reported"] * 2
        [entry] = talk.compactions()
        assert entry.usage is not None
        assert entry.usage.total_tokens == 12
        assert talk.session.stats().by_purpose["compaction"].total == 12


@pytest.mark.parametrize("label", [False, True])
async def test_it_is_not_done_twice_in_the_same_place(*, label: bool) -> None:
    async with conversation(GOOD, GOOD) as talk:
        done = await talk.session.compact()
        if label:
            await talk.session.label(done.entry.id, "here")
        talk.told()

        with pytest.raises(Refused, match=r"^Already compacted$") as refused:
            await talk.session.compact()

        assert refused.value.reason == "already-compacted"
        assert talk.news() == ["compaction_start", "compaction_end"]
        assert (len(talk.compactions()), talk.session.state) == (1, "idle")


@pytest.mark.parametrize("talked", [0, 1])
async def test_a_small_session_is_not_compacted(talked: int) -> None:
    async with conversation(GOOD, talked=talked, settings=settings(keep=500)) as talk:
        with pytest.raises(Refused, match=r"^Nothing to compact \(session too small\)$") as refused:
            await talk.session.compact()

        assert refused.value.reason == "nothing-to-do"
        [start, end] = [event for event in talk.told() if isinstance(event, CompactionStart | CompactionEnd)]
        words = "Compaction failed: Nothing to compact (session too small)"
        assert (start, end) == (
            CompactionStart(reason="manual"),
            CompactionEnd(reason="manual", aborted=False, will_retry=False, error_message=words),
        )
        assert (talk.requests(), talk.session.state) == ([], "idle")


async def failing(talk: Talk, why: str, *, aborted: bool = False) -> None:
    """It fails with that, tells so once, and leaves the session as it was."""
    before = talk.session.entries()
    with pytest.raises(CompactionFailed) as failed:
        await talk.session.compact()

    assert (str(failed.value), failed.value.aborted) == (why, aborted)
    told = [event for event in talk.told() if isinstance(event, CompactionStart | CompactionEnd | SessionCompactFailed)]
    words = None if aborted else f"Compaction failed: {why}"
    start, end, last = told
    assert start == CompactionStart(reason="manual")
    assert end == CompactionEnd(reason="manual", aborted=aborted, will_retry=False, error_message=words)
    assert isinstance(last, SessionCompactFailed)
    assert (last.error_message, last.aborted, last.will_retry) == (words, aborted, False)
    assert (talk.session.entries(), talk.session.state) == (before, "idle")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (ScriptedAnswer(error="invalid api key"), "invalid api key"),
        (
            ScriptedAnswer(text=GOOD, stop_reason="length"),
            "generation hit the token cap and the summary is incomplete",
        ),
        (ScriptedAnswer(), "the answer has no text"),
        (ScriptedAnswer(text=" "), "the answer has no text"),
        (ScriptedAnswer(text=GOOD, stop_reason="toolUse"), "attempted to call a tool"),
        (ScriptedAnswer(text=GOOD, stop_reason="aborted"), "the request was aborted"),
        (
            ScriptedAnswer(text=GOOD + "x" * 5_000_000),
            f"the answer has {len(GOOD) + 5_000_000:,} characters, and 1,048,576 is the most of a summary",
        ),
    ],
    ids=lambda value: "" if isinstance(value, ScriptedAnswer) else None,
)
async def test_an_answer_that_is_no_summary_writes_nothing(answer: ScriptedAnswer, why: str) -> None:
    async with conversation(answer, GOOD, turns=["on"]) as talk:
        await failing(talk, f"Summarization failed: {why}")

        await talk.session.prompt("next")
        await talk.session.compact()
        assert len(talk.compactions()) == 1


async def test_who_gives_up_after_retries_says_what_failed_last(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(*[ScriptedAnswer(error="overloaded")] * 2) as talk:
        await failing(talk, "Summarization failed: overloaded")
        assert len(talk.requests()) == 2


async def test_a_session_that_cannot_be_summarised_in_its_window_says_so() -> None:
    tiny = type(SMALL)(provider="scripted", id="tiny", context_window=200)
    async with conversation(GOOD, model=tiny) as talk:
        with pytest.raises(
            CompactionFailed, match="a request may take 50 tokens, and the smallest that is of use takes"
        ):
            await talk.session.compact()
        assert (talk.requests(), talk.session.state) == ([], "idle")


# stopped


async def stopped_within(talk: Talk, seconds: float) -> None:
    """Stopped after so long, it leaves the session as it was within a fifth of a second."""
    before = talk.session.entries()
    failed: list[CompactionFailed] = []

    async def compact() -> None:
        with pytest.raises(CompactionFailed) as raised:
            await talk.session.compact()
        failed.append(raised.value)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(compact)
        await trio.sleep(seconds)
        assert talk.state == "compaction"
        began = trio.current_time()
        await talk.session.abort()
        assert trio.current_time() - began < 0.2
        assert talk.state == "idle"

    [why] = failed
    assert (str(why), why.aborted) == ("Compaction cancelled", True)
    assert talk.news() == FAILED
    assert talk.session.entries() == before


async def test_it_is_stopped_in_the_midst_of_the_summary(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(ScriptedAnswer(text=GOOD, wait=1000)) as talk:
        await stopped_within(talk, 1)


async def test_it_is_stopped_in_the_wait_before_a_retry(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(ScriptedAnswer(error="overloaded"), GOOD) as talk:
        await stopped_within(talk, 1)
        assert len(talk.requests()) == 1


async def test_one_that_is_stopped_before_it_begins_does_not_begin() -> None:
    async with conversation(GOOD) as talk:
        await talk.actor("compaction").ask(StopCompaction(key="k"))

        with pytest.raises(CompactionFailed, match=r"^Compaction cancelled$") as failed:
            await talk.actor("compaction").ask(
                CompactNow(key="k", entry_id=EntryId("k1"), reason="manual", model=SMALL)
            )

        assert failed.value.aborted
        assert (talk.news(), talk.requests(), talk.session.state) == ([], [], "idle")
        await talk.actor("compaction").ask(CompactNow(key="k", entry_id=EntryId("k1"), reason="manual", model=SMALL))
        assert talk.news() == DONE


async def test_a_check_tells_a_refusal_and_nothing_else() -> None:
    async with conversation(GOOD) as talk:
        compaction, check = talk.actor("compaction"), CheckCompaction(key="k", model=SMALL)
        before = talk.session.entries()
        await compaction.ask(check)
        assert (talk.news(), talk.session.entries(), talk.session.state) == ([], before, "idle")
        await talk.session.compact()
        talk.told()

        with pytest.raises(Refused, match=r"^Already compacted$"):
            await compaction.ask(check)

        assert talk.news() == ["compaction_start", "compaction_end"]


async def test_a_check_that_was_stopped_before_is_none_and_its_compaction_does_not_begin_either() -> None:
    async with conversation(GOOD) as talk:
        compaction = talk.actor("compaction")
        now = CompactNow(key="k", entry_id=EntryId("k1"), reason="manual", model=SMALL)
        await compaction.ask(StopCompaction(key="k"))
        for asked in (CheckCompaction(key="k", model=SMALL), now):
            with pytest.raises(CompactionFailed, match=r"^Compaction cancelled$"):
                await compaction.ask(asked)

        assert (talk.news(), talk.requests()) == ([], [])


async def test_a_stop_between_the_check_and_the_compaction_is_not_lost() -> None:
    async with conversation(GOOD) as talk:
        compaction = talk.actor("compaction")
        await compaction.ask(CheckCompaction(key="k", model=SMALL))
        await compaction.ask(StopCompaction(key="k"))

        with pytest.raises(CompactionFailed, match=r"^Compaction cancelled$"):
            await compaction.ask(CompactNow(key="k", entry_id=EntryId("k1"), reason="manual", model=SMALL))

        assert talk.news() == []


async def test_another_key_stops_nothing(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(ScriptedAnswer(text=GOOD, wait=5)) as talk, trio.open_nursery() as nursery:
        nursery.start_soon(talk.session.compact)
        await trio.sleep(1)
        await talk.actor("compaction").ask(StopCompaction(key="other"))


async def test_one_whose_entry_is_being_written_ends_well(autojump_clock: trio.testing.MockClock) -> None:
    class Slow:
        """Holds up each append of a compaction."""

        holds = False

        async def receipt(self, receipt: Receipt) -> Verdict:
            if receipt.actor == "session_log" and isinstance(receipt.message, Append) and self.holds:
                await trio.sleep(10)
            return "handle"

        async def operation(self, actor: str, operation: str, phase: Phase) -> None:
            pass

    slow = Slow()
    async with conversation(ScriptedAnswer(text=GOOD, wait=1), tap=slow) as talk:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(talk.session.compact)
            await trio.sleep(0.5)
            slow.holds = True
            await trio.sleep(1)
            await talk.session.abort()
            assert talk.session.state == "idle"

        assert len(talk.compactions()) == 1
        assert talk.news() == DONE


# the disk


@pytest.mark.parametrize("billed", [0, 7])
async def test_a_disk_that_refuses_is_not_waited_for(billed: int, tmp_path: Path) -> None:
    disk = FaultyDisk()
    answer = ScriptedAnswer(text=GOOD, usage=usage(billed)) if billed else ScriptedAnswer(text=GOOD)
    async with conversation(
        answer, GOOD, turns=["on"], where=str(tmp_path / "s.jsonl"), environment=Environment.scripted(disk=disk)
    ) as talk:
        before = talk.session.entries()
        disk.plan = lambda _, name: errno.ENOSPC if name == "write" else None

        with pytest.raises(CompactionFailed, match="ENOSPC"):
            await talk.session.compact()

        told = talk.told()
        assert [name for name in names(told) if name in NEWS] == FAILED
        lost = [one for one in told if isinstance(one, Diagnostic) and one.code == "usage_unrecorded"]
        assert len(lost) == bool(billed)
        assert (talk.session.entries(), talk.session.state) == (before, "idle")

        disk.plan = lambda _, __: None
        await talk.session.prompt("there is room again")
        await talk.session.compact()
        assert len(talk.compactions()) == 1


# races


async def test_a_context_edit_that_came_meanwhile_leaves_nothing_written(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with conversation(ScriptedAnswer(text=GOOD, wait=5, usage=usage(7))) as talk:
        failed: list[BaseException] = []

        async def compact() -> None:
            try:
                await talk.session.compact()
            except SapwoodError as error:
                failed.append(error)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(compact)
            await trio.sleep(1)
            await talk.session.edit(talk.session.entries()[0].id, None)

        [why] = failed
        assert isinstance(why, CompactionFailed)
        assert "the leaf is" in str(why)
        assert talk.news() == FAILED
        assert (talk.compactions(), talk.session.state) == ([], "idle")
        spent = talk.session.stats()
        assert spent.spent.total == 7


async def test_a_label_that_came_meanwhile_is_no_matter(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(ScriptedAnswer(text=GOOD, wait=5)) as talk:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(talk.session.compact)
            await trio.sleep(1)
            label = await talk.session.label(talk.session.entries()[0].id, "here")

        [entry] = talk.compactions()
        assert entry.parent_id == label


async def test_a_reserve_that_the_window_does_not_bear_is_told_once() -> None:
    async with conversation(GOOD, GOOD, turns=["on"], settings=settings(reserve=9_000)) as talk:
        await talk.session.compact()
        await talk.session.prompt(sized(50))
        await talk.session.compact()

        told = [event for event in talk.told() if isinstance(event, Diagnostic) and event.code == "reserve_clamped"]
        assert [(one.message, one.facts) for one in told] == [
            (
                "the window of scripted/small (10000 tokens) does not bear a reserve of 9000: it is taken as 7500",
                {"model": "scripted/small"},
            )
        ]
