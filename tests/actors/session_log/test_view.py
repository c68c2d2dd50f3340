"""What is committed, as everybody reads it."""

from __future__ import annotations

from sapwood.actors.session_log.view import RECENT, View
from sapwood.events.codec import encode_entry
from sapwood.events.entries import Entry, Label, SessionInfo
from sapwood.events.ids import EntryId
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, TIME, message_entry, user


def label(name: str, target: str, text: str | None) -> Label:
    return Label(id=EntryId(name), parent_id=None, timestamp=TIME, target_id=EntryId(target), label=text)


def info(name: str, text: str | None) -> SessionInfo:
    return SessionInfo(id=EntryId(name), parent_id=None, timestamp=TIME, name=text)


def viewed(*entries: Entry) -> View:
    return View(MemoryStore(HEADER, [encode_entry(entry) for entry in entries]))


def test_entries_are_found_by_place_and_by_id() -> None:
    first, second = message_entry("u1", user("one")), message_entry("u2", user("two"), "u1")
    view = viewed(first, second)

    assert (len(view), view.leaf, view.where, view.header) == (2, "u2", ":memory:", HEADER)
    assert list(view.entries()) == [first, second]
    assert (view.entry(1), view.find(EntryId("u1")), view.find(EntryId("no"))) == (second, first, None)


def test_an_empty_session_has_no_leaf_no_name_and_no_labels() -> None:
    view = viewed()

    assert (len(view), view.leaf, view.name(), view.labels()) == (0, None, None, {})


SAID: list[Entry] = [message_entry("a", user()), message_entry("b", user())]


def test_the_last_label_of_an_entry_counts_and_an_empty_one_takes_it_off() -> None:
    entries: list[Entry] = [
        *SAID,
        label("l1", "a", "x"),
        label("l2", "b", "y"),
        label("l3", "a", "z"),
        label("l4", "b", None),
    ]

    assert viewed(*entries).labels() == {"a": "z"}
    assert viewed(*entries, label("l5", "a", "")).labels() == {}


def test_a_label_of_an_entry_that_is_not_here_says_nothing() -> None:
    """A fork along a path has the labels that were set on the path, of whatever entry."""
    assert viewed(label("l1", "left-behind", "x")).labels() == {}


def test_the_last_name_counts_with_its_line_breaks_as_blanks() -> None:
    assert viewed(info("i1", "old"), info("i2", " a\r\n\nb ")).name() == "a b"
    assert viewed(info("i1", "old"), info("i2", None)).name() is None
    assert viewed(info("i1", "old"), info("i2", " \n")).name() is None


def test_what_was_just_appended_is_not_decoded_again_and_only_so_much_is_kept() -> None:
    view = viewed(*(message_entry(f"u{n}", user(str(n))) for n in range(RECENT + 2)))
    known = [view.entry(n) for n in range(RECENT + 2)]
    for n, entry in enumerate(known):
        view.remember(n, entry)

    assert view.entry(RECENT + 1) is known[RECENT + 1]
    assert view.entry(0) is not known[0]
    assert view.entry(0) == known[0]
