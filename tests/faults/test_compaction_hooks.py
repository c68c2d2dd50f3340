"""K: extensions that veto compactions, or give summaries that cannot be used. Refused with a reason, and never a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from sapwood import EntryId, Extension
from sapwood.events.entries import Custom
from sapwood.events.errors import CompactionFailed, ContextTooLarge
from sapwood.events.hooks import Cancel, ProvideSummary, SessionBeforeCompact
from sapwood.events.requests import Append
from sapwood.events.runtime import Diagnostic
from tests.build import TIME, assistant, call, result, user
from tests.faults.compacting import (
    SMALL,
    TIGHT,
    Scribe,
    compacting,
    compactions,
    long_history,
    news_of,
    record,
    seen,
)
from tests.faults.history import Log, words_of
from tests.talking import drain

Answer = Cancel | ProvideSummary | None


def answering(answer: Callable[[SessionBeforeCompact], Answer], name: str = "guard") -> Extension:
    extension = Extension(name)

    @extension.on(SessionBeforeCompact)
    async def handle(question: SessionBeforeCompact, _: object) -> Answer:
        return answer(question)

    return extension


async def test_k05_a_veto_is_asked_for_once_an_input_and_is_named_where_nothing_fits_any_more() -> None:
    """K05: over the threshold the run goes on without; over the window a typed error names who vetoed; a person may pass him by."""
    asked: list[str] = []

    def never(question: SessionBeforeCompact) -> Cancel:
        asked.append(question.reason)
        return Cancel(reason="not now")

    provider = Scribe(says=lambda _: words_of(300), takes=10_000)
    log = Log()
    log.turns(6, 1_250)
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT, extensions=[answering(never)]) as session:
        reader = session.events()
        assert not (await session.prompt(words_of(600))).failed
        assert asked == ["threshold"], "once, before the run; behind it nothing has changed"
        [failure] = news_of(drain(reader)).failures
        assert (failure.from_extension, failure.aborted, failure.reason) == (True, True, "threshold")
        asked.clear()
        with pytest.raises(ContextTooLarge) as caught:
            await session.prompt(words_of(1_800))
        assert asked == ["threshold"]
        assert "the extension 'guard' cancelled the compaction: not now" in str(caught.value)
        assert len(provider.turns) == 1
        assert compactions(session) == []
        with pytest.raises(CompactionFailed, match="'guard'"):
            await session.compact()
        await session.compact(ask_extensions=False)
        assert len(compactions(session)) == 1
        assert not (await session.prompt("go on")).failed


async def test_k05_a_veto_at_an_overflow_ends_the_run_after_one_attempt() -> None:
    """K05: the provider refuses what we took to fit. Its error stands, and what failed names who vetoed."""
    vetoing = answering(lambda _: Cancel(reason="not now"))
    provider = Scribe(takes=3_000)
    async with compacting(
        provider, long_history(5).store(), model=SMALL, settings=TIGHT, extensions=[vetoing]
    ) as session:
        for _ in range(2):
            reader, before = session.events(), len(provider.turns)
            assert (await session.prompt("go on")).failed
            assert len(provider.turns) == before + 1
            [failure] = news_of(drain(reader)).failures
            assert (failure.reason, failure.from_extension, failure.will_retry) == ("overflow", True, False)
            assert session.state == "idle"
        assert provider.summaries == []


ELSEWHERE: Final = EntryId("elsewhere")
MISFITS: Final[dict[str, tuple[ProvideSummary, str]]] = {
    "no entry": (ProvideSummary(text="Done.", first_kept=EntryId("nobody")), "is not in the context"),
    "another branch": (ProvideSummary(text="Done.", first_kept=ELSEWHERE), "is not in the context"),
    "a result": (ProvideSummary(text="Done.", first_kept=EntryId("00000002")), "the result of a call"),
    "an empty text": (ProvideSummary(text=" \n"), "its text is empty"),
    "5 MB": (ProvideSummary(text="m" * 5_000_000), "5000000 characters"),
}


def with_a_call() -> Log:
    log = Log()
    log.add(user("read"), assistant(call("c1"), stop="toolUse"), result("c1", words_of(300)), assistant("read"))
    log.turns(6, 1_200)
    return log


@pytest.mark.parametrize(("given", "why"), MISFITS.values(), ids=MISFITS)
async def test_k07_a_summary_that_cannot_be_used_is_refused_with_a_reason(given: ProvideSummary, why: str) -> None:
    """K07: and a model writes it. "Later than the leaf" is "no entry": there is none behind the leaf."""
    provider = Scribe()
    log = with_a_call()
    async with compacting(
        provider, log.store(), model=SMALL, settings=TIGHT, extensions=[answering(lambda _: given)]
    ) as session:
        other = Custom(id=ELSEWHERE, parent_id=EntryId("00000003"), timestamp=TIME, custom_type="x")
        back = Custom(id=EntryId("back"), parent_id=log.leaf, timestamp=TIME, custom_type="sapwood.leaf")
        for entry in (other, back):
            await session._wiring.pen.session_log.ask(Append(entries=(entry,), under=entry.parent_id or EntryId("")))
        reader = session.events()
        compacted = await session.compact()
        assert compacted.entry.summary.startswith(record())
        assert compacted.entry.from_hook is None
        told = drain(reader)
        [refusal] = [one for one in told if isinstance(one, Diagnostic) and one.code == "summary_refused"]
        assert why in refusal.message
        assert [one.from_extension for one in news_of(told).successes] == [False]
        assert not (await session.prompt("go on")).failed
    assert len(provider.summaries) >= 1


@pytest.mark.parametrize("kept", ["nothing", "the last question", "as planned"])
async def test_k07_a_summary_that_can_be_used_is_stored_as_it_is(kept: str) -> None:
    """K07: from where it says on; no model is asked, and what it billed is in the entry."""
    log = with_a_call()
    question = log.entries[-2].id
    first: EntryId | None = {"nothing": "nothing", "the last question": question}.get(kept)  # type: ignore[assignment]
    given = ProvideSummary(text="All was done.", first_kept=first, details={"by": "guard"})
    provider = Scribe()
    async with compacting(
        provider, log.store(), model=SMALL, settings=TIGHT, extensions=[answering(lambda _: given)]
    ) as session:
        entry = (await session.compact()).entry
        assert (entry.summary, entry.from_hook, entry.details) == ("All was done.", True, {"by": "guard"})
        left = {"nothing": 0, "the last question": 2, "as planned": 2}[kept]
        assert len(session.context().items) == 1 + left or kept == "as planned"
        if kept == "nothing":
            assert entry.first_kept_entry_id == entry.id
        assert not (await session.prompt("go on")).failed
    assert provider.summaries == []


async def test_k07_what_a_hook_is_told_is_what_would_be_summarised() -> None:
    """K07: it has all it needs to say where the kept part begins, and nothing changes until it has answered."""
    questions: list[SessionBeforeCompact] = []
    before: list[list[bytes]] = []

    def look(question: SessionBeforeCompact) -> None:
        questions.append(question)
        before.append(seen(session))

    log = with_a_call()
    async with compacting(Scribe(), log.store(), model=SMALL, settings=TIGHT, extensions=[answering(look)]) as session:
        whole = seen(session)
        entry = (await session.compact("keep the names")).entry
    [question] = questions
    assert before == [whole]
    assert question.custom_instructions == "keep the names"
    assert (question.reason, question.will_retry) == ("manual", False)
    assert question.branch_entry_ids == tuple(one.id for one in log.entries)
    told = question.preparation
    assert told.first_kept_entry_id == entry.first_kept_entry_id
    assert told.tokens_before == entry.tokens_before
    kept = [one.id for one in log.entries].index(entry.first_kept_entry_id)
    assert [*told.messages_to_summarize, *told.turn_prefix_messages] == log.messages[:kept]
    assert told.settings == {"enabled": True, "reserveTokens": 2_000, "keepRecentTokens": 1_500}
