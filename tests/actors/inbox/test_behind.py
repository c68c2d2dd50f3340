"""What came of an input, as the log tells it."""

from __future__ import annotations

from sapwood.actors.inbox.behind import Behind, behind
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.entries import Entry
from sapwood.events.ids import EntryId
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, assistant, message_entry, user


def viewed(*entries: Entry) -> View:
    return View(MemoryStore(HEADER, [encode_entry(entry) for entry in entries]))


LOG = viewed(
    message_entry("u1", user("one")),
    message_entry("a1", assistant("first"), "u1"),
    message_entry("a2", assistant("second"), "a1"),
    message_entry("side", user("elsewhere"), "u1"),
    message_entry("u2", user("two"), "a2"),
)


def test_the_answers_behind_an_input_are_counted_and_the_last_one_is_its_answer() -> None:
    assert behind(LOG, EntryId("u1")) == Behind(2, assistant("second"))


def test_an_input_without_an_answer_was_interrupted() -> None:
    found = behind(LOG, EntryId("u2"))

    assert (found, found.interrupted) == (Behind(), True)
    assert Behind(1, assistant("half", stop="aborted")).interrupted
    assert not Behind(1, assistant("whole")).interrupted
    assert not Behind(1, assistant("failed", stop="error")).interrupted


def test_what_is_on_another_branch_or_nowhere_has_nothing_behind_it() -> None:
    assert behind(LOG, EntryId("side")) == Behind()
    assert behind(LOG, EntryId("no")) == Behind()
    assert behind(viewed(), EntryId("u1")) == Behind()
