"""A: compactions that fail, are not worth it or have nothing to do, and requests that are too large. The session goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import pytest
import trio
import trio.testing

from sapwood import (
    Extension,
    Finish,
    Refused,
    RetryPolicy,
    ScriptedAnswer,
    Session,
    ThinkingContent,
)
from sapwood.actors.outgoing.pairing import UNKNOWN_FATE
from sapwood.events.content import TextContent
from sapwood.events.entries import Entry, UsageEntry
from sapwood.events.errors import CompactionFailed, ProviderError
from sapwood.events.hooks import SessionBeforeCompact
from sapwood.events.runtime import AgentEnd, AgentSettled, Diagnostic
from tests.build import assistant, call, result, system, text, user
from tests.faults.compacting import (
    SMALL,
    TIGHT,
    Say,
    Scribe,
    answer_of,
    budgets,
    compacting,
    compactions,
    framed,
    long_history,
    news_of,
    raising,
    record,
    seen,
    tokens_of,
    window,
)
from tests.faults.history import Log, words_of
from tests.faults.sent import results_of, texts
from tests.talking import drain


@pytest.mark.parametrize("most", [2_048, 8_192, None])
async def test_a16_a_summary_asks_for_no_more_than_the_model_gives(most: int | None) -> None:
    """A16: C8 has no cap of ours, so none is sent at all. The half about branches comes with navigation."""
    provider = Scribe()
    async with compacting(
        provider, long_history().store(), model=window(10_000, max_output=most), settings=TIGHT
    ) as session:
        await session.compact()
    assert {request.max_output for request in provider.summaries} == {None}


async def test_a17_a_summary_that_is_larger_than_what_it_stands_for_is_not_taken() -> None:
    """A17: 600 tokens become 1700. Not tried again for the same context; a person who asks for it gets it (C15)."""
    log = Log()
    log.turns(1, 600)
    log.turns(2, 1_500)
    provider = Scribe(writes=lambda _: record(words_of(1_700)), says=lambda _: "well")
    async with compacting(provider, log.store(), model=window(5_000), settings=budgets(1_500, 2_000)) as session:
        reader = session.events()
        assert not (await session.prompt("go on")).failed
        told = news_of(drain(reader))
        assert compactions(session) == []
        assert len(provider.summaries) == 1
        [end] = told.ends
        assert end.error_message is not None
        wrote, stood = (int(one) for one in end.error_message.split() if one.isdecimal())
        assert wrote >= 1_700
        assert 550 <= stood <= 650
        before = session.measured().tokens
        compacted = await session.compact()
        assert compacted.entry.tokens_before == before
        assert compacted.tokens_after == session.measured().tokens > before


async def test_a17_a_summary_is_measured_by_what_it_frees() -> None:
    """A17: the request for it shows little of a large result; what leaves the context is all of it."""
    log = Log()
    log.add(user("read"), assistant(call("c1"), stop="toolUse"), result("c1", words_of(6_000)), assistant("read"))
    log.turns(2, 700)
    provider = Scribe(writes=lambda _: record(words_of(900)))
    async with compacting(provider, log.store(), model=SMALL, settings=budgets(3_000, 1_500)) as session:
        assert not (await session.prompt("go on")).failed
        assert len(compactions(session)) == 1


async def test_a19_a_call_that_never_got_its_result_does_not_freeze_the_cut() -> None:
    """A19: two hundred turns behind it. The repair is told while the call is sent; then it is summarised away."""
    log = Log()
    log.add(user("run it"), assistant(call("c1"), stop="toolUse"))
    log.turns(200, 50)
    provider = Scribe("one", "two")
    async with compacting(provider, log.store(), model=window(1_000_000), settings=budgets(2_000, 1_500)) as session:
        reader = session.events()
        assert not (await session.prompt("still there?")).failed
        assert results_of(provider.turns[0], "c1") == [UNKNOWN_FATE]
        assert "pairing" in {one.code for one in drain(reader) if isinstance(one, Diagnostic)}
        await session.set_model(SMALL)
        assert not (await session.prompt("and now?")).failed
        assert len(compactions(session)) == 1
    assert results_of(provider.turns[1], "c1") == []
    assert tokens_of(provider.turns[1]) < 2_500
    assert "[Assistant tool calls]: read()" in framed(provider.summaries[0])["conversation"]


def of_system_text() -> Log:
    log = Log()
    log.add(system(preamble="You help."))
    return log


@pytest.mark.parametrize(
    ("history", "reason"),
    [("empty", "nothing-to-do"), ("compacted", "already-compacted"), ("of system text", "nothing-to-do")],
)
async def test_a22_nothing_to_compact_is_no_failure(history: str, reason: str) -> None:
    """A22: a person who asks is refused with a reason; a run goes on without a word. No entry either way."""
    log = of_system_text() if history == "of system text" else Log()
    if history == "compacted":
        log.turns(3, 100)
        log.compact(None)
    provider = Scribe()
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT) as session:
        with pytest.raises(Refused) as caught:
            await session.compact()
        assert caught.value.reason == reason
        assert len(session.entries()) == len(log.entries)
        assert session.state == "idle"
        assert not (await session.prompt("go on")).failed
    assert provider.summaries == []


async def test_a23_a_compaction_that_cannot_be_ends_no_run() -> None:
    """A23: the first prompt is over the threshold already. C14: that is passed over without an event."""
    provider = Scribe("answered")
    async with compacting(provider, model=SMALL, settings=TIGHT) as session:
        reader = session.events()
        outcome = await session.prompt(words_of(8_500))
        assert answer_of(outcome) == "answered"
        told = drain(reader)
        assert news_of(told).ends == ()
        assert isinstance(told[-1], AgentSettled)
        assert not told[-1].aborted
        assert [one.will_retry for one in told if isinstance(one, AgentEnd)] == [False]
    assert compactions(session) == []


HALF: Final = ScriptedAnswer(text=record()[:80], error="stream ended before its end")


async def test_a24_a_summary_that_is_cut_off_once_is_asked_for_again(autojump_clock: trio.testing.MockClock) -> None:
    """A24: with the same bytes; nothing of the half one is in the log."""
    provider = Scribe()
    provider.queue("compaction", HALF)
    async with compacting(provider, long_history(5).store(), model=SMALL, settings=TIGHT) as session:
        compacted = await session.compact()
        assert compacted.entry.summary == record()
        assert len(compactions(session)) == 1
    first, second = provider.summaries
    assert texts(first) == texts(second)


@pytest.mark.parametrize("asked", ["by hand", "by a prompt"])
async def test_a24_a_summary_that_is_always_cut_off_leaves_all_as_it_was(
    asked: str, autojump_clock: trio.testing.MockClock
) -> None:
    """A24: after a bounded number of attempts."""
    policy = RetryPolicy(max_retries=2)
    provider = Scribe(writes=lambda _: HALF)
    settings = budgets(2_000, 1_500, retry=policy)
    async with compacting(provider, long_history().store(), model=SMALL, settings=settings) as session:
        before = seen(session)
        if asked == "by hand":
            with pytest.raises(CompactionFailed):
                await session.compact()
            assert seen(session) == before
            assert len(provider.summaries) == 3
        assert not (await session.prompt("go on")).failed
        assert seen(session)[: len(before)] == before
        assert compactions(session) == []


NO_SUMMARIES: Final[dict[str, Say]] = {
    "nothing": Finish(stop_reason="stop", content=()),
    "an empty text": Finish(stop_reason="stop", content=(TextContent(text=""),)),
    "blanks": Finish(stop_reason="stop", content=(TextContent(text="  \n"),)),
    "thinking": Finish(stop_reason="stop", content=(ThinkingContent(thinking="Let me see.", thinking_signature="s"),)),
    "a call": Finish(stop_reason="toolUse", content=(call("c1"),)),
    "a text and a call": Finish(stop_reason="stop", content=(text(record()), call("c1"))),
    "a stump": ScriptedAnswer(text=record(), stop_reason="length"),
}


@pytest.mark.parametrize("said", NO_SUMMARIES.values(), ids=NO_SUMMARIES)
async def test_a26_what_is_no_summary_is_stored_nowhere(said: Say) -> None:
    provider = Scribe(writes=lambda _: said)
    async with compacting(provider, long_history().store(), model=SMALL, settings=TIGHT) as session:
        before = seen(session)
        with pytest.raises(CompactionFailed, match="Summarization failed: "):
            await session.compact()
        assert seen(session) == before
        assert compactions(session) == []


async def test_a26_what_was_thought_is_not_in_the_summary() -> None:
    thought = ThinkingContent(thinking="secret", thinking_signature="s")
    said = Finish(stop_reason="stop", content=(thought, text(record("To plant a tree."))))
    async with compacting(
        Scribe(writes=lambda _: said), long_history().store(), model=SMALL, settings=TIGHT
    ) as session:
        assert (await session.compact()).entry.summary == record("To plant a tree.")


FAULTS: Final[dict[str, Exception]] = {
    "no money": ProviderError("402 Payment Required: insufficient credits"),
    "a timeout": ProviderError("Read timed out"),
    "bad JSON": json.JSONDecodeError("Expecting value", "{", 1),
}


@pytest.mark.parametrize("fault", [*FAULTS, "a hook", "somebody stops it"])
async def test_a27_whatever_breaks_a_summary_destroys_nothing(
    fault: str, autojump_clock: trio.testing.MockClock
) -> None:
    """A27: the projection is the same, the log has one line more at most, and the next prompt works.

    A hook that raises is passed over (H2: all but `tool_call` fail open), and a model that fails too writes the summary then.
    """
    hook = Extension("hook")

    @hook.on(SessionBeforeCompact)
    async def break_(_: SessionBeforeCompact, __: object) -> None:
        if fault == "a hook":
            raise ValueError("no")

    slow = ScriptedAnswer(text=record(), wait=60)
    broken = raising(FAULTS.get(fault, FAULTS["no money"]))
    provider = Scribe(writes=(lambda _: slow) if fault == "somebody stops it" else broken)
    async with compacting(provider, long_history(5).store(), model=SMALL, settings=TIGHT, extensions=[hook]) as session:
        before, entries = seen(session), session.entries()
        async with trio.open_nursery() as nursery:
            if fault == "somebody stops it":
                nursery.start_soon(stop_later, session)
            with pytest.raises(CompactionFailed):
                await session.compact()
        assert seen(session) == before
        more: Sequence[Entry] = session.entries()[len(entries) :]
        assert session.entries()[: len(entries)] == entries
        assert len(more) <= 1
        assert all(isinstance(one, UsageEntry) for one in more)
        assert session.state == "idle"
        assert not (await session.prompt("go on")).failed


async def stop_later(session: Session) -> None:
    await trio.sleep(5)
    began = trio.current_time()
    await session.abort()
    assert trio.current_time() - began <= 0.2
