"""Where a run looks at its context, and what it does then (C3, C16, C17)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import trio
import trio.testing

from sapwood import (
    CannotWrite,
    ContextTooLarge,
    Extension,
    ExtensionContext,
    Failed,
    Measured,
    Model,
    ScriptedAnswer,
    Session,
    StoreConflict,
)
from sapwood.actors.compaction.recovery import FAILED_WORDS
from sapwood.events.entries import ContextEdit, UsageEntry
from sapwood.events.hooks import Cancel, SessionBeforeCompact
from sapwood.events.messages import Usage
from sapwood.events.runtime import AgentEnd, CompactionEnd, CompactionStart, Event, name_of
from tests.build import call, usage, words
from tests.compacting import SMALL, conversation, settings, sized, summary

GOOD = summary(says="of tea")
DONE = ["compaction_start", "session_compact", "compaction_end"]
FAILED = ["compaction_start", "compaction_end", "session_compact_failed"]
ON = settings(keep=100, enabled=True)
"""Due beyond 8000 tokens."""
TOO_LONG = ScriptedAnswer(error="prompt is too long")


def order(events: Sequence[Event]) -> list[str]:
    """The ends and beginnings, as they came."""
    wanted = {"agent_start", "agent_end", "turn_start", "turn_end", "agent_settled", *DONE, *FAILED}
    return [name for name in map(name_of, events) if name in wanted]


def big(tokens: int = 8_500) -> str:
    return sized(tokens, "big")


async def test_a_context_that_grew_too_large_is_compacted_behind_the_run_that_made_it_so() -> None:
    async with conversation(GOOD, turns=[sized(8_500, "long"), "on"], settings=ON, each=300) as talk:
        await talk.session.prompt("go")

        assert order(talk.told()) == ["agent_start", "turn_start", "turn_end", "agent_end", *DONE, "agent_settled"]
        assert talk.session.state == "idle"
        [entry] = talk.compactions()
        assert entry.tokens_before > 8_000


async def test_what_is_about_to_be_said_is_counted_before_the_run_begins() -> None:
    async with conversation(GOOD, turns=["on", "on"], settings=ON) as talk:
        await talk.session.prompt(sized(7_900, "almost"))
        talk.told()

        await talk.session.prompt(sized(200, "more"))

        told = talk.told()
        assert order(told)[: len(DONE) + 1] == [*DONE, "agent_start"]
        assert [one.reason for one in told if isinstance(one, CompactionStart)] == ["threshold"]


async def test_between_turns_it_is_looked_at_behind_the_tools() -> None:
    async def read(path: str) -> str:
        return sized(8_500, path)

    calling = ScriptedAnswer(text="see", calls=(call("c1", path="a.py"),))
    async with conversation(
        GOOD, turns=[calling, "on"], prefixes=[summary("turn_prefix")] * 2, settings=ON, tools=[read], each=300
    ) as talk:
        await talk.session.prompt("go")

        told = order(talk.told())
        assert told[:3] == ["agent_start", "turn_start", "turn_end"]
        assert told[3:7] == [*DONE, "turn_start"]


@pytest.mark.parametrize("enabled", [False, True])
async def test_nothing_happens_by_itself_at_the_threshold_or_where_it_is_off(*, enabled: bool) -> None:
    size = 8_000 - 40 - 2 - 1 if enabled else 9_000  # talked, `go` and the answer behind it come to 43
    async with conversation(GOOD, turns=[sized(size, "x")], settings=settings(keep=100, enabled=enabled)) as talk:
        await talk.session.prompt("go")
        assert talk.news() == []


async def test_a_run_goes_on_where_the_summary_failed_and_it_is_not_tried_again_without_need() -> None:
    bad = ScriptedAnswer(error="invalid api key")
    big_model = Model(provider="scripted", id="roomy", context_window=20_000)
    async with conversation(
        *[bad] * 5, turns=[big(18_500), "on", "on"], settings=settings(keep=100, enabled=True), model=big_model
    ) as talk:
        outcome = await talk.session.prompt("go")
        assert not outcome.failed
        assert order(talk.told())[-len(FAILED) - 1 :] == [*FAILED, "agent_settled"]

        await talk.session.prompt("again")
        told = talk.told()
        ends = [one for one in told if isinstance(one, CompactionEnd)]
        assert [one.error_message for one in ends] == [
            "Auto-compaction failed: Summarization failed: invalid api key"
        ], "once before the run, and not again behind it"
        assert talk.seen()[-1] == "on"


async def test_a_summary_that_frees_nothing_is_refused_by_itself_and_taken_from_a_person() -> None:
    long = ScriptedAnswer(text=summary(says=sized(9_000)), usage=usage(11))
    async with conversation(long, long, turns=[big(), sized(10)], settings=ON, each=300) as talk:
        await talk.session.prompt("go")

        ends = [one for one in talk.told() if isinstance(one, CompactionEnd)]
        assert len(ends) == 1
        assert ends[0].error_message is not None
        assert ends[0].error_message.startswith(
            "Auto-compaction failed: the summary is no smaller than what it stands for: "
        )
        assert [one.usage.total_tokens for one in talk.session.entries() if isinstance(one, UsageEntry)] == [11]
        assert talk.compactions() == []

        await talk.session.compact()
        assert len(talk.compactions()) == 1


async def test_what_cannot_be_made_to_fit_is_handed_back_with_the_sizes_and_the_reason() -> None:
    async with conversation(GOOD, turns=["on"], settings=ON) as talk:
        before = talk.session.entries()
        handle = talk.session.submit(sized(10_500, "huge"))
        with pytest.raises(ContextTooLarge) as failed:
            await handle.outcome()

        error = failed.value
        assert (error.window, error.tokens > 10_000) == (10_000, True)
        assert {entry_id for entry_id, _ in error.largest} <= {str(entry.id) for entry in talk.session.entries()}
        assert isinstance(handle.outcome_nowait, Failed)
        assert handle.outcome_nowait.text == sized(10_500, "huge")
        assert talk.session.state == "idle"
        assert talk.requests("turn")[-1].purpose == "turn"
        assert len(talk.requests("turn")) == 2
        assert [entry.id for entry in talk.session.entries()][: len(before)] == [entry.id for entry in before]

        await talk.session.prompt("short")
        assert talk.seen()[-2:] == ["short", "on"]


async def test_why_the_last_compaction_came_to_nothing_is_named() -> None:
    extension = Extension("strict")

    @extension.on(SessionBeforeCompact)
    def no(question: SessionBeforeCompact, _: ExtensionContext) -> Cancel:
        return Cancel(reason="never")

    async with conversation(GOOD, settings=settings(enabled=True), extensions=[extension]) as talk:
        with pytest.raises(ContextTooLarge) as failed:
            await talk.session.prompt(sized(10_500, "huge"))

        assert failed.value.why == "the extension 'strict' cancelled the compaction: never"
        assert "(the extension 'strict' cancelled the compaction: never)" in str(failed.value)
        assert [count for _, count in failed.value.largest] == [10, 10, 10]


async def test_of_an_unknown_window_nothing_is_refused() -> None:
    unknown = Model(provider="scripted", id="unknown")
    async with conversation(
        *[GOOD] * 3, turns=["on"], prefixes=[summary("turn_prefix")] * 3, settings=ON, model=unknown
    ) as talk:
        outcome = await talk.session.prompt(sized(130_000, "huge"))

        assert outcome.answer is not None
        assert not outcome.failed


# recovery


async def test_a_request_that_was_too_large_is_made_again_behind_a_compaction() -> None:
    async with conversation(GOOD, turns=[TOO_LONG, "on"], settings=ON, each=300) as talk:
        outcome = await talk.session.prompt(sized(50, "go"))

        told = talk.told()
        assert order(told) == [
            *("agent_start", "turn_start", "turn_end", "agent_end"),
            *DONE,
            *("agent_start", "turn_start", "turn_end", "agent_end", "agent_settled"),
        ]
        assert [one.will_retry for one in told if isinstance(one, AgentEnd)] == [True, False]
        assert [(one.reason, one.will_retry) for one in told if isinstance(one, CompactionEnd)] == [("overflow", True)]
        assert outcome.answer is not None
        assert words(outcome.answer) == "on"
        edits = [entry for entry in talk.session.entries() if isinstance(entry, ContextEdit)]
        assert [one.replacement for one in edits] == [None]
        assert talk.seen()[-2:] == [sized(50, "go"), "on"]
        assert sum(one.startswith("go") for one in talk.seen()) == 1


async def test_a_second_time_says_so_and_hides_nothing_more() -> None:
    async with conversation(GOOD, turns=[TOO_LONG, TOO_LONG, "on"], settings=ON, each=300) as talk:
        outcome = await talk.session.prompt(sized(300, "go"))

        assert outcome.failed
        told = talk.told()
        ends = [one for one in told if isinstance(one, CompactionEnd)]
        assert [one.error_message for one in ends] == [None, FAILED_WORDS["overflow"]]
        assert order(told)[-4:] == ["agent_end", "compaction_end", "session_compact_failed", "agent_settled"]
        assert len([entry for entry in talk.session.entries() if isinstance(entry, ContextEdit)]) == 1
        assert talk.session.state == "idle"

        await talk.session.prompt("and now")
        assert talk.seen()[-1] == "on"


async def test_a_recovery_whose_summary_fails_keeps_the_omission_and_lets_what_waits_go_its_way() -> None:
    bad = ScriptedAnswer(error="invalid api key")
    async with conversation(bad, turns=[TOO_LONG, "on"], settings=ON) as talk:
        waiting = talk.session.follow_up("later")
        await talk.session.prompt(sized(300, "go"))
        await waiting.outcome()

        ends = [one for one in talk.told() if isinstance(one, CompactionEnd)]
        assert [(one.error_message, one.will_retry) for one in ends] == [
            ("Context overflow recovery failed: Summarization failed: invalid api key", False)
        ]
        assert talk.compactions() == []
        assert talk.seen()[-2:] == ["later", "on"]


async def test_with_compaction_off_the_error_simply_surfaces() -> None:
    async with conversation(GOOD, turns=[TOO_LONG], settings=settings(keep=100)) as talk:
        outcome = await talk.session.prompt("go")

        assert outcome.failed
        assert (talk.news(), talk.compactions()) == ([], [])


async def test_a_whole_answer_to_more_than_the_window_stays_and_the_past_is_compacted() -> None:
    whole = ScriptedAnswer(text="whole", usage=Usage.of(input=10_001, output=1))
    async with conversation(GOOD, turns=[whole], settings=settings(keep=20, enabled=True), each=300) as talk:
        outcome = await talk.session.prompt("go")

        assert not outcome.failed
        told = talk.told()
        assert order(told) == ["agent_start", "turn_start", "turn_end", "agent_end", *DONE, "agent_settled"]
        assert [(one.reason, one.will_retry) for one in told if isinstance(one, CompactionEnd)] == [("overflow", False)]
        assert talk.seen()[-1] == "whole"
        assert not [entry for entry in talk.session.entries() if isinstance(entry, ContextEdit)]


async def test_an_abort_in_a_recovery_ends_the_run_as_stopped(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(ScriptedAnswer(text=GOOD, wait=1000), turns=[TOO_LONG, "on"], settings=ON) as talk:
        handle = talk.session.submit(sized(300, "go"))
        await trio.sleep(1)
        assert talk.session._wiring.lease.at == "run_compacting"
        began = trio.current_time()
        await talk.session.abort()

        assert trio.current_time() - began < 0.2
        outcome = await handle.outcome()
        assert getattr(outcome, "aborted", None) is True
        assert (talk.news(), talk.compactions(), talk.session.state) == (FAILED, [], "idle")
        assert len(talk.requests("turn")) == 3


async def test_an_abort_in_a_look_before_the_run_ends_it(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(ScriptedAnswer(text=GOOD, wait=1000), turns=["on", "on"], settings=ON) as talk:
        await talk.session.prompt(sized(7_900, "almost"))
        handle = talk.session.submit(sized(200, "more"))
        await trio.sleep(1)
        began = trio.current_time()
        await talk.session.abort()

        assert trio.current_time() - began < 0.2
        with_outcome = await handle.outcome()
        assert getattr(with_outcome, "aborted", None) is True
        assert (talk.compactions(), talk.session.state) == ([], "idle")


async def test_a_switch_to_a_smaller_model_is_looked_at_before_the_next_request() -> None:
    wide = Model(provider="scripted", id="wide", context_window=100_000)
    async with conversation(GOOD, turns=[sized(8_500, "x"), "on"], settings=ON, model=wide, each=300) as talk:
        await talk.session.prompt("go")
        assert talk.news() == []

        await talk.session.set_model(SMALL)
        await talk.session.prompt("and now")

        assert talk.news() == DONE
        assert talk.requests()[0].model == SMALL


@pytest.mark.parametrize("size", [8_100, 12_000])
async def test_no_mix_of_failures_goes_round_for_ever(size: int) -> None:
    bad = ScriptedAnswer(error="invalid api key")
    async with conversation(*[bad] * 50, turns=[big(size), *["on"] * 5], settings=ON) as talk:
        for _ in range(4):
            with suppress(ContextTooLarge):
                await talk.session.prompt("go")

        assert 1 <= talk.news().count("compaction_start") <= 4


async def test_what_is_steered_is_weighed_before_the_request_that_it_joins() -> None:
    """It was sent, though it was larger than the window."""
    said: list[Session] = []

    async def look() -> str:
        """Look."""
        said[0].steer(sized(9_500, "much"))
        return "seen"

    turns: list[ScriptedAnswer | str] = [ScriptedAnswer(calls=(call("c1", "look"),)), "on"]
    async with conversation(GOOD, turns=turns, settings=ON, tools=[look], each=300) as talk:
        said.append(talk.session)
        await talk.session.prompt("go")

        purposes = [one.purpose for one in talk.provider.requests]
        assert purposes[-2:] == ["compaction", "turn"] or purposes[-3:] == ["compaction", "turn_prefix", "turn"]
        assert len(talk.compactions()) == 1


async def test_what_is_in_the_log_is_told_as_done_though_nothing_can_be_measured_behind_it() -> None:
    """It was told as done, and its asker was told that it had failed."""
    async with conversation(GOOD, settings=ON) as talk:
        await talk.session.prompt(big(400))
        projection = talk.session._wiring.fold()
        measure = projection.measure

        def broken() -> Measured:
            if talk.compactions():
                raise CannotWrite("s.jsonl", OSError(5, "Input/output error"))
            return measure()

        projection.measure = broken  # type: ignore[method-assign]
        compacted = await talk.session.compact()

        assert [compacted.entry] == talk.compactions()
        assert compacted.tokens_after > 0
        assert order(talk.told())[-3:] == DONE


async def test_a_usage_that_cannot_be_locks_nobody_out() -> None:
    """A thousand million tokens were reported once: no prompt was taken any more, after reopening neither."""
    lying = ScriptedAnswer(text="hi", usage=usage(10**9))
    async with conversation(GOOD, turns=[lying, "on"], settings=ON) as talk:
        await talk.session.prompt("go")

        assert not (await talk.session.prompt("and now?")).failed


async def test_nobody_is_paid_for_what_cannot_be_written(tmp_path: Path) -> None:
    path = str(tmp_path / "s.jsonl")
    async with conversation(GOOD, where=path, settings=ON, each=400) as talk:
        Path(path).unlink()
        with pytest.raises(StoreConflict):
            await talk.session.compact()

        assert [one.purpose for one in talk.provider.requests if one.purpose != "turn"] == []
        assert "compaction_start" not in order(talk.told())
