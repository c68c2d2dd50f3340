"""B, L and M: what a compaction keeps, what it shows to whoever writes the summary, and what it appends."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import trio
import trio.testing

from sapwood import (
    ImageContent,
    Runtime,
    ScriptedAnswer,
    SystemMessage,
    SystemPrompt,
    ThinkingContent,
    ToolCall,
)
from sapwood.actors.environment import Environment
from sapwood.actors.summaries.split_turn import REQUEST, TURN_CONTEXT
from sapwood.events.content import AssistantBlock
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import AssistantMessage
from sapwood.events.runtime import Diagnostic
from tests.build import assistant, call, result, text, user, words
from tests.faults.compacting import (
    SMALL,
    TIGHT,
    Scribe,
    budgets,
    compacting,
    compactions,
    framed,
    long_history,
    record,
    window,
)
from tests.faults.history import Log, words_of
from tests.faults.logs import lines_of, put, rows
from tests.faults.sent import as_bytes, texts
from tests.talking import drain


async def test_b02_the_end_is_kept_as_it_is_and_the_last_question_with_it() -> None:
    """B02: twenty turns, and room for three: the summary, and exactly the entries from the first kept one on."""
    log = Log()
    questions = log.turns(20, 500)
    provider = Scribe("fine")
    async with compacting(provider, log.store(), model=window(100_000), settings=budgets(1_000, 1_450)) as session:
        compacted = await session.compact()
        assert compacted.entry.first_kept_entry_id == questions[-3]
        kept = [entry.id for entry in log.entries[-6:]]
        assert [item.entry_id for item in session.context().items] == [compacted.entry.id, *kept]
        await session.prompt("go on")
    assert as_bytes(provider.turns[0])[1:7] == [msgspec.json.encode(message) for message in log.messages[-6:]]
    assert words(log.messages[-2]) == texts(provider.turns[0])[5]


async def test_b05_before_a_compaction_there_is_no_summary_and_no_gap(tmp_path: Path) -> None:
    """B05: a move to an entry that is older than the compaction shows the history as it was, and forth again the summary as it was."""
    path = long_history().write(tmp_path / "s.jsonl")
    log = long_history()
    provider = Scribe("fine")
    async with compacting(provider, path, model=SMALL, settings=TIGHT) as session:
        compacted = await session.compact()
        short = session.context().messages
        for _ in range(2):
            await session.navigate(log.entries[5].id)
            assert list(session.context().messages) == log.messages[:6]
            assert session.context().gaps == {}
            await session.navigate(compacted.entry.id)
            assert session.context().messages == short
        await session.navigate(log.entries[5].id)
        assert not (await session.prompt("go on")).failed
    assert texts(provider.turns[0]) == [*map(words, log.messages[:6]), "go on"]


IMAGE: Final = ImageContent(data="aGk=", mime_type="image/png")


async def test_b06_nothing_empty_stands_in_a_request_for_a_summary() -> None:
    """B06: blank texts, turns of an image alone, failed answers without a word, results without text. Nobody refuses either request."""
    log = Log()
    for blank in ("", " ", "\n\t", "\u3000"):
        log.add(user(blank), user((text(blank),)), user((text(blank), IMAGE)), assistant(blank, "and", blank))
        log.add(assistant(text(blank), call(f"c{len(log.entries)}")), result(f"c{len(log.entries)}", blank))
        log.add(assistant(blank), assistant(stop="aborted"), assistant(stop="error"))
        log.note(blank)
    log.turns(4, 1_000)
    provider = Scribe("fine")
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT) as session:
        await session.compact()
        assert not (await session.prompt("go on")).failed
    [request] = provider.summaries
    said = framed(request)["conversation"]
    assert said.count("[User]: [image]") == 4
    assert "[Assistant]: and" in said
    assert all(part.strip() and not part.rstrip().endswith("]:") for part in said.split("\n\n"))


async def test_b07_summaries_of_two_sessions_at_once_know_nothing_of_each_other(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """B07: one runtime, one provider, and a word of each session's own."""

    def writes(request: Any) -> ScriptedAnswer:
        canary = "heron" if "heron" in texts(request)[-1] else "badger"
        return ScriptedAnswer(text=record(f"Of the {canary}."), wait=1)

    provider = Scribe(writes=writes)
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")

    async def talk(canary: str) -> None:
        path = tmp_path / f"{canary}.jsonl"
        async with runtime.open_session(path, model=SMALL, settings=TIGHT) as session:
            for nth in range(6):
                await session.prompt(f"{nth} {words_of(700, canary)}")
            await session.compact()

    async with trio.open_nursery() as nursery:
        for canary in ("heron", "badger"):
            nursery.start_soon(talk, canary)

    assert len(provider.summaries) == 2
    for request in provider.requests:
        said = " ".join(texts(request))
        assert ("heron" in said) is not ("badger" in said)
    assert b"badger" not in (tmp_path / "heron.jsonl").read_bytes()
    assert b"heron" not in (tmp_path / "badger.jsonl").read_bytes()


async def test_b08_a_compaction_says_the_prompt_once_and_records_no_section_again() -> None:
    """B08: what changes afterwards is recorded alone."""
    rules = "Be brief."
    provider = Scribe(says=lambda _: words_of(500))
    prompt = SystemPrompt(preamble="You help.", sections={"rules": lambda _: rules})
    async with compacting(provider, model=SMALL, settings=TIGHT, system_prompt=prompt) as session:
        for _ in range(6):
            await session.prompt(words_of(500))
        compacted = await session.compact()
        assert compacted.entry.system_message is not None
        assert {*(compacted.entry.system_message.sections or {})} == {"preamble", "rules"}
        before = len(session.entries())
        await session.prompt("and now?")
        roles = [entry.message.role for entry in session.entries()[before:] if isinstance(entry, MessageEntry)]
        assert roles == ["user", "assistant"]
        assert [message.role for message in provider.turns[-1].messages].count("system") == 1
        rules = "Be kind."
        await session.prompt("and then?")
        changes = [
            entry.message.sections
            for entry in session.entries()[before:]
            if isinstance(entry, MessageEntry) and isinstance(entry.message, SystemMessage)
        ]
        assert changes == [{"rules": "<rules>\nBe kind.\n</rules>"}]
    for request in provider.summaries:
        assert "Be brief." not in "".join(texts(request))


async def test_b09_a_turn_that_is_too_large_is_split_and_both_parts_are_told() -> None:
    """B09: a turn of 60k, ten older ones, and a summary before those; 20k are kept, from an answer on and word for word."""
    log = Log()
    log.turns(2, 100)
    log.compact(None)
    log.turns(10, 200)
    log.add(user("Plant an oak in every yard."))
    for nth in range(60):
        log.add(assistant(f"step {nth}", call(f"c{nth}"), stop="toolUse"), result(f"c{nth}", words_of(1_000)))
    provider = Scribe(
        writes=lambda request: record(
            "Older." if request.purpose == "compaction" else "An oak.",
            kind="compaction" if request.purpose == "compaction" else "turn_prefix",
        )
    )
    async with compacting(provider, log.store(), model=window(70_000), settings=budgets(10_000, 20_000)) as session:
        entry = (await session.compact()).entry
        first = session.entry(entry.first_kept_entry_id)
        assert isinstance(first, MessageEntry)
        assert isinstance(first.message, AssistantMessage)
        kept = log.entries[[one.id for one in log.entries].index(first.id) :]
        assert [item.entry_id for item in session.context().items][1:] == [one.id for one in kept]
        assert 19_000 <= session.measured().tokens <= 22_000
        assert not (await session.prompt("go on")).failed
    by_purpose = {request.purpose: framed(request) for request in provider.summaries}
    assert by_purpose["compaction"]["previous-summary"] == "## Goal\nTo go on"
    assert "question 00000005" in by_purpose["compaction"]["conversation"]
    assert "Plant an oak" not in by_purpose["compaction"]["conversation"]
    assert by_purpose["turn_prefix"]["conversation"].startswith("[User]: Plant an oak in every yard.")
    assert "previous-summary" not in by_purpose["turn_prefix"]
    older, _, prefix = entry.summary.partition(TURN_CONTEXT)
    assert "Older." in older
    assert "An oak." in prefix
    assert f"{REQUEST}\n\nPlant an oak in every yard." in prefix


@pytest.mark.parametrize("asked", ["by hand", "by a prompt"])
async def test_b10_a_compaction_appends_one_entry_and_moves_none(asked: str, tmp_path: Path) -> None:
    """B10: ids, order and bytes of all that was there."""
    path = long_history().write(tmp_path / "s.jsonl")
    before = path.read_bytes()
    async with compacting(Scribe("fine"), path, model=SMALL, settings=TIGHT) as session:
        if asked == "by hand":
            await session.compact()
        else:
            await session.prompt("go on")
    assert path.read_bytes().startswith(before)
    kinds = [row["type"] for row in rows(path)[1 + len(long_history().entries) :]]
    assert kinds == (["compaction"] if asked == "by hand" else ["compaction", "message", "message"])


ODD_USAGES: Final[list[Any]] = [
    {},
    {"input": None, "output": None},
    {"input": -5, "output": 1, "cacheRead": 0, "cacheWrite": 0},
    {"input": "few", "output": "many"},
    {"input": 10**30, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 10**400}},
    "lots",
    None,
]


@pytest.mark.parametrize("odd", ODD_USAGES, ids=lambda odd: json.dumps(odd)[:40])
async def test_l04_odd_usages_of_the_past_neither_keep_a_compaction_off_nor_bring_one(odd: Any, tmp_path: Path) -> None:
    """L04: an answer whose usage is none is counted; sums stay finite. What a wire reports is read with the wires."""
    for turns, expected in ((3, 0), (8, 1)):
        lines = lines_of(long_history(turns).entries)
        for at, line in enumerate(lines):
            row = json.loads(line)
            if row.get("message", {}).get("role") == "assistant":
                row["message"]["usage"] = odd
                lines[at] = json.dumps(row).encode()
        path = put(tmp_path / f"{turns}.jsonl", lines)
        async with compacting(Scribe(), path, model=SMALL, settings=TIGHT) as session:
            assert not (await session.prompt("go on")).failed
            assert len(compactions(session)) == expected
            stats = session.stats()
            assert math.isfinite(stats.spent.total)
            assert stats.spent.cost is None or math.isfinite(stats.spent.cost)


async def test_l07_a_summary_pays_for_no_cache_that_nobody_reads(autojump_clock: trio.testing.MockClock) -> None:
    """L07: cache writes are off, and each job goes by a key of its own, all its attempts by the same."""
    provider = Scribe()
    provider.queue("compaction", ScriptedAnswer(error="529 overloaded"))
    async with compacting(provider, long_history(5).store(), model=SMALL, settings=TIGHT) as session:
        await session.compact()
        await session.prompt(words_of(3_000))
        await session.compact()
    assert {request.cache_write for request in provider.summaries} == {False}
    assert {request.cache_write for request in provider.turns} == {True}
    first, again, *others = [request.cache_key for request in provider.summaries]
    assert first == again
    assert None not in {first, *others}
    assert first not in others
    assert {first, *others}.isdisjoint({request.cache_key for request in provider.turns})


THOUGHTS: Final = {"sig-1": " First, look.\n", "sig-2": "", "sig-3": "Then read.  "}
SIGNED: Final[list[AssistantBlock]] = [
    ThinkingContent(thinking=THOUGHTS["sig-1"], thinking_signature="sig-1"),
    text("  I will look. "),
    ThinkingContent(thinking="", thinking_signature="sig-2", redacted=True),
    ThinkingContent(thinking=THOUGHTS["sig-3"], thinking_signature="sig-3"),
    ToolCall(id=ToolCallId("c1"), name="read", arguments={"path": "a"}, thought_signature="sig-4"),
]


async def test_m06_m07_signed_thinking_of_what_is_kept_goes_whole_and_of_what_is_not_nowhere() -> None:
    """M06, M07: byte for byte (P5), in the same bytes at every later turn, and without a warning at any.

    M07 would leave it out where the history before it is another one. P5 decides: no wire that we speak binds a signature to what stands
    before it, and some ask for the thinking of calls whose results are sent.
    """
    log = long_history(6)
    log.add(user("begin"), assistant(*SIGNED, stop="toolUse"), result("c1", "found"), assistant("Done."))
    provider = Scribe(thoughts=THOUGHTS)
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT) as session:
        await session.compact()
        for nth in range(3):
            assert not (await session.prompt(f"and {nth}?")).failed
    first, *later = [as_bytes(request) for request in provider.turns]
    assert all(other[: len(first)] == first for other in later)
    answers = [one for one in provider.turns[-1].messages if isinstance(one, AssistantMessage)]
    assert tuple(SIGNED) in [one.content for one in answers]
    assert not any("look." in one and "First" in one for request in provider.summaries for one in texts(request))


async def test_m06_thinking_that_is_summarised_away_is_sent_to_nobody() -> None:
    """M06: neither to the model nor to whoever writes the summary."""
    log = Log()
    log.add(user("begin"), assistant(*SIGNED, stop="toolUse"), result("c1", "found"), assistant("Done."))
    log.turns(4, 1_000)
    provider = Scribe(thoughts=THOUGHTS)
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT) as session:
        await session.compact()
        assert not (await session.prompt("and now?")).failed
    for request in provider.requests:
        raw = b"".join(as_bytes(request))
        assert b"First, look." not in raw
        assert b"sig-1" not in raw


def _answer_behind_an_end(log: Log) -> None:
    log.add(assistant("and one thing more"))


def _marker_inside_a_turn(log: Log) -> None:
    log.add(user("begin"))
    log.at(log.add(assistant(call("c1"), stop="toolUse")))
    log.add(result("c1", "found"))


def _result_before_its_call(log: Log) -> None:
    log.add(user("begin"), result("c1", "found"), assistant(call("c1"), stop="toolUse"))


def _compaction_that_keeps_what_is_not_there(log: Log) -> None:
    log.compact(EntryId("ffffffff"))
    log.turns(4, 1_200)


def _edit_of_what_comes_later(log: Log) -> None:
    log.edit(EntryId("fffffffe"), None)


@pytest.mark.parametrize(
    "misplace",
    [
        _answer_behind_an_end,
        _marker_inside_a_turn,
        _result_before_its_call,
        _compaction_that_keeps_what_is_not_there,
        _edit_of_what_comes_later,
    ],
)
async def test_d17_a_marker_in_the_wrong_place_stops_neither_the_meter_nor_a_compaction(
    misplace: Callable[[Log], None],
) -> None:
    """D17: the meter tells what there is, compaction works, and whatever is told of it is told once."""
    log = long_history(6)
    misplace(log)
    provider = Scribe()
    async with compacting(provider, log.store(), model=SMALL, settings=TIGHT) as session:
        events = session.events()
        assert not (await session.prompt("go on")).failed
        before = session.measured().tokens
        await session.compact()
        assert 0 < session.measured().tokens < before
        assert not (await session.prompt("and now?")).failed
        assert compactions(session)[-1].summary
        news = drain(events)
    told = [(one.code, one.message) for one in news if isinstance(one, Diagnostic)]
    assert len(told) == len(set(told))
