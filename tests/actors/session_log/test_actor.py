"""The log's shell: decide, write, commit, and only then announce."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from sapwood.actors.kernel import Refuse, Reply
from sapwood.actors.session_log.actor import SessionLog
from sapwood.actors.session_log.view import View
from sapwood.events.entries import KnownEntry
from sapwood.events.errors import CannotWrite, StaleLeaf, Unencodable
from sapwood.events.ids import EntryId
from sapwood.events.requests import Append, Appended
from sapwood.events.runtime import EntryAppended, Event
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, message_entry, user

U1, U2 = message_entry("u1", user("one")), message_entry("u2", user("two"))


class Refusing(MemoryStore):
    """A disk that is full."""

    def append(self, lines: Sequence[bytes]) -> None:
        if lines:
            raise CannotWrite("s.jsonl", OSError(28, "No space left on device"))


class Desk:
    """A log and everything that it announced, with the length of the log at that moment."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore(HEADER)
        self.view = View(self.store)
        self.told: list[tuple[Event, int]] = []
        self.log = SessionLog(self.store, self.view, self.publish)

    def publish(self, event: Event) -> int:
        self.told.append((event, len(self.view)))
        return len(self.told)

    def append(self, *entries: KnownEntry, expected_leaf: EntryId | UnsetType = UNSET) -> Reply | Refuse:
        return self.log.handle(Append(entries=entries, expected_leaf=expected_leaf))


def test_entries_are_written_chained_and_announced_after_they_are_there() -> None:
    desk = Desk()

    reply = desk.append(U1, U2)

    assert reply == Reply(Appended(entry_ids=(EntryId("u1"), EntryId("u2")), leaf=EntryId("u2")))
    assert [(entry.id, entry.parent_id) for entry in desk.view.entries()] == [("u1", None), ("u2", "u1")]
    announced = [(event.entry_id, length) for event, length in desk.told if isinstance(event, EntryAppended)]
    assert announced == [("u1", 2), ("u2", 2)]


def test_asking_again_writes_and_announces_nothing() -> None:
    desk = Desk()
    first = desk.append(U1)

    assert desk.append(U1) == first
    assert (len(desk.view), len(desk.told)) == (1, 1)


def test_a_stale_leaf_changes_nothing() -> None:
    desk = Desk()
    desk.append(U1)

    refusal = desk.append(U2, expected_leaf=EntryId("gone"))

    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.error, StaleLeaf)
    assert (len(desk.view), len(desk.told)) == (1, 1)


def test_a_full_disk_changes_nothing_and_is_told_to_the_asker() -> None:
    desk = Desk(Refusing(HEADER))

    refusal = desk.append(U1)

    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.error, CannotWrite)
    assert (len(desk.view), desk.told) == (0, [])


def test_what_json_cannot_carry_is_refused_before_anything_is_written() -> None:
    desk = Desk()

    refusal = desk.append(U1, message_entry("u2", user("\ud800")))

    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.error, Unencodable)
    assert (len(desk.view), desk.told) == (0, [])
