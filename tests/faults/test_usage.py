"""A, B and L: what a session is said to hold and to have cost. Codes as in README.md.

That the prompt behind a move does not compact (A20), and summaries of two sessions at once (B07), are in `test_compaction_*.py`. What a
wire reports is read with the wires (the other half of L04).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from sapwood import Model, Runtime, Scripted, ScriptedAnswer, Usage, read
from sapwood.actors.environment import Environment
from sapwood.events.codec import encode_entry
from sapwood.events.entries import Custom, KnownEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import Cost
from sapwood.reading import Reading
from tests.build import MODEL, TIME, assistant, message_entry, usage, user, words
from tests.compacting import settings, summary
from tests.faults.logs import lines_of, nth_id, put
from tests.sapwood.branching import FOUND


def test_a20_after_a_move_to_an_early_message_the_meter_says_what_is_there(tmp_path: Path) -> None:
    """A20: what was reported on the branch that was left says nothing of this one."""
    entries: list[KnownEntry] = []
    for turn in range(40):
        parent = nth_id(2 * turn - 1) if turn else None
        entries.append(message_entry(nth_id(2 * turn), user(f"question {turn}"), parent))
        said = assistant(f"answer {turn}", usage=usage(3_750 * (turn + 1)))
        entries.append(message_entry(nth_id(2 * turn + 1), said, nth_id(2 * turn)))
    path = put(tmp_path / "s.jsonl", lines_of(entries))
    model = Model(provider="scripted", id="talker", context_window=200_000)
    with read(path) as before:
        assert before.context_usage(model).tokens == 150_000
    moved = Custom(id=EntryId("moved"), parent_id=EntryId(nth_id(5)), timestamp=TIME, custom_type="sapwood.leaf")
    put(path, lines_of([*entries, moved]))

    with read(path) as after:
        assert after.context_usage(model).tokens == 3 * 3_750
        assert len(after.context().items) == 6


async def test_b07_nothing_of_one_session_is_in_the_requests_or_the_log_of_another(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """B07: two sessions of one runtime, at once, each with a word of its own."""
    provider = Scripted({"turn": [ScriptedAnswer(text="heard", wait=1)] * 8})
    async with Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic") as runtime:

        async def talk(canary: str) -> None:
            async with runtime.open_session(tmp_path / f"{canary}.jsonl", model=MODEL) as session:
                for nth in range(4):
                    await session.prompt(f"{canary} {nth}")

        async with trio.open_nursery() as nursery:
            for canary in ("heron", "badger"):
                nursery.start_soon(talk, canary)

    assert len(provider.requests) == 8
    for request in provider.requests:
        said = " ".join(map(words, request.messages))
        assert ("heron" in said) is not ("badger" in said)
    assert b"badger" not in (tmp_path / "heron.jsonl").read_bytes()
    assert b"heron" not in (tmp_path / "badger.jsonl").read_bytes()


ODD_USAGES: list[Any] = [
    {},
    {"input": None, "output": None},
    {"input": -5, "output": 1, "cacheRead": 0, "cacheWrite": 0},
    {"input": "12", "output": "many"},
    {"input": 1e308, "output": 1.5},
    {"input": 10**30, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 10**400}},
    "lots",
    7,
    None,
]


@pytest.mark.parametrize("odd", ODD_USAGES, ids=lambda odd: json.dumps(odd)[:40])
def test_l04_a_usage_that_is_none_is_no_number_and_breaks_no_sum(odd: Any, tmp_path: Path) -> None:
    """L04: counts are whole numbers or unknown, and sums stay finite."""
    good = message_entry("a1", assistant("fine", usage=usage(100)), "u1")
    line = json.loads(encode_entry(message_entry("a2", assistant("odd"), "a1")))
    line["message"]["usage"] = odd
    lines = [*lines_of([message_entry("u1", user("hi")), good]), json.dumps(line).encode()]

    with read(put(tmp_path / "s.jsonl", lines)) as session:
        stats, measured = session.stats(), session.measured()
        assert stats.answers == 2
        assert math.isfinite(stats.spent.total)
        assert stats.spent.input >= 100
        assert stats.spent.cost is None or math.isfinite(stats.spent.cost)
        assert measured.tokens >= 0
        assert str(session.context_usage(MODEL)).endswith(f"/{MODEL.window}")


async def test_l10_the_window_that_a_host_declares_is_the_one_that_is_gone_by() -> None:
    """L10: whatever anybody else says of a model with that name."""
    model = Model(provider="scripted", id="gpt-4.1", context_window=32_768)
    provider = Scripted({"turn": [ScriptedAnswer(text="yes", usage=usage(16_384))]})
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    async with runtime.open_session(None, model=model) as session:
        await session.prompt("hi")

        assert str(session.context_usage()) == "50.0%/32768"
        assert provider.requests[0].model.window == 32_768


async def test_l02_sums_never_fall_and_are_those_of_the_whole_log(tmp_path: Path) -> None:
    """L02: a compaction, moves back and a restart take nothing out of what was paid; a live context is no account."""
    paid = Usage.of(input=10, output=1, cost=Cost(input=1, output=1, cache_read=0, cache_write=0, total=2))
    provider = Scripted(
        {
            "turn": [ScriptedAnswer(text="said " * 200, usage=paid)] * 9,
            "compaction": [ScriptedAnswer(text=summary(), usage=paid)] * 2,
            "branch_summary": [ScriptedAnswer(text=FOUND, usage=paid)] * 2,
        }
    )
    costs: list[float] = []
    path = tmp_path / "s.jsonl"

    def look(session: Reading) -> None:
        entries = (msgspec.to_builtins(entry) for entry in session.entries())
        bills = (entry.get("message", entry).get("usage") for entry in entries)
        total = sum(bill["cost"]["total"] for bill in bills if bill is not None)
        assert session.stats().spent.cost == total
        costs.append(total)

    async with Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic") as runtime:
        async with runtime.open_session(path, model=MODEL, settings=settings(keep=300)) as session:
            for nth in range(4):
                await session.prompt(f"question {nth}")
                look(session)
            await session.compact()
            look(session)
            await session.navigate(session.entries()[2].id, summarize=True)
            look(session)
            await session.prompt("again")
            look(session)
        async with runtime.open_session(path, model=MODEL) as session:
            look(session)
            await session.navigate(None)
            look(session)
    with read(path) as again:
        look(again)

    assert costs == sorted(costs)
    assert (costs[3], costs[4], costs[5], costs[6]) == (8, 10, 12, 14)
    assert set(costs[6:]) == {14}
