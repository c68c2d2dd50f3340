"""Whether an append stands: S6, case by case."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from sapwood.actors.session_log.appending import AlreadyDone, Decision, Go, Log, decide
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.entries import Custom, Entry, KnownEntry, Label
from sapwood.events.errors import Refused, StaleLeaf
from sapwood.events.ids import EntryId
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, TIME, message_entry, user


def log(*entries: Entry) -> View:
    store = MemoryStore(HEADER)
    for entry in entries:
        store.append([encode_entry(entry)])
    return View(store)


def attempt(view: View, *entries: KnownEntry, expected: EntryId | UnsetType | None = UNSET) -> Decision:
    return decide(Log(view.tree, view.entry), entries, expected)


def label(name: str, parent: str) -> Label:
    return Label(id=EntryId(name), parent_id=EntryId(parent), timestamp=TIME, target_id=EntryId(parent), label="x")


U1 = message_entry("u1", user("one"))
A1 = message_entry("a1", user("two"), "u1")
NEW = message_entry("n1", user("new"))


def test_entries_hang_under_the_leaf_one_behind_the_other() -> None:
    second = message_entry("n2", user("newer"))

    decision = attempt(log(U1), NEW, second)

    assert isinstance(decision, Go)
    assert [(entry.id, entry.parent_id) for entry in decision.entries] == [("n1", "u1"), ("n2", "n1")]


def test_the_first_entry_of_a_session_is_a_root() -> None:
    decision = attempt(log(), NEW, expected=None)

    assert isinstance(decision, Go)
    assert decision.entries[0].parent_id is None


def test_an_append_for_the_present_leaf_stands() -> None:
    assert isinstance(attempt(log(U1, A1), NEW, expected=EntryId("a1")), Go)


def test_an_append_stands_when_only_bookkeeping_came_since_and_hangs_under_it() -> None:
    decision = attempt(log(U1, label("l1", "u1"), label("l2", "l1")), NEW, expected=EntryId("u1"))

    assert isinstance(decision, Go)
    assert decision.entries[0].parent_id == "l2"


def test_an_append_for_a_new_session_stands_when_only_bookkeeping_came_since() -> None:
    custom = Custom(id=EntryId("c1"), parent_id=None, timestamp=TIME, custom_type="x")

    assert isinstance(attempt(log(custom), NEW, expected=None), Go)


@pytest.mark.parametrize("expected", ["u1", None, "nobody"])
def test_an_append_for_a_leaf_that_is_no_more_is_refused(expected: EntryId | None) -> None:
    decision = attempt(log(U1, A1), NEW, expected=expected)

    assert isinstance(decision, StaleLeaf)
    assert (decision.expected, decision.actual) == (expected, "a1")


def test_a_move_to_another_branch_makes_the_old_leaf_stale_even_if_only_a_marker_was_written() -> None:
    marker = Custom(id=EntryId("m1"), parent_id=EntryId("u1"), timestamp=TIME, custom_type="sapwood.leaf")

    assert isinstance(attempt(log(U1, A1, marker), NEW, expected=EntryId("a1")), StaleLeaf)


def test_asking_again_is_already_done_whatever_came_since() -> None:
    view = log(U1, A1)

    assert attempt(view, msgspec.structs.replace(U1, parent_id=EntryId("x")), expected=EntryId("gone")) == AlreadyDone(
        (EntryId("u1"),)
    )


def test_asking_again_is_already_done_at_whatever_time() -> None:
    """It used to be refused as somebody else's, where the first append was still on its way to the disk."""
    later = msgspec.structs.replace(NEW, timestamp="2026-01-02T03:04:05.678Z")
    view = log(U1)

    waiting = Log(view.tree, view.entry, {NEW.id: NEW})

    assert decide(waiting, (later,), UNSET) == AlreadyDone((NEW.id,))


@pytest.mark.parametrize(
    "entries",
    [(message_entry("u1", user("other")),), (U1, NEW), (NEW, NEW), ()],
    ids=["taken", "half there", "twice", "none"],
)
def test_an_id_that_is_taken_and_an_append_of_nothing_are_refused(entries: tuple[KnownEntry, ...]) -> None:
    assert isinstance(attempt(log(U1), *entries), Refused)


def pending(*entries: KnownEntry) -> Log:
    """A committed user message, and behind it entries that are about to be committed."""
    view = log(U1)
    return Log(view.tree, view.entry, {entry.id: entry for entry in entries})


def test_entries_hang_under_what_is_about_to_be_committed() -> None:
    decision = decide(pending(A1), [NEW], UNSET)

    assert isinstance(decision, Go)
    assert decision.entries[0].parent_id == "a1"


@pytest.mark.parametrize("expected", ["u1", "l1", "l2"])
def test_an_append_stands_when_only_bookkeeping_is_about_to_be_committed(expected: str) -> None:
    decision = decide(pending(label("l1", "u1"), label("l2", "l1")), [NEW], EntryId(expected))

    assert isinstance(decision, Go)
    assert decision.entries[0].parent_id == "l2"


def test_an_append_does_not_stand_when_a_message_is_about_to_be_committed() -> None:
    decision = decide(pending(A1, label("l1", "a1")), [NEW], EntryId("u1"))

    assert isinstance(decision, StaleLeaf)
    assert (decision.expected, decision.actual) == ("u1", "l1")


def test_what_is_about_to_be_committed_is_done_already_if_it_is_the_same() -> None:
    assert decide(pending(A1), [A1], UNSET) == AlreadyDone((A1.id,))
    assert isinstance(decide(pending(A1), [message_entry("a1", user("other"))], UNSET), Refused)


def test_an_entry_may_hang_under_another_one_than_the_leaf() -> None:
    view = log(U1, A1)

    decision = decide(Log(view.tree, view.entry), [NEW, message_entry("n2", user("newer"))], UNSET, EntryId("u1"))

    assert isinstance(decision, Go)
    assert [(entry.id, entry.parent_id) for entry in decision.entries] == [("n1", "u1"), ("n2", "n1")]
    assert isinstance(decide(Log(view.tree, view.entry), [NEW], UNSET, EntryId("nowhere")), Refused)
    at_the_root = decide(Log(view.tree, view.entry), [NEW], UNSET, None)
    assert isinstance(at_the_root, Go)
    assert at_the_root.entries[0].parent_id is None
