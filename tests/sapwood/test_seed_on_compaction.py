"""The seed on context assembly and compaction, statement by statement (its chapter 15).

Each test says what the seed says. Where SPEC departs, or nothing can be asserted, the reason stands in `LEFT_OUT`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import trio
import trio.testing

from sapwood import (
    BadSettings,
    CompactionSettings,
    Delivered,
    Extension,
    Refused,
    ScriptedAnswer,
    Session,
    Settings,
    SystemPrompt,
    TokenOverride,
    ToolResult,
    load_settings,
)
from sapwood.actors.exclusion.table import BUSY, decide
from sapwood.actors.summaries.contract import HEADINGS
from sapwood.actors.summaries.file_lists import Files, listed
from sapwood.actors.summaries.flatten import TOOL_RESULT_MAX, flatten
from sapwood.events.base import is_object
from sapwood.events.entries import Compaction, ContextEdit, MessageEntry
from sapwood.events.errors import CompactionFailed
from sapwood.events.hooks import Cancel, ProvideSummary, SessionBeforeCompact
from sapwood.events.messages import AssistantMessage, Message, SystemMessage, ToolResultMessage
from sapwood.events.models import Model
from sapwood.events.runtime import CompactionEnd, CompactionStart, SessionCompact, SessionCompactFailed
from tests.build import assistant, call, result, usage, user, words
from tests.sapwood.summarizing import (
    SUMMARY,
    compacting,
    compactions,
    long,
    prompt_of,
    role_of,
    sent,
)
from tests.talking import drain, names

LEFT_OUT: Final = {
    "line numbers and names of functions in Pi's sources": "facts of another code base",
    "the default sections of a system prompt, as a table": "the table was lost when the seed was stored; P6 has ours",
    "two estimators with other constants": "the table was lost; T2 has both, asserted in tests/actors/projection/test_counter.py",
    "/compact returns queued messages to the editor": "there is no editor: they are handed back in the outcome (C15), asserted here",
    "after a compaction the context is near window - reserve": "does not hold in Pi either: it is near what is kept (facts, section 11)",
    "four legal places of a cut": "six roles are (C5); asserted in tests/actors/compaction/test_cut.py",
    "a changed AGENTS.md is recorded in the next turn": "asserted in tests/sapwood/test_system_prompts.py (unlike Pi 1.6.0)",
    "the two requests of a split turn come one after the other": "side by side here (C6)",
    "error and length alone are refused": "also what is empty, aborted or calls a tool (C10)",
    "branch summaries (15.4)": "they have a file of their own",
    "what a summary costs is the price of an ordinary request": "a fact about bills; that it is recorded is asserted here",
}
"""What of the chapter is not asserted in this file, and why."""


async def fill(session: Session, turns: int, *, first: int = 0) -> None:
    for at in range(first, first + turns):
        await session.prompt(long(f"u{at}"))


# 15.1 Where the context comes from


async def test_a_compaction_is_appended_and_nothing_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with compacting(*(long(f"a{at}") for at in range(4)), where=path) as (session, _):
        await fill(session, 3)
        before = path.read_bytes()

        await session.compact()

        assert path.read_bytes().startswith(before)
        assert [type(entry) for entry in session.entries()[-1:]] == [Compaction]
        assert sum(isinstance(entry, MessageEntry) for entry in session.entries()) == 6


async def test_the_context_is_projected_compacted_and_projected_again_and_then_the_prompt_is_compared() -> None:
    sections = {"house": "Be brief."}
    async with compacting(*(long(f"a{at}") for at in range(9)), system_prompt=_prompt(sections)) as (session, _):
        await fill(session, 9)

        assert compactions(session)
        behind = session.entries()[session.entries().index(compactions(session)[-1]) :]
        assert not any(isinstance(one, MessageEntry) and isinstance(one.message, SystemMessage) for one in behind)


def _prompt(sections: dict[str, str]) -> SystemPrompt:
    return SystemPrompt(preamble="You help.", sections=sections)


async def test_usage_of_the_last_answer_is_believed_and_not_after_a_compaction_or_an_edit() -> None:
    answers = [ScriptedAnswer(text="a", usage=usage(700)), ScriptedAnswer(text=long("b"), usage=usage(800))]
    async with compacting(*answers) as (session, _):
        await session.prompt("one")
        assert session.context_usage().tokens == 700
        await session.prompt(long("two", 400))
        assert session.context_usage().tokens == 800

        await session.compact()

        assert str(session.context_usage()) == "?/2000"
        await session.edit(session.entries()[0].id, None)
        assert session.context_usage().tokens is None


async def test_a_failed_an_aborted_and_a_zero_usage_are_passed_over() -> None:
    answers: list[str | ScriptedAnswer] = [
        ScriptedAnswer(text="a", usage=usage(700)),
        ScriptedAnswer(text="b", usage=usage(0)),
        ScriptedAnswer(error="no such model", usage=usage(9)),
    ]
    async with compacting(*answers) as (session, _):
        for text in ("one", "two", "six"):
            await session.prompt(text)

        assert session.context_usage().tokens == 700 + 1 + 1 + 1  # what came behind the report: `two`, `b` and `six`


async def test_without_any_usage_it_is_compacted_all_the_same() -> None:
    async with compacting(*(long(f"a{at}") for at in range(9))) as (session, _):
        await fill(session, 9)

        assert compactions(session)


async def test_the_share_that_is_shown_is_of_the_window_and_not_of_the_threshold() -> None:
    async with compacting(ScriptedAnswer(text="a", usage=usage(500))) as (session, _):
        await session.prompt("one")

        assert str(session.context_usage()) == "25.0%/2000"


# 15.2 When it is compacted


@pytest.mark.parametrize(("tokens", "is_over"), [(183_616, False), (183_617, True)])
def test_the_formula_is_strict_and_an_absolute_amount(tokens: int, *, is_over: bool) -> None:
    budget = CompactionSettings().of(Model(provider="p", id="m", context_window=200_000))

    assert budget.is_over(tokens) is is_over
    assert budget.threshold == 200_000 - 16_384


def test_the_defaults() -> None:
    settings = CompactionSettings()

    assert (settings.enabled, settings.reserve_tokens, settings.keep_recent_tokens) == (True, 16_384, 20_000)


def test_the_larger_the_window_the_later_it_is_compacted() -> None:
    shares = [
        CompactionSettings().of(Model(provider="p", id="m", context_window=window)).threshold / window
        for window in (128_000, 200_000, 1_000_000)
    ]

    assert [round(share, 2) for share in shares] == [0.87, 0.92, 0.98]


async def test_it_is_checked_before_a_run_and_says_threshold() -> None:
    async with compacting(*(long(f"a{at}") for at in range(9))) as (session, _):
        await fill(session, 6)
        reader = session.events()
        await session.prompt(long("much", 400))

        events = drain(reader)
        told = [name for name in names(events) if name != "entry_appended"]
        assert told[:4] == ["compaction_start", "session_compact", "compaction_end", "agent_start"]
        assert next(event.reason for event in events if isinstance(event, CompactionStart)) == "threshold"


async def test_it_is_checked_between_turns_behind_the_tools_results() -> None:
    async def look() -> str:
        """Look."""
        return long("seen", 400)

    calls = [ScriptedAnswer(calls=(call(f"c{at}", "look"),)) for at in range(6)]
    async with compacting(*calls, "done", tools=[look]) as (session, provider):
        reader = session.events()
        outcome = await session.prompt("Look often.")

        told = names(drain(reader))
        at = told.index("compaction_start")
        assert told[at - 1] == "turn_end"
        assert told[told.index("compaction_end", at) + 1] == "turn_start"
        assert not outcome.failed
        assert [one.purpose for one in provider.requests].count("turn") == 7
        largest = max(sum(len(words(message)) for message in one.messages) for one in sent(provider, "turn"))
        assert largest / 4 < 1_500 + 420


async def test_it_is_checked_behind_a_run_and_nothing_goes_on_by_itself() -> None:
    async with compacting(long("a", 600), long("b", 900)) as (session, provider):
        await session.prompt("u")
        reader = session.events()
        await session.prompt("v")

        told = names(drain(reader))
        assert told[-6:] == [
            *("agent_end", "compaction_start", "entry_appended", "session_compact", "compaction_end", "agent_settled")
        ]
        assert len(sent(provider, "turn")) == 2


async def test_a_run_that_ends_behind_its_tools_is_not_checked_between_turns() -> None:
    async def last() -> ToolResult:
        """Look."""
        return ToolResult(content=long("seen", 1_600), terminate=True)

    async with compacting(ScriptedAnswer(text=long("a", 300), calls=(call("c1", "last"),)), tools=[last]) as (
        session,
        _,
    ):
        reader = session.events()
        await session.prompt("u")

        told = names(drain(reader))
        assert "compaction_start" not in told[: told.index("agent_end")]


async def test_reserve_tokens_is_no_limit_of_a_summary() -> None:
    async with compacting(*(long(f"a{at}") for at in range(9))) as (session, provider):
        await fill(session, 9)

        assert {one.max_output for one in sent(provider, "compaction")} == {None}


async def test_a_summary_that_hit_the_cap_is_no_checkpoint() -> None:
    cut = ScriptedAnswer(text="## Goal", stop_reason="length")
    async with compacting(*(long(f"a{at}") for at in range(3)), summaries=[cut]) as (session, _):
        await fill(session, 3)

        with pytest.raises(CompactionFailed) as failed:
            await session.compact()

        assert str(failed.value) == ("Summarization failed: generation hit the token cap and the summary is incomplete")

        assert not compactions(session)


@pytest.mark.parametrize(
    ("thinks", "level", "asked"), [(True, "high", "high"), (True, "off", "off"), (False, "high", "off")]
)
async def test_the_thinking_level_is_the_sessions_if_the_model_thinks(thinks: bool, level: str, asked: str) -> None:
    model = Model(provider="scripted", id="talker", context_window=2_000, thinks=thinks)
    async with compacting(*(long(f"a{at}") for at in range(3)), model=model) as (session, provider):
        await session.set_thinking_level(level)
        await fill(session, 3)
        await session.compact()

        assert [one.thinking_level for one in sent(provider, "compaction")] == [asked]


async def test_a_summary_writes_no_cache_and_has_a_route_of_its_own() -> None:
    async with compacting(*(long(f"a{at}") for at in range(9))) as (session, provider):
        await fill(session, 9)
        await session.compact()

        summaries = sent(provider, "compaction")
        assert [one.cache_write for one in summaries] == [False] * len(summaries)
        keys = {one.cache_key for one in summaries}
        assert len(keys) == len(compactions(session)) >= 2  # one for all the requests of a summary
        assert None not in keys


async def test_turned_off_it_does_not_happen_by_itself_and_a_person_may_ask() -> None:
    off = Settings(compaction=CompactionSettings(enabled=False, reserve_tokens=500, keep_recent_tokens=300))
    async with compacting(*(long(f"a{at}") for at in range(8)), settings=off) as (session, _):
        await fill(session, 8)
        assert not compactions(session)

        await session.compact()

        assert len(compactions(session)) == 1


@pytest.mark.parametrize(
    ("key", "threshold"),
    [("p/m", 600_000), ("p/M", 983_616), ("m", 983_616), ("P/m", 983_616)],
)
def test_an_override_is_of_exactly_one_model_and_each_amount_falls_back_by_itself(key: str, threshold: int) -> None:
    settings = CompactionSettings(model_overrides={key: TokenOverride(reserve_tokens=400_000)})
    budget = settings.of(Model(provider="p", id="m", context_window=1_000_000))

    assert (budget.threshold, budget.keep_recent_tokens) == (threshold, 20_000)


def test_a_models_own_slashes_belong_to_its_key() -> None:
    settings = CompactionSettings(model_overrides={"openrouter/a/b": TokenOverride(keep_recent_tokens=7)})

    assert settings.of(Model(provider="openrouter", id="a/b", context_window=200_000)).keep_recent_tokens == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"compaction": {"reserveTokens": -1, "modelOverrides": {"a/b": {"reserveTokens": 5}}}}',
            "Invalid compaction.reserveTokens setting: -1. Expected a non-negative safe integer.",
        ),
        (
            '{"compaction": {"modelOverrides": {"a/b": 5}}}',
            'Invalid compaction.modelOverrides["a/b"] setting: 5. Expected an object.',
        ),
        (
            '{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": -2}}}}',
            'Invalid compaction.modelOverrides["a/b"].reserveTokens setting: -2. Expected a non-negative safe integer.',
        ),
    ],
)
def test_a_wrong_value_is_told_when_it_is_loaded_whoever_it_is_for(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(BadSettings, match=re.escape(message)):
        load_settings(path)


def test_files_are_merged_before_a_model_is_looked_up(tmp_path: Path) -> None:
    user_file, project_file = tmp_path / "user.json", tmp_path / "project.json"
    user_file.write_text('{"compaction": {"modelOverrides": {"p/m": {"reserveTokens": 400000}}}}', encoding="utf-8")
    project_file.write_text('{"compaction": {"reserveTokens": 20000}}', encoding="utf-8")
    settings = load_settings(user_file, project_file).compaction

    assert settings.of(Model(provider="p", id="m", context_window=1_000_000)).reserve_tokens == 400_000
    assert settings.of(Model(provider="p", id="n", context_window=1_000_000)).reserve_tokens == 20_000


async def test_a_compaction_goes_on_with_the_model_that_it_started_with(autojump_clock: trio.testing.MockClock) -> None:
    other = Model(provider="scripted", id="other", context_window=2_000)
    slow = ScriptedAnswer(text=SUMMARY, wait=10)
    async with compacting(*(long(f"a{at}") for at in range(3)), summaries=[slow]) as (session, provider):
        await fill(session, 3)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.compact)
            await trio.sleep(5)
            await session.set_model(other)

        assert [one.model.id for one in sent(provider, "compaction")] == ["talker"]


# 15.3 What a compaction writes


async def test_the_entry_has_what_it_needs() -> None:
    billed = ScriptedAnswer(text=SUMMARY, usage=usage(77))
    async with compacting(
        *(long(f"a{at}") for at in range(3)), summaries=[billed], system_prompt=_prompt({"house": "Be brief."})
    ) as (session, _):
        await fill(session, 3)
        before = session.measured().tokens
        await session.compact()

        [entry] = compactions(session)
        assert entry.summary.startswith("## Goal")
        kept = session.tree().index(entry.first_kept_entry_id)
        assert kept is not None
        assert entry.tokens_before == before
        assert entry.usage is not None
        assert entry.usage.total_tokens == 77
        assert entry.from_hook is None
        assert is_object(entry.details)
        assert (entry.details["readFiles"], entry.details["modifiedFiles"]) == ([], [])
        assert entry.system_message is not None
        assert entry.system_message.sections == {"preamble": "You help.", "house": "<house>\nBe brief.\n</house>"}


async def test_the_next_request_is_the_prompt_the_summary_and_what_is_kept() -> None:
    async with compacting(*(long(f"a{at}") for at in range(4)), system_prompt=_prompt({})) as (session, provider):
        await fill(session, 3)
        await session.compact()
        [entry] = compactions(session)
        await session.prompt("and now?")

        roles = [type(message).__name__ for message in sent(provider, "turn")[-1].messages]
        said = [words(message) for message in sent(provider, "turn")[-1].messages]
        assert roles[:2] == ["SystemMessage", "UserMessage"]
        assert "Know the oak." in said[1]
        assert said[2].startswith("u1")
        assert said[-1] == "and now?"
        assert entry.first_kept_entry_id == session.entries()[session.tree().index(entry.first_kept_entry_id) or 0].id


async def test_nothing_kept_is_the_entrys_own_id() -> None:
    extension = Extension("x")
    extension.on(SessionBeforeCompact)(lambda _, __: ProvideSummary(text="all of it", first_kept="nothing"))
    async with compacting(*(long(f"a{at}") for at in range(3)), extensions=[extension]) as (session, _):
        await fill(session, 3)
        await session.compact()

        [entry] = compactions(session)
        assert entry.first_kept_entry_id == entry.id
        assert [item.entry_id for item in session.context().items] == [entry.id]


async def test_tokens_before_are_counted_from_the_edited_context() -> None:
    async with compacting(*(long(f"a{at}") for at in range(3))) as (session, _):
        await fill(session, 3)
        await session.edit(session.entries()[1].id, None)
        await session.compact()

        assert compactions(session)[0].tokens_before == 500


async def test_a_cut_is_never_on_a_tools_result_and_a_call_keeps_its_results() -> None:
    async def look() -> str:
        """Look."""
        return long("seen", 150)

    answers = [ScriptedAnswer(text=long("a"), calls=(call(f"c{at}", "look"),)) for at in range(4)]
    async with compacting(*answers, "done", tools=[look]) as (session, _):
        await session.prompt(long("Look."))
        await session.compact()

        [entry] = compactions(session)
        first = session.entries()[session.tree().index(entry.first_kept_entry_id) or 0]
        assert isinstance(first, MessageEntry)
        assert not isinstance(first.message, ToolResultMessage)


async def test_a_turn_that_is_no_larger_than_the_budget_stays_whole() -> None:
    settings = Settings(compaction=CompactionSettings(reserve_tokens=500, keep_recent_tokens=250))
    async with compacting(*(long(f"a{at}") for at in range(4)), settings=settings) as (session, _):
        await fill(session, 4)
        await session.compact()

        [entry] = compactions(session)
        assert words(session.context().items[1].message).startswith("u2")
        assert entry.first_kept_entry_id == session.entries()[4].id


async def test_a_turn_that_is_larger_is_split_and_gets_two_summaries_and_a_heading() -> None:
    async def look() -> str:
        """Look."""
        return long("seen", 100)

    answers: list[str | ScriptedAnswer] = [
        "early",
        *(ScriptedAnswer(text=long(f"a{at}"), calls=(call(f"c{at}", "look"),)) for at in range(4)),
        "done",
    ]
    async with compacting(*answers, tools=[look]) as (session, provider):
        await session.prompt("before")
        await session.prompt("Which oak is it?")
        await session.compact()

        [entry] = compactions(session)
        assert [len(sent(provider, purpose)) for purpose in ("compaction", "turn_prefix")] == [1, 1]
        history, _, prefix = entry.summary.partition("\n\n---\n\n**Turn Context (split turn):**\n\n")
        assert history.startswith("## Goal")
        assert prefix.startswith("## Original Request")
        assert "Which oak is it?" in prefix
        assert "before" in prompt_of(sent(provider, "compaction")[0])
        assert "Which oak is it?" not in prompt_of(sent(provider, "compaction")[0])
        assert "Which oak is it?" in prompt_of(sent(provider, "turn_prefix")[0])


async def test_with_nothing_older_the_previous_summary_is_taken_as_it_is() -> None:
    async def look() -> str:
        """Look."""
        return long("seen", 100)

    answers: list[str | ScriptedAnswer] = [
        *(ScriptedAnswer(text=long(f"a{at}"), calls=(call(f"c{at}", "look"),)) for at in range(4)),
        "done",
    ]
    extension = Extension("x")

    @extension.on(SessionBeforeCompact)
    def first(question: SessionBeforeCompact, _: Any) -> ProvideSummary | None:
        if question.preparation.previous_summary is None:
            return ProvideSummary(text="what was", first_kept="nothing")
        return None

    async with compacting("early", "still", *answers, tools=[look], extensions=[extension]) as (session, provider):
        await session.prompt(long("before", 400))
        await session.prompt(long("before", 400))
        await session.compact()
        await session.prompt("Which oak is it?")
        await session.compact()

        assert [len(sent(provider, purpose)) for purpose in ("compaction", "turn_prefix")] == [0, 1]
        assert compactions(session)[-1].summary.startswith("what was\n\n---\n\n**Turn Context (split turn):**")


def test_six_sections_and_what_each_request_asks_for() -> None:
    assert HEADINGS["compaction"] == (
        "## Goal",
        "## Constraints & Preferences",
        "## Progress",
        "### Done",
        "### In Progress",
        "### Blocked",
        "## Key Decisions",
        "## Next Steps",
        "## Critical Context",
    )


async def test_the_first_request_has_the_sections_and_the_next_one_updates_the_previous_summary() -> None:
    async with compacting(*(long(f"a{at}") for at in range(6))) as (session, provider):
        await fill(session, 3)
        await session.compact()
        await fill(session, 3)
        await session.compact()

        first, second = map(prompt_of, sent(provider, "compaction"))
        for heading in HEADINGS["compaction"]:
            assert f"\n{heading}\n" in first
            assert f"\n{heading}\n" in second
        assert "<previous-summary>" not in first.split("</conversation>")[1].split("##")[0]
        assert f"<previous-summary>\n{SUMMARY}\n</previous-summary>" in second
        assert first != second


async def test_what_survived_the_last_compaction_is_summarised_by_the_next_one_once() -> None:
    async with compacting(*(long(f"a{at}") for at in range(9))) as (session, provider):
        await fill(session, 3)
        await session.compact()
        await fill(session, 3, first=3)
        await session.compact()

        first, second = map(prompt_of, sent(provider, "compaction"))
        assert [f"]: u{at} " in first for at in range(6)] == [True, False, False, False, False, False]
        assert [f"]: u{at} " in second for at in range(6)] == [False, True, True, True, False, False]


def test_the_lists_of_files_stand_behind_the_summary() -> None:
    files = Files(("src/auth/refresh.ts",), ("src/auth/service.ts",))

    assert listed("s", files) == (
        "s\n\n<read-files>\nsrc/auth/refresh.ts\n</read-files>\n\n<modified-files>\nsrc/auth/service.ts\n</modified-files>"
    )


async def test_the_lists_are_counted_from_calls_and_go_on_over_our_own_compactions() -> None:
    answers: list[str | ScriptedAnswer] = [
        ScriptedAnswer(text=long("a"), calls=(call("c1", "read", path="a.py"), call("c2", "edit", path="b.py"))),
        long("b", 200),
        long("c", 200),
        ScriptedAnswer(text=long("d"), calls=(call("c3", "write", path="a.py"), call("c4", "bash", path="no.py"))),
        long("e", 200),
        long("f", 200),
    ]
    async with compacting(*answers, tools=[]) as (session, _):
        await session.prompt(long("u1"))
        await session.prompt(long("u2"))
        await session.compact()
        await session.prompt(long("u3"))
        await session.prompt(long("u4"))
        await session.compact()

        one, two = compactions(session)
        assert one.summary.endswith("<read-files>\na.py\n</read-files>\n\n<modified-files>\nb.py\n</modified-files>")
        assert two.summary.endswith("\n\n<modified-files>\na.py\nb.py\n</modified-files>")
        assert two.summary.count("<modified-files>") == 1


async def test_the_lists_of_an_extensions_summary_are_its_own() -> None:
    extension = Extension("x")

    @extension.on(SessionBeforeCompact)
    def given(question: SessionBeforeCompact, _: Any) -> ProvideSummary | None:
        if question.preparation.previous_summary is None:
            return ProvideSummary(text="mine", details={"readFiles": ["x.py"], "modifiedFiles": ["y.py"]})
        return None

    async with compacting(*(long(f"a{at}") for at in range(9)), extensions=[extension]) as (session, _):
        await fill(session, 3)
        await session.compact()
        await fill(session, 3)
        await session.compact()

        assert compactions(session)[0].from_hook is True
        assert compactions(session)[1].details == {
            "readFiles": [],
            "modifiedFiles": [],
            "fidelity": {"score": 1.0, "madeUp": []},
            "model": session.model.key,
        }


def test_a_conversation_is_told_as_text() -> None:
    messages: list[Message] = [
        user("What they said"),
        assistant(
            "Response text", call("c1", "read", path="foo.ts"), call("c2", "edit", path="bar.ts", n=1), stop="toolUse"
        ),
        result("c1", "Output from tool"),
    ]

    assert flatten(messages) == [
        "[User]: What they said",
        '[Assistant]: Response text\n\n[Assistant tool calls]: read(path="foo.ts"); edit(path="bar.ts", n=1)',
        "[Tool result]: Output from tool",
    ]


def test_a_tools_result_is_cut_at_2000_characters() -> None:
    [_, told] = flatten([assistant(call("c1"), stop="toolUse"), result("c1", "x" * 2_345)])

    assert TOOL_RESULT_MAX == 2_000
    assert told == f"[Tool result]: {'x' * 2_000}\n\n[... 345 more characters truncated]"


async def test_the_request_is_one_text_in_a_frame_and_asks_for_no_tools() -> None:
    async with compacting(*(long(f"a{at}") for at in range(3))) as (session, provider):
        await fill(session, 3)
        await session.compact("mind the bark")

        [request] = sent(provider, "compaction")
        prompt = prompt_of(request)
        assert len(request.messages) == 2
        assert role_of(request)
        assert prompt.startswith("<conversation>\n[User]: u0 ")
        assert "\n\n[Assistant]: a0 " in prompt
        assert prompt.index("</conversation>") < prompt.index("## Goal")
        assert prompt.endswith("mind the bark")


# Overflow


OVERFLOW: Final = ScriptedAnswer(error="prompt is too long: 9000 tokens > 2000 maximum")


async def test_the_attempt_is_hidden_behind_the_end_of_the_run_then_compacted_and_made_again() -> None:
    async with compacting(*(long(f"a{at}") for at in range(3)), OVERFLOW, "at last") as (session, _):
        await fill(session, 3)
        reader = session.events()
        outcome = await session.prompt("again")

        told = [name for name in names(drain(reader)) if name not in {"message_start", "message_end"}]
        assert told == [
            *("agent_start", "turn_start", "entry_appended", "entry_appended", "turn_end", "agent_end"),
            "entry_appended",
            *("compaction_start", "entry_appended", "session_compact", "compaction_end"),
            *("agent_start", "turn_start", "entry_appended", "turn_end", "agent_end", "agent_settled"),
        ]
        assert outcome.answer is not None
        assert words(outcome.answer) == "at last"
        failed = next(one for one in session.entries() if isinstance(one, MessageEntry) and _is_failed(one))
        edit = next(one for one in session.entries() if isinstance(one, ContextEdit))
        assert (edit.target_id, edit.replacement) == (failed.id, None)


def _is_failed(entry: MessageEntry) -> bool:
    return isinstance(entry.message, AssistantMessage) and entry.message.stop_reason == "error"


async def test_a_second_overflow_is_told_and_not_tried() -> None:
    async with compacting(*(long(f"a{at}") for at in range(3)), OVERFLOW, OVERFLOW) as (session, provider):
        await fill(session, 3)
        reader = session.events()
        outcome = await session.prompt("again")

        [failed] = [event for event in drain(reader) if isinstance(event, SessionCompactFailed)]
        assert failed.error_message == (
            "Context overflow recovery failed after one compact-and-retry attempt. "
            "Try reducing context or switching to a larger-context model."
        )
        assert outcome.failed
        assert len(sent(provider, "turn")) == 5


async def test_if_the_summary_fails_the_omission_stays_and_there_is_no_entry_and_no_retry() -> None:
    broken = ScriptedAnswer(error="no such model")
    async with compacting(*(long(f"a{at}") for at in range(3)), OVERFLOW, "next", summaries=[broken]) as (
        session,
        provider,
    ):
        await fill(session, 3)
        outcome = await session.prompt("again")

        assert outcome.failed
        assert not compactions(session)
        assert any(isinstance(one, ContextEdit) for one in session.entries())
        assert len(sent(provider, "turn")) == 4
        assert not (await session.prompt("and now?")).failed


async def test_one_recovery_is_allowed_again_behind_a_good_answer_and_a_restart_does_not_forget_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.jsonl"
    async with compacting(*(long(f"a{at}") for at in range(3)), OVERFLOW, OVERFLOW, where=path) as (session, _):
        await fill(session, 3)
        await session.prompt("again")
    async with compacting("good", OVERFLOW, "better", where=path) as (session, _):
        await session.prompt(long("more", 300))
        assert not (await session.prompt(long("even more", 300))).failed


# Refusals


async def test_already_compacted_and_too_small() -> None:
    async with compacting(*(long(f"a{at}") for at in range(3))) as (session, _):
        with pytest.raises(Refused, match=r"^Nothing to compact \(session too small\)$"):
            await session.compact()
        await fill(session, 3)
        await session.compact()
        await session.label(session.entries()[0].id, "here")

        with pytest.raises(Refused, match=r"^Already compacted$"):
            await session.compact()


# 15.5 By hand


async def test_a_person_stops_the_run_and_gets_back_what_waits_and_the_run_does_not_go_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    slow = ScriptedAnswer(text="never", wait=100)
    async with compacting(*(long(f"a{at}") for at in range(3)), slow) as (session, provider):
        await fill(session, 3)
        running = session.submit("a long one")
        await trio.sleep(1)
        waiting = session.follow_up("and then this")
        await trio.sleep(1)

        compacted = await session.compact("重点保住我们关于缓存失效策略的讨论")

        outcome = await running.outcome()
        assert isinstance(outcome, Delivered)
        assert outcome.aborted
        assert [one.text for one in compacted.returned] == ["and then this"]
        assert waiting.outcome_nowait == compacted.returned[0]
        assert session.state == "idle"
        assert len(sent(provider, "turn")) == 4


# Extensions


async def test_an_extension_sees_what_a_summary_can_be_made_from_and_may_give_it() -> None:
    asked: list[SessionBeforeCompact] = []
    extension = Extension("cheap")

    @extension.on(SessionBeforeCompact)
    async def summarise(question: SessionBeforeCompact, _: Any) -> ProvideSummary:
        asked.append(question)
        return ProvideSummary(text="by another model")

    async with compacting(*(long(f"a{at}") for at in range(3)), extensions=[extension]) as (session, provider):
        await fill(session, 3)
        reader = session.events()
        await session.compact("mind the bark")

        [question] = asked
        preparation = question.preparation
        assert [words(message)[:2] for message in preparation.messages_to_summarize] == ["u0", "a0"]
        assert preparation.turn_prefix_messages == ()
        assert (preparation.previous_summary, preparation.tokens_before) == (None, 600)
        assert preparation.settings == {"enabled": True, "reserveTokens": 500, "keepRecentTokens": 300}
        assert (question.reason, question.will_retry, question.custom_instructions) == (
            "manual",
            False,
            "mind the bark",
        )
        assert question.branch_entry_ids == tuple(entry.id for entry in session.entries()[:6])
        assert not sent(provider, "compaction")
        [told] = [event for event in drain(reader) if isinstance(event, SessionCompact)]
        assert told.from_extension
        assert told.compaction_entry == compactions(session)[0]


async def test_an_extension_may_cancel_and_the_failure_is_told_with_its_fields() -> None:
    extension = Extension("veto")
    extension.on(SessionBeforeCompact)(lambda _, __: Cancel(reason="not now"))
    async with compacting(*(long(f"a{at}") for at in range(3)), extensions=[extension]) as (session, _):
        await fill(session, 3)
        reader = session.events()
        with pytest.raises(CompactionFailed, match="the extension 'veto' cancelled the compaction: not now"):
            await session.compact()

        events = drain(reader)
        [failed] = [event for event in events if isinstance(event, SessionCompactFailed)]
        assert (failed.reason, failed.error_message, failed.aborted) == ("manual", None, True)
        assert (failed.will_retry, failed.from_extension) == (False, True)
        [end] = [event for event in events if isinstance(event, CompactionEnd)]
        assert end.aborted
        await session.compact(ask_extensions=False)
        assert len(compactions(session)) == 1


def test_compaction_and_navigation_exclude_each_other_in_the_same_words() -> None:
    words = "Wait for the current compaction or tree navigation to finish before navigating the session tree."
    verdicts = [
        decide("compaction", "navigation"),
        decide("navigation", "compaction"),
        decide("run_compacting", "navigation"),
    ]

    assert words == BUSY
    assert [getattr(verdict, "words", None) for verdict in verdicts] == [words] * 3
