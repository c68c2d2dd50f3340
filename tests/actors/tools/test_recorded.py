"""Results that stand in the log when what ran the calls has broken."""

from __future__ import annotations

from sapwood.actors.session_log.view import View
from sapwood.actors.tools.recorded import results_behind
from sapwood.events.codec import encode_entry
from sapwood.events.entries import Entry
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.requests import Ran
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, assistant, call, message_entry, result, user

ANSWER = message_entry("a1", assistant(call("c1"), call("c2")), "u1")


def view(*entries: Entry) -> View:
    return View(
        MemoryStore(HEADER, [encode_entry(message_entry("u1", user())), *map(encode_entry, (ANSWER, *entries))])
    )


def test_what_was_recorded_behind_the_answer_is_found_by_call_and_the_last_of_it_is_named() -> None:
    first, second = result("c2", "two"), result("c1", "one")

    found = results_behind(view(message_entry("r2", first, "a1"), message_entry("r1", second, "r2")), EntryId("a1"))

    assert found == (
        {
            ToolCallId("c2"): Ran(message=first, entry_id=EntryId("r2")),
            ToolCallId("c1"): Ran(message=second, entry_id=EntryId("r1")),
        },
        EntryId("r1"),
    )


def test_of_two_results_of_a_call_the_first_counts() -> None:
    first, second = result("c1", "one"), result("c1", "again")

    results, last = results_behind(
        view(message_entry("r1", first, "a1"), message_entry("r2", second, "r1")), EntryId("a1")
    )

    assert results == {ToolCallId("c1"): Ran(message=first, entry_id=EntryId("r1"))}
    assert last == "r2"


def test_without_results_the_answer_is_the_last() -> None:
    assert results_behind(view(), EntryId("a1")) == ({}, EntryId("a1"))
    assert results_behind(view(message_entry("x", user(), "a1")), EntryId("a1")) == ({}, EntryId("a1"))


def test_results_of_another_branch_are_not_its() -> None:
    elsewhere = message_entry("r1", result("c1"), "u1")

    assert results_behind(view(elsewhere), EntryId("a1")) == ({}, EntryId("a1"))
