"""The log's shell: decide, write, commit, and only then announce."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Refuse, Reply, Start
from sapwood.actors.session_log.actor import SessionLog
from sapwood.actors.session_log.committing import Committer
from sapwood.actors.session_log.view import View
from sapwood.events.entries import Custom, KnownEntry
from sapwood.events.errors import CannotWrite, StaleLeaf, Unencodable
from sapwood.events.ids import EntryId
from sapwood.events.requests import Append, Appended
from sapwood.events.runtime import EntryAppended, Event
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, TIME, message_entry, user

U1, U2 = message_entry("u1", user("one")), message_entry("u2", user("two"))


class Refusing(MemoryStore):
    """A disk that will never be written."""

    def stage(self, lines: Sequence[bytes]) -> None:
        if lines:
            raise CannotWrite("s.jsonl", OSError(errno.EROFS, "Read-only file system"))


class Desk:
    """A log and everything that it announced, with the length of the log at that moment."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore(HEADER)
        self.view = View(self.store)
        self.told: list[tuple[Event, int]] = []
        committer = Committer(self.store, self.view, self.publish, run_sync=Environment().run_sync)
        self.log = SessionLog(committer)

    def publish(self, event: Event) -> int:
        self.told.append((event, len(self.view)))
        return len(self.told)

    def append(self, *entries: KnownEntry, expected_leaf: EntryId | UnsetType = UNSET) -> Reply | Refuse | Start:
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


def test_a_disk_that_will_never_be_written_changes_nothing_and_is_told_to_the_asker() -> None:
    desk = Desk(Refusing(HEADER))

    refusal = desk.append(U1)

    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.error, CannotWrite)
    assert (len(desk.view), desk.told) == (0, [])


def test_what_json_cannot_carry_is_refused_before_anything_is_written() -> None:
    desk = Desk()
    no_number = Custom(id=EntryId("c1"), parent_id=None, timestamp=TIME, custom_type="x", data=float("nan"))

    refusal = desk.append(U1, no_number)

    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.error, Unencodable)
    assert (len(desk.view), desk.told) == (0, [])


def test_what_is_brought_is_cleaned_before_it_is_written() -> None:
    desk = Desk()

    desk.append(message_entry("u1", user("half \ud800 and \0 nothing")))

    (entry,) = desk.view.entries()
    assert entry == message_entry("u1", user("half \ufffd and  nothing"))
    assert [event.entry for event, _ in desk.told if isinstance(event, EntryAppended)] == [entry]
