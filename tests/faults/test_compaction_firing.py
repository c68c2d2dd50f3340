"""A: when a context is compacted, and when it is not. Time is virtual, sessions are real, and the provider refuses whatever any refuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio.testing

from sapwood import Limits, Request, ScriptedAnswer
from sapwood.events.entries import KnownEntry, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.runtime import Diagnostic
from tests.build import MODEL, assistant, call, message_entry, result, usage, user, words
from tests.faults.compacting import Scribe, answer_of, budgets, compacting, compactions, news_of, tokens_of, window
from tests.faults.history import Log, words_of
from tests.faults.logs import lines_of, nth_id, put
from tests.faults.sent import texts
from tests.talking import drain


def reading(nth: int, reported: int = 0) -> ScriptedAnswer:
    return ScriptedAnswer(calls=(call(f"c{nth}", "look", nth=nth),), usage=usage(reported))


async def test_a01_a_reserve_that_is_larger_than_the_window_makes_no_turn_a_compaction() -> None:
    """A01: the reserve is clamped, which is told once; what compaction goes by is never negative. C1 has what the clamp comes to."""
    small, settings = window(8_192), budgets()
    budget = settings.compaction.of(small)
    assert (budget.reserve_tokens, budget.threshold, budget.keep_recent_tokens) == (6_144, 2_048, 1_024)
    provider = Scribe(*[words_of(250)] * 3, says=lambda _: words_of(100), takes=8_192)
    async with compacting(provider, model=small, settings=settings) as session:
        reader = session.events()
        for nth in range(3):
            await session.prompt(f"{nth} {words_of(240)}")
        assert compactions(session) == []
        for nth in range(12):
            assert not (await session.prompt(f"{nth} {words_of(90)}")).failed
        told = [one for one in drain(reader) if isinstance(one, Diagnostic) and one.code == "reserve_clamped"]
        assert len(told) == 1
        assert "8192" in told[0].message
        assert "16384" in told[0].message
        assert 2 <= len(compactions(session)) <= 6, "not one a turn"


async def test_a02_a_model_without_an_output_limit_is_not_compacted_at_each_step() -> None:
    """A02: 6k tokens in ten steps. C1 clamps the default reserve here; one that the window bears leaves room for them."""
    for settings, expected in ((budgets(4_096), 0), (budgets(), 1)):
        provider = Scribe(*(reading(nth) for nth in range(10)), "done", takes=16_384)
        async with compacting(
            provider, model=window(16_384, max_output=None), settings=settings, tools=[looking(580)]
        ) as session:
            assert not (await session.prompt("go")).failed
            assert len(compactions(session)) == expected
            assert len(provider.turns) == 11


@pytest.mark.parametrize(("reported", "expected"), [(111_000, 0), (112_000, 1)])
async def test_a02_a_model_without_a_window_is_compacted_as_one_of_128000_tokens(reported: int, expected: int) -> None:
    """A02: the reserve of 16384 is left free in it, and no more."""
    log = Log()
    log.turns(10, 6_000)
    log.add(user("and?"), assistant("fine", usage=usage(reported)))
    async with compacting(Scribe(), log.store(), model=window(None)) as session:
        assert not (await session.prompt("go on")).failed
        assert len(compactions(session)) == expected


def looking(tokens: int) -> Callable[[int], Awaitable[str]]:
    """A tool whose results have so many tokens."""

    async def look(nth: int) -> str:
        return words_of(tokens)

    return look


async def test_a04_a_summary_is_history_and_nobody_says_go_on() -> None:
    """A04: it stands in its wrapper, before what a person or a tool said last, and nothing is made up to be said behind it."""
    provider = Scribe("one", "two", takes=10_000)
    log = Log()
    log.turns(12, 1_000)
    async with compacting(provider, log.store(), model=window(10_000), settings=budgets(2_000, 1_500)) as session:
        await session.prompt("and now?")
        await session.prompt("and then?")
        [compaction] = compactions(session)
    for request, last in zip(provider.turns, ("and now?", "and then?"), strict=True):
        sent = texts(request)
        assert sent[0].endswith(f"<summary>\n{compaction.summary}\n</summary>")
        assert [one for one in sent if "## Goal" in one] == sent[:1]
        assert sent[-1] == last
        known = {*map(words, log.messages), "and now?", "and then?", "one", "two"}
        assert {*sent[1:]} <= known, "nothing else is said"


@pytest.mark.parametrize("queued", [0, 1], ids=["nothing queued", "a follow-up queued"])
async def test_a05_what_is_finished_is_not_begun_again(queued: int, autojump_clock: trio.testing.MockClock) -> None:
    """A05: an answer that ends a run fills the context; a compaction follows it, and a request only for what somebody said."""
    log = Log()
    log.turns(6, 1_000)
    provider = Scribe(ScriptedAnswer(text="done", usage=usage(9_000), wait=1), "later", takes=10_000)
    async with compacting(provider, log.store(), model=window(10_000), settings=budgets(2_000, 1_500)) as session:
        reader, handle = session.events(), session.submit("finish it")
        later = [session.follow_up("and this") for _ in range(queued)]
        await handle.outcome()
        for one in later:
            await one.outcome()
        await session.wait_idle()
        assert session.state == "idle"
        [end] = news_of(drain(reader)).ends
        assert (end.reason, end.will_retry) == ("threshold", False)
        assert len(compactions(session)) == 1
    assert len(provider.turns) == 1 + queued
    assert [texts(request)[-1] for request in provider.turns] == ["finish it", *["and this"] * queued]


@pytest.mark.parametrize("reports", [True, False], ids=["with usage", "without usage"])
async def test_a06_a_long_run_is_compacted_between_its_turns(reports: bool) -> None:
    """A06: 45 calls of 2k tokens each against a threshold of 84k; the compaction comes behind results, and the task goes on."""

    def says(request: Request) -> ScriptedAnswer:
        nth = len(provider.turns)
        return reading(nth, tokens_of(request) if reports else 0) if nth < 45 else ScriptedAnswer(text="all read")

    provider = Scribe(says=says, takes=100_000)
    async with compacting(provider, model=window(100_000), settings=budgets(16_000), tools=[looking(2_000)]) as session:
        reader = session.events()
        outcome = await session.prompt("read all of it")
        assert not outcome.failed
        assert answer_of(outcome) == "all read"
        entries = session.entries()
        [compaction] = compactions(session)
        before = entries[entries.index(compaction) - 1]
        assert isinstance(before, MessageEntry)
        assert before.message.role == "toolResult"
        [end] = news_of(drain(reader)).ends
        assert end.reason == "threshold"
    assert len(provider.turns) == 46
    assert max(map(tokens_of, provider.turns)) <= 84_000
    assert "read all of it" in texts(provider.turns[-1])[1], "what is asked for stays"


def full(count: int, size: int, reported: int) -> Log:
    """So many turns of this size, and one more whose answer reports so many tokens."""
    log = Log()
    log.turns(count, size)
    log.add(user("and?"), assistant("fine", usage=usage(reported)))
    return log


async def test_a07_what_an_answer_before_a_compaction_reported_is_not_gone_by_any_more() -> None:
    """A07: 120k were reported; the compaction leaves 20k. Nobody shows the old number, and nothing compacts again."""
    provider = Scribe("good")
    async with compacting(
        provider, full(60, 1_000, 120_000).store(), model=window(200_000), settings=budgets(100_000)
    ) as session:
        reader = session.events()
        compacted = await session.compact()
        assert session.context_usage().tokens is None
        assert session.context_usage().percent is None
        assert str(session.context_usage()) == "?/200000"
        measured = session.measured()
        assert (measured.known, measured.tokens) == (False, compacted.tokens_after)
        assert measured.tokens == sum(item.tokens for item in session.context().items)
        assert 20_000 <= measured.tokens <= 22_000
        assert not (await session.prompt("go on")).failed
        assert len(compactions(session)) == 1
        assert [end.reason for end in news_of(drain(reader)).ends] == ["manual"]
    assert len(provider.turns) == 1


async def test_a08_what_a_provider_reported_of_cut_results_is_believed() -> None:
    """A08: two results that are sent cut. Once the provider has counted that request, its count and what came since decide.

    Before that the count is of what the log has (SPEC, P: the selection is what is counted), and that is capped at the door (S12).
    """
    model = window(128_000, limits=Limits(text_bytes=32_768))
    log = Log()
    log.add(user("read both"), assistant(call("a"), call("b"), stop="toolUse"))
    log.add(result("a", words_of(500_000)), result("b", words_of(1_150_000)))
    log.add(assistant("read", usage=usage(17_000)))
    provider = Scribe(takes=128_000)
    async with compacting(provider, log.store(), model=model) as session:
        assert session.context_usage().tokens == 17_000
        assert not (await session.prompt("and now?")).failed
        assert compactions(session) == []
    assert tokens_of(provider.turns[0]) < 17_000


async def test_a08_a_result_that_is_sent_cut_ends_no_run() -> None:
    """A08: nobody has reported anything yet. What the log has is larger than the window; what is sent is a tenth of it."""
    model = window(128_000, limits=Limits(text_bytes=32_768))
    provider = Scribe(reading(1), "read", takes=128_000)
    async with compacting(provider, model=model, tools=[looking(1_150_000)]) as session:
        outcome = await session.prompt("read it")
        assert (outcome.failed, answer_of(outcome)) == (False, "read")
    assert tokens_of(provider.turns[-1]) < 12_800


async def test_a10_failed_answers_do_not_hide_how_full_it_is() -> None:
    """A10: a good answer reported 190k of 200k; three that were overloaded report nothing. The next prompt compacts first."""
    log = full(100, 1_800, 190_000)
    for _ in range(3):
        log.add(user("still there?"), assistant(stop="error", error="529 overloaded"))
    provider = Scribe("yes")
    async with compacting(provider, log.store(), model=window(200_000)) as session:
        assert not (await session.prompt("go on")).failed
        assert len(compactions(session)) == 1
    assert [request.purpose for request in provider.requests] == ["compaction", "turn"]


def forty_turns() -> list[KnownEntry]:
    """Up to 150k of 200k."""
    entries: list[KnownEntry] = []
    for turn in range(40):
        parent = nth_id(2 * turn - 1) if turn else None
        entries.append(message_entry(nth_id(2 * turn), user(f"question {turn} {words_of(1_800)}"), parent))
        said = assistant(f"answer {turn} {words_of(1_800)}", usage=usage(3_750 * (turn + 1)))
        entries.append(message_entry(nth_id(2 * turn + 1), said, nth_id(2 * turn)))
    return entries


async def test_a20_after_a_move_to_an_early_message_the_next_prompt_does_not_compact(tmp_path: Path) -> None:
    """A20: what was left is not in the way: it is beyond the threshold of 120k, and what is moved to is far below it."""
    path = put(tmp_path / "s.jsonl", lines_of(forty_turns()))
    provider = Scribe("short")
    async with compacting(provider, path, model=MODEL, settings=budgets(80_000)) as session:
        assert session.context_usage().tokens == 40 * 3_750
        await session.navigate(EntryId(nth_id(5)))
        assert session.context_usage().tokens == 3 * 3_750
        assert not (await session.prompt("again")).failed
        assert compactions(session) == []
    assert len(provider.turns[0].messages) == 7


async def test_a21_a_smaller_model_is_sent_nothing_before_the_history_fits_it() -> None:
    """A21: 300k go on with a model of 128k, which writes the summary as well: in parts, each of which fits it."""
    log = Log()
    log.turns(100, 3_000)
    small = window(128_000)
    provider = Scribe("large", "small")
    async with compacting(provider, log.store(), model=window(1_000_000)) as session:
        await session.prompt("hello")
        assert compactions(session) == []
        provider.takes = 128_000
        await session.set_model(small)
        assert not (await session.prompt("and you?")).failed
        assert len(compactions(session)) == 1
    _, *summaries, last = provider.requests
    assert {request.purpose for request in summaries} == {"compaction"}
    assert len(summaries) >= 3
    for request in (*summaries, last):
        assert tokens_of(request) <= 128_000 - 16_384
    assert last.purpose == "turn"
