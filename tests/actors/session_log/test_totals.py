"""Sums over a log: each billed call once, whatever becomes of the context."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.session_log.totals import UNKNOWN, Totals, spent_of
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.entries import FORK_MARKER, BranchSummary, Compaction, Custom, Entry, UsageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import TOO_MUCH, UNKNOWN_COST, Cost, Usage
from sapwood.events.stats import NO_BILL, NOTHING, SessionStats, Spent
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, TIME, assistant, call, message_entry, result, user


def paid(tokens: int, cost: float | None = None) -> Usage:
    price = UNKNOWN_COST if cost is None else Cost(input=0, output=0, cache_read=0, cache_write=0, total=cost)
    return Usage(input=tokens, output=1, cache_read=2, cache_write=3, cost=price)


def totals_of(*entries: Entry) -> Totals:
    store = MemoryStore(HEADER)
    for entry in entries:
        store.append([encode_entry(entry)])
    return Totals(View(store))


def compaction(name: str, parent: str, usage: Usage | None) -> Compaction:
    return Compaction(
        id=EntryId(name),
        parent_id=EntryId(parent),
        timestamp=TIME,
        summary="s",
        first_kept_entry_id=EntryId(name),
        tokens_before=9,
        usage=usage,
    )


WHOLE: list[Entry] = [
    message_entry("u1", user("hi")),
    message_entry("a1", assistant("one", call("c1"), usage=paid(10, 0.5)), "u1"),
    message_entry("r1", msgspec.structs.replace(result("c1"), usage=paid(20)), "a1"),
    message_entry("a2", assistant("two", usage=paid(30, 0.25), stop="error"), "r1"),
    compaction("k1", "a2", paid(40, 1)),
    BranchSummary(
        id=EntryId("b1"), parent_id=EntryId("u1"), timestamp=TIME, from_id=EntryId("k1"), summary="s", usage=paid(50)
    ),
    UsageEntry(
        id=EntryId("x1"),
        parent_id=EntryId("b1"),
        timestamp=TIME,
        kind="embedding",
        provider="p",
        model="e",
        usage=paid(60, 2),
    ),
]


def test_every_billed_call_is_in_them_once_by_model_and_by_purpose() -> None:
    stats = totals_of(*WHOLE).stats()

    assert (stats.spent.calls, stats.spent.input, stats.spent.output) == (6, 210, 6)
    assert (stats.spent.cache_read, stats.spent.cache_write, stats.spent.total) == (12, 18, 246)
    assert (stats.spent.cost, stats.spent.unpriced) == (3.75, 2)
    assert {name: one.input for name, one in stats.by_purpose.items()} == {
        "turn": 40,
        "tool": 20,
        "compaction": 40,
        "branch_summary": 50,
        "embedding": 60,
    }
    own = assistant("x")
    assert {name: one.input for name, one in stats.by_model.items()} == {
        f"{own.provider}/{own.model}": 40,
        UNKNOWN: 110,
        "p/e": 60,
    }
    assert (stats.entries, stats.messages, stats.user_messages, stats.answers) == (7, 4, 1, 2)
    assert (stats.tool_calls, stats.tool_results, stats.compactions) == (1, 1, 1)


@given(st.lists(st.integers(0, len(WHOLE) - 1), max_size=7))
def test_they_never_fall_and_are_the_same_in_one_pull_and_in_many(cuts: list[int]) -> None:
    store = MemoryStore(HEADER)
    totals, last = Totals(View(store)), NOTHING
    for nth, entry in enumerate(WHOLE):
        store.append([encode_entry(entry)])
        if nth in cuts:
            spent = totals.stats().spent
            assert spent.total >= last.total
            assert spent.calls >= last.calls
            last = spent

    assert totals.stats() == totals_of(*WHOLE).stats()


def test_a_session_without_calls_has_cost_nothing_that_is_known() -> None:
    stats = totals_of(message_entry("u1", user("hi"))).stats()

    assert (stats.spent, stats.by_model, stats.by_purpose) == (NOTHING, {}, {})
    assert stats.spent.cost is None


ODD: list[tuple[dict[str, Any], tuple[int, float | None, int]]] = [
    ({"input": -5}, (6, 0.5, 0)),
    ({"cost": None}, (16, None, 1)),
    ({"cost": UNKNOWN_COST}, (16, None, 1)),
    ({"cost": Cost(input=0, output=0, cache_read=0, cache_write=0, total=-1)}, (16, None, 1)),
    ({"cost": Cost(input=0, output=0, cache_read=0, cache_write=0, total=math.nan)}, (16, None, 1)),
    ({"cost": Cost(input=0, output=0, cache_read=0, cache_write=0, total=0)}, (16, 0, 0)),
    ({"cost": Cost(input=0, output=0, cache_read=0, cache_write=0, total=1e308)}, (16, None, 1)),
    ({"cost": Cost(input=0, output=0, cache_read=0, cache_write=0, total=10**400)}, (16, None, 1)),
    ({"input": 10**400}, (6, 0.5, 0)),
    ({"input": TOO_MUCH}, (6, 0.5, 0)),
    ({"input": TOO_MUCH - 1}, (TOO_MUCH + 5, 0.5, 0)),
    ({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost": UNKNOWN_COST}, (0, None, 0)),
]


@pytest.mark.parametrize(("fields", "expected"), ODD, ids=str)
def test_what_is_no_count_and_no_cost_counts_as_nothing(
    fields: dict[str, Any], expected: tuple[int, float | None, int]
) -> None:
    spent = spent_of(msgspec.structs.replace(paid(10, 0.5), **fields))

    assert (spent.total, spent.cost, spent.unpriced) == expected
    assert spent.calls == 1
    assert (NOTHING + spent).cost == spent.cost
    json.loads(msgspec.json.encode(spent + spent + spent))


def test_what_is_known_is_summed_and_what_is_not_is_counted() -> None:
    both = Spent(calls=1, input=1, cost=0.5) + Spent(calls=1, input=2, unpriced=1)

    assert both == Spent(calls=2, input=3, cost=0.5, unpriced=1)
    assert NOTHING + NOTHING == NOTHING
    assert (NOTHING + Spent(cost=0)).cost == 0


def bill_of(stats: SessionStats) -> tuple[int, int, int]:
    """Tokens that went in: all of them, a session's own, and its parent's."""
    return stats.spent.input, stats.own.spent.input, stats.inherited.spent.input


def answer(name: str, tokens: int, parent: str | None = None, when: str = TIME) -> Entry:
    entry = message_entry(name, assistant("said", usage=paid(tokens)), parent)
    return msgspec.structs.replace(entry, timestamp=when)


def mark(name: str, parent: str, entries: Any) -> Custom:
    return Custom(
        id=EntryId(name),
        parent_id=EntryId(parent),
        timestamp=TIME,
        custom_type=FORK_MARKER,
        data={"entries": entries},
    )


FORKED = msgspec.structs.replace(HEADER, parent_session="/p.jsonl", timestamp="2026-01-02T00:00:00.000Z")
LATER = "2026-01-03T00:00:00.000Z"


def forked_store(*entries: Entry) -> MemoryStore:
    return MemoryStore(FORKED, map(encode_entry, entries))


def test_a_session_that_is_no_fork_paid_for_all_of_it() -> None:
    stats = totals_of(*WHOLE).stats()

    assert (stats.own.spent, stats.own.by_model, stats.own.by_purpose) == (
        stats.spent,
        stats.by_model,
        stats.by_purpose,
    )
    assert stats.inherited == NO_BILL


def test_what_a_marker_counts_was_paid_for_elsewhere() -> None:
    store = forked_store(answer("a", 1), answer("b", 2, "a"), mark("m", "b", 2))
    totals = Totals(View(store))
    assert bill_of(totals.stats()) == (3, 0, 3)

    store.append([encode_entry(answer("c", 4, "m"))])

    assert bill_of(totals.stats()) == (7, 4, 3)
    assert totals.stats().own.by_purpose.keys() == {"turn"}


def test_a_marker_that_comes_behind_what_is_own_is_heard_of_when_it_comes() -> None:
    """A version 1 session goes on in a copy: what is added stands before the marker."""
    store = forked_store(answer("a", 1), answer("b", 2, "a", LATER))
    totals = Totals(View(store))
    totals.stats()

    store.append([encode_entry(mark("m", "b", 1))])

    assert bill_of(totals.stats()) == (3, 2, 1)
    assert totals.stats().entries == 3


def test_of_several_markers_the_last_one_counts_that_can_be_true() -> None:
    """One that was copied along a path counts entries that stayed behind."""
    store = forked_store(
        answer("a", 1), mark("m", "a", 40), answer("b", 2, "m"), mark("n", "b", 3), mark("o", "n", "x")
    )

    assert bill_of(Totals(View(store)).stats()) == (3, 0, 3)


def test_without_a_marker_what_is_older_than_the_header_was_paid_for_elsewhere() -> None:
    store = forked_store(answer("a", 1), answer("b", 2, "a", LATER), answer("c", 4, "b", "no time"))

    assert bill_of(Totals(View(store)).stats()) == (7, 6, 1)


def test_a_marker_in_a_session_that_is_no_fork_says_nothing() -> None:
    totals = totals_of(answer("a", 1), mark("m", "a", 1))

    assert bill_of(totals.stats()) == (1, 1, 0)
