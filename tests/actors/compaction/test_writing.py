"""How a compaction's summary comes about: an extension gives it, or a model writes it in one or two jobs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

import attrs
import pytest
import trio
import trio.testing

from sapwood import CompactionFailed, Extension, ExtensionContext, Refused, ScriptedAnswer, StoreError
from sapwood.actors.environment import Environment
from sapwood.actors.summaries.contract import LONGEST
from sapwood.events.base import is_object
from sapwood.events.entries import BranchSummary, ContextEdit, UsageEntry
from sapwood.events.hooks import Cancel, CompactionPreparation, ProvideSummary, SessionBeforeCompact
from sapwood.events.ids import EntryId
from sapwood.events.messages import BashExecutionMessage
from sapwood.events.requests import Append
from sapwood.events.runtime import (
    CompactionEnd,
    Diagnostic,
    SessionCompact,
    SessionCompactFailed,
)
from tests.build import MS, TIME, assistant, call, message_entry, usage, words
from tests.compacting import SMALL, Talk, conversation, settings, sized, summary
from tests.talking import names

T = TypeVar("T")
GOOD = summary(says="of tea")
PREFIX = summary("turn_prefix", says="of milk")


def saying(*answers: object, asked: list[SessionBeforeCompact] | None = None, name: str = "ext") -> Extension:
    """An extension that answers each compaction with the next of these; an exception is raised."""
    left = iter(answers)

    def answer(question: SessionBeforeCompact, _: ExtensionContext) -> Any:
        if asked is not None:
            asked.append(question)
        given = next(left)
        if isinstance(given, Exception):
            raise given
        return given

    extension = Extension(name)
    extension.on(SessionBeforeCompact)(answer)
    return extension


# a model


def of_request(talk: Talk, at: int = 0) -> str:
    return "".join(map(words, talk.requests()[at].messages))


async def test_a_summary_is_asked_for_without_tools_or_cache_and_with_the_past_as_text() -> None:
    async with conversation(GOOD) as talk:
        await talk.session.compact("Mind the milk.")

        [request] = talk.requests()
        assert (request.model, request.purpose, request.thinking_level) == (SMALL, "compaction", "off")
        assert (request.cache_write, request.max_output) == (False, None)
        assert not [one for one in request.messages if getattr(one, "tools_added", None)]
        asked = of_request(talk)
        assert f"[User]: {sized(10, 'u0')}\n\n[Assistant]: {sized(10, 'a0')}\n</conversation>" in asked
        assert "Mind the milk." in asked
        assert sized(10, "u1") not in asked


async def test_the_routing_key_is_fresh_for_each_job_and_the_same_in_its_retries(
    autojump_clock: trio.testing.MockClock,
) -> None:
    script: list[ScriptedAnswer | str] = [ScriptedAnswer(error="overloaded"), GOOD, GOOD]
    async with conversation(*script, turns=["on", "on"], settings=settings(keep=5)) as talk:
        talk.provider.add("turn_prefix", *[ScriptedAnswer(text=PREFIX)] * 2)
        await talk.session.compact()
        await talk.session.prompt(sized(40))
        await talk.session.compact()

        keys = [(request.purpose, request.cache_key) for request in talk.requests()]
        of_history = [key for purpose, key in keys if purpose == "compaction"]
        assert None not in dict(keys).values()
        assert of_history[0] == of_history[1] != of_history[2]
        assert len({key for _, key in keys}) == len(keys) - 1


@pytest.mark.parametrize(("thinks", "level"), [(True, "high"), (False, "off")])
async def test_the_sessions_thinking_level_goes_to_a_model_that_thinks(level: str, *, thinks: bool) -> None:
    model = type(SMALL)(provider="scripted", id="thinker", context_window=10_000, thinks=thinks)
    async with conversation(GOOD, model=model) as talk:
        await talk.session.set_thinking_level("high")
        await talk.session.compact()

        assert [request.thinking_level for request in talk.requests()] == [level]


async def test_another_model_may_make_the_summaries_in_its_own_room() -> None:
    other = type(SMALL)(provider="scripted", id="other", context_window=3_000)
    async with conversation(
        ScriptedAnswer(text=GOOD), *[GOOD] * 9, settings=settings(reserve=0, summary_model=other)
    ) as talk:
        await talk.session.compact()
        [request] = talk.requests()
        assert request.model == other


async def test_what_does_not_fit_the_summarisers_window_is_summed_up_in_parts() -> None:
    other = type(SMALL)(provider="scripted", id="other", context_window=3_000)
    async with conversation(
        *[ScriptedAnswer(text=GOOD, usage=usage(1))] * 9,
        settings=settings(reserve=0, summary_model=other),
        turns=[sized(2_000, "b"), sized(10, "c")],
    ) as talk:
        await talk.session.prompt(sized(2_000, "a"))
        await talk.session.prompt(sized(10, "d"))
        await talk.session.compact()

        calls = len(talk.requests())
        assert calls > 1
        [entry] = talk.compactions()
        assert entry.usage is not None
        assert entry.usage.total_tokens == calls
        assert "<previous-summary>" in of_request(talk, 1)


async def test_the_previous_summary_goes_along_and_lists_of_files_are_kept() -> None:
    async with conversation(GOOD, GOOD, turns=["on"]) as talk:
        await talk.session.compact()
        await talk.session.prompt(sized(40, "n"))
        await talk.session.compact()

        assert f"<previous-summary>\n{GOOD}\n</previous-summary>" in of_request(talk, 1)
        assert sized(10, "u0") not in of_request(talk, 1)
        assert sized(10, "u1") in of_request(talk, 1)
        assert len(talk.compactions()) == 2


async def test_files_of_branch_summaries_and_of_hidden_calls_are_kept() -> None:
    """Only the compaction before handed its lists on, and what an edit hid was taken for what had never run."""
    async with conversation(GOOD, turns=["on"]) as talk:
        pen = talk.session._wiring.pen
        details = {"readFiles": ["branch.py"], "modifiedFiles": []}
        branch = BranchSummary(
            id=EntryId("b"), parent_id=None, timestamp=TIME, from_id=EntryId("x"), summary="B.", details=details
        )
        hidden = message_entry("h", assistant(call("1", "write", path="hidden.py", content="x"), stop="toolUse"))
        edit = ContextEdit(id=EntryId("e"), parent_id=None, timestamp=TIME, target_id=EntryId("h"), replacement=None)
        await pen.session_log.ask(Append(entries=(branch, hidden, edit)))
        await talk.session.prompt(sized(40, "n"))
        await talk.session.compact()

        [entry] = talk.compactions()
        assert is_object(entry.details)
        assert (entry.details["readFiles"], entry.details["modifiedFiles"]) == (["branch.py"], ["hidden.py"])
        assert entry.summary.endswith(
            "<read-files>\nbranch.py\n</read-files>\n\n<modified-files>\nhidden.py\n</modified-files>"
        )


async def test_a_turn_that_is_split_is_summed_up_side_by_side_with_what_came_before(
    autojump_clock: trio.testing.MockClock,
) -> None:
    waiting = ScriptedAnswer(text=GOOD, wait=5, usage=usage(3)), ScriptedAnswer(text=PREFIX, wait=5, usage=usage(4))
    async with conversation(waiting[0], prefixes=[waiting[1]], settings=settings(keep=5)) as talk:
        began = trio.current_time()
        await talk.session.compact("Mind the milk.")

        assert trio.current_time() - began == pytest.approx(5, abs=0.5)
        assert {request.purpose for request in talk.requests()} == {"compaction", "turn_prefix"}
        assert all("Mind the milk." in of_request(talk, at) for at in range(2))
        [entry] = talk.compactions()
        assert entry.usage is not None
        assert entry.usage.total_tokens == 7
        request = "**The request of this turn, word for word:**"
        assert entry.summary == (
            f"{GOOD}\n\n---\n\n**Turn Context (split turn):**\n\n{PREFIX}\n\n{request}\n\n{sized(10, 'u1')}"
        )


@pytest.mark.parametrize("broken", ["compaction", "turn_prefix"])
async def test_once_a_half_fails_the_other_one_is_stopped(broken: str, autojump_clock: trio.testing.MockClock) -> None:
    bad = ScriptedAnswer(error="invalid api key", wait=1)
    slow = ScriptedAnswer(text=GOOD, wait=1000)
    halves = (bad, slow) if broken == "compaction" else (slow, bad)
    async with conversation(halves[0], prefixes=[halves[1]], settings=settings(keep=5)) as talk:
        began = trio.current_time()
        label = "Summarization" if broken == "compaction" else "Turn prefix summarization"
        with pytest.raises(CompactionFailed, match=f"^{label} failed: invalid api key$"):
            await talk.session.compact()

        assert trio.current_time() - began < 2
        assert (talk.compactions(), talk.session.state) == ([], "idle")


async def test_what_the_stopped_half_was_billed_is_in_the_totals(autojump_clock: trio.testing.MockClock) -> None:
    # this used to be lost with the half
    missing = ScriptedAnswer(text=summary(less=1), usage=usage(5))
    bad = ScriptedAnswer(error="invalid api key", wait=1)
    async with conversation(
        missing, ScriptedAnswer(text=GOOD, wait=1000), prefixes=[bad], settings=settings(keep=5)
    ) as talk:
        with pytest.raises(CompactionFailed):
            await talk.session.compact()

        assert billed(talk) == [("compaction", 5, "Turn prefix summarization failed: invalid api key")]


def billed(talk: Talk) -> list[tuple[str, int | None, str]]:
    """The usage entries: what for, how much, and the end of the note."""
    found = [entry for entry in talk.session.entries() if isinstance(entry, UsageEntry)]
    assert all(one.note is not None and one.note.startswith("no compaction came of it: ") for one in found)
    return [(one.kind, one.usage.total_tokens, str(one.note).partition(": ")[2]) for one in found]


async def test_what_a_failed_compaction_cost_is_in_the_log() -> None:
    cut = ScriptedAnswer(text=GOOD, stop_reason="length", usage=usage(9))
    async with conversation(cut) as talk:
        with pytest.raises(CompactionFailed) as failed:
            await talk.session.compact()

        assert billed(talk) == [("compaction", 9, str(failed.value))]
        assert talk.session.stats().by_model["scripted/small"].total == 9
        assert talk.session.stats().by_purpose["compaction"].total == 9


async def test_what_a_stopped_compaction_cost_is_in_the_log(autojump_clock: trio.testing.MockClock) -> None:
    # this used to be in no total
    missing = ScriptedAnswer(text=summary(less=1), usage=usage(5))
    async with conversation(missing, ScriptedAnswer(text=GOOD, wait=1000)) as talk:
        with trio.move_on_after(1):
            await talk.session.compact()
        await trio.testing.wait_all_tasks_blocked()

        assert billed(talk) == [("compaction", 5, "it was stopped")]
        assert talk.news() == ["compaction_start", "compaction_end", "session_compact_failed"]


async def test_who_stops_it_does_not_wait_for_a_long_text_that_is_being_read(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It used to be read where nobody could leave."""

    async def slowly(function: Callable[[], T], /) -> T:
        await trio.sleep(60)
        return function()

    environment = attrs.evolve(Environment.scripted(), run_foreign=slowly)
    async with conversation(GOOD, environment=environment) as talk:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stopped, talk)
            await trio.sleep(1)
            await talk.session.abort()

        assert trio.current_time() - began < 2
        assert (talk.compactions(), talk.session.state) == ([], "idle")


async def test_what_was_not_billed_leaves_no_entry() -> None:
    async with conversation(ScriptedAnswer(error="invalid api key")) as talk:
        with pytest.raises(CompactionFailed):
            await talk.session.compact()

        assert billed(talk) == []


async def test_a_summary_that_misses_the_format_twice_is_stored_and_says_so() -> None:
    missing = summary(less=1)
    async with conversation(missing, missing) as talk:
        await talk.session.compact()

        [entry] = talk.compactions()
        assert is_object(entry.details)
        assert entry.details["lacking"] == ["## Goal"]


async def test_the_news_of_a_retry_is_told(autojump_clock: trio.testing.MockClock) -> None:
    async with conversation(ScriptedAnswer(error="overloaded"), GOOD) as talk:
        await talk.session.compact()

        told = [name for name in names(talk.told()) if name.startswith(("summarization", "compaction"))]
        assert told == [
            "compaction_start",
            *("summarization_retry_scheduled", "summarization_retry_attempt_start", "summarization_retry_finished"),
            "compaction_end",
        ]


async def test_a_past_that_no_model_was_ever_sent_gives_no_summary() -> None:
    # this used to give an entry with an empty summary
    async with conversation(GOOD, talked=0, turns=["on"], settings=settings(keep=1)) as talk:
        command = BashExecutionMessage(
            command="ls", output="x" * 400, cancelled=False, truncated=False, exclude_from_context=True, timestamp=MS
        )
        pen = talk.session._wiring.pen
        await pen.session_log.ask(Append(entries=(message_entry("b1", command),)))
        await pen.session_log.ask(Append(entries=(message_entry("b2", command),)))

        with pytest.raises(Refused, match="Nothing to compact"):
            await talk.session.compact()

        assert (talk.compactions(), talk.requests()) == ([], [])


# an extension


async def test_an_extension_gives_the_summary_and_no_model_is_asked() -> None:
    asked: list[SessionBeforeCompact] = []
    given = ProvideSummary(text="Tea.", usage=usage(3), details={"mine": 1})
    async with conversation(extensions=[saying(given, asked=asked)]) as talk:
        await talk.session.compact("Mind the milk.")

        [entry] = talk.compactions()
        assert (entry.summary, entry.details, entry.from_hook) == ("Tea.", {"mine": 1}, True)
        assert entry.usage == usage(3)
        assert talk.requests() == []
        assert [one.from_extension for one in talk.told() if isinstance(one, SessionCompact)] == [True]
        [question] = asked
        assert (question.custom_instructions, question.reason, question.will_retry) == (
            "Mind the milk.",
            "manual",
            False,
        )
        before = [one.id for one in talk.session.entries() if one.id != entry.id]
        assert list(question.branch_entry_ids) == before
        assert question.preparation == CompactionPreparation(
            messages_to_summarize=question.preparation.messages_to_summarize,
            turn_prefix_messages=(),
            is_split_turn=False,
            previous_summary=None,
            read_files=(),
            modified_files=(),
            tokens_before=entry.tokens_before,
            first_kept_entry_id=entry.first_kept_entry_id,
            settings={"enabled": False, "reserveTokens": 2_000, "keepRecentTokens": 20},
        )
        summarised = [words(message)[:2] for message in question.preparation.messages_to_summarize]
        assert summarised == ["u0", "a0"]


async def test_an_extension_is_told_of_the_summary_before_and_of_a_turn_that_is_split() -> None:
    asked: list[SessionBeforeCompact] = []
    answers = (ProvideSummary(text="Tea."), ProvideSummary(text="Milk."))
    async with conversation(
        extensions=[saying(*answers, asked=asked)], turns=[sized(10, "b")], settings=settings(keep=5)
    ) as talk:
        await talk.session.compact()
        await talk.session.prompt(sized(10, "n"))
        await talk.session.compact()

        first, second = (one.preparation for one in asked)
        assert (first.previous_summary, second.previous_summary) == (None, "Tea.")
        assert (first.is_split_turn, second.is_split_turn) == (True, True)
        assert [words(message)[:2] for message in first.turn_prefix_messages] == ["u1"]


async def test_an_extension_may_keep_nothing_or_something_else() -> None:
    async with conversation(extensions=[saying(ProvideSummary(text="Tea.", first_kept="nothing"))]) as talk:
        await talk.session.compact()
        [entry] = talk.compactions()
        assert entry.first_kept_entry_id == entry.id
        assert talk.seen() == ["Tea."]

    extension = Extension("keeps")

    @extension.on(SessionBeforeCompact)
    def keep(question: SessionBeforeCompact, _: ExtensionContext) -> ProvideSummary:
        return ProvideSummary(text="Tea.", first_kept=question.branch_entry_ids[1])

    async with conversation(extensions=[extension]) as talk:
        await talk.session.compact()
        assert [one[:2] for one in talk.seen()] == ["Te", "a0", "u1", "a1"]


@pytest.mark.parametrize(("reason", "because"), [("", ""), ("not now", ": not now")])
async def test_an_extension_that_cancels_is_named(reason: str, because: str) -> None:
    async with conversation(GOOD, extensions=[saying(Cancel(reason=reason), name="strict")]) as talk:
        with pytest.raises(CompactionFailed) as failed:
            await talk.session.compact()

        assert str(failed.value) == f"the extension 'strict' cancelled the compaction{because}"
        assert failed.value.aborted
        told = talk.told()
        [end] = [one for one in told if isinstance(one, CompactionEnd)]
        [last] = [one for one in told if isinstance(one, SessionCompactFailed)]
        assert (end.aborted, last.aborted, last.from_extension) == (True, True, True)
        assert (talk.requests(), talk.compactions(), talk.session.state) == ([], [], "idle")


async def test_a_person_may_have_it_done_whatever_extensions_say() -> None:
    asked: list[SessionBeforeCompact] = []
    async with conversation(GOOD, extensions=[saying(Cancel(), asked=asked)]) as talk:
        await talk.session.compact(ask_extensions=False)

        assert (asked, len(talk.compactions())) == ([], 1)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (ProvideSummary(text=" \n"), "its text is empty"),
        (ProvideSummary(text="x" * 5_000_000), f"its text has 5000000 characters, and {LONGEST} is the most"),
        (
            ProvideSummary(text="x", first_kept=EntryId("nobody")),
            "its first kept entry 'nobody' is not in the context, so nothing could begin there",
        ),
    ],
)
async def test_what_an_extension_gives_and_cannot_be_used_is_told_and_a_model_asked(
    given: ProvideSummary, why: str
) -> None:
    async with conversation(GOOD, extensions=[saying(given)]) as talk:
        await talk.session.compact()

        told = talk.told()
        assert [one.message for one in told if isinstance(one, Diagnostic)] == [
            f"the summary that an extension gave cannot be used: {why}. A model writes it"
        ]
        [entry] = talk.compactions()
        assert (entry.summary, entry.from_hook) == (GOOD, None)
        assert [one.from_extension for one in told if isinstance(one, SessionCompact)] == [False]


@pytest.mark.parametrize("works", [True, False])
async def test_what_an_extension_was_billed_for_a_summary_that_cannot_be_used_is_in_the_totals(*, works: bool) -> None:
    """It used to be in none."""
    given = ProvideSummary(text=" ", usage=usage(7))
    answer = ScriptedAnswer(text=GOOD, usage=usage(5)) if works else ScriptedAnswer(error="invalid api key")
    async with conversation(answer, extensions=[saying(given)]) as talk:
        with nullcontext() if works else pytest.raises(CompactionFailed):
            await talk.session.compact()

        assert talk.session.stats().by_purpose["compaction"].input == (12 if works else 7)


async def test_what_an_extensions_summary_cost_is_in_the_totals_where_it_cannot_be_written() -> None:
    async with conversation(extensions=[saying(ProvideSummary(text="Tea.", usage=usage(7)))]) as talk:
        store: Any = talk.session._wiring.view._store
        stage = store.stage

        def refuse(lines: object) -> None:
            store.stage = stage
            raise StoreError("the disk is full")

        store.stage = refuse
        with pytest.raises(CompactionFailed, match="the disk is full"):
            await talk.session.compact()

        assert talk.session.stats().by_purpose["compaction"].input == 7


@pytest.mark.parametrize("given", [ValueError("oops"), 5, None])
async def test_an_extension_that_breaks_or_says_nothing_changes_nothing(given: object) -> None:
    async with conversation(GOOD, extensions=[saying(given)]) as talk:
        await talk.session.compact()

        [entry] = talk.compactions()
        assert (entry.summary, entry.from_hook) == (GOOD, None)
        assert ("extension_error" in names(talk.told())) is (given is not None)


@pytest.mark.parametrize("by", ["abort", "cancel"])
async def test_it_is_stopped_while_an_extension_thinks(by: str, autojump_clock: trio.testing.MockClock) -> None:
    extension = Extension("slow")

    @extension.on(SessionBeforeCompact, limit=None)
    async def think(question: SessionBeforeCompact, _: ExtensionContext) -> None:
        await trio.sleep(1000)

    async with conversation(GOOD, extensions=[extension]) as talk:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stopped, talk)
            await trio.sleep(1)
            if by == "abort":
                await talk.session.abort()
            nursery.cancel_scope.cancel()

        await trio.testing.wait_all_tasks_blocked()
        assert talk.news() == ["compaction_start", "compaction_end", "session_compact_failed"]
        assert talk.session.state == "idle"


async def stopped(talk: Talk) -> None:
    with pytest.raises(CompactionFailed, match=r"^Compaction cancelled$"):
        await talk.session.compact()
