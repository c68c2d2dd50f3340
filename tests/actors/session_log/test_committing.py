"""From asked for to acknowledged: one order, one write for all that wait, and a disk that refuses loses nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
import trio
from msgspec import UNSET, UnsetType

from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Refuse
from sapwood.actors.session_log.committing import LATEST, PASSING, Committer, Ticket
from sapwood.actors.session_log.view import RECENT, View
from sapwood.events.damage import Damage
from sapwood.events.entries import KnownEntry, Label
from sapwood.events.errors import (
    CannotOpen,
    CannotWrite,
    Refused,
    SapwoodError,
    SessionClosed,
    StaleLeaf,
    StoreClosed,
    StoreConflict,
    Unencodable,
)
from sapwood.events.ids import EntryId
from sapwood.events.requests import Append, Appended
from sapwood.events.runtime import DamageFound, EntryAppended, Event, StoreDegraded, StoreRecovered
from sapwood.store.disk import RealDisk
from sapwood.store.memory import MemoryStore
from sapwood.store.port import Durability
from tests.build import HEADER, TIME, message_entry, user
from tests.store.stores import opened

T = TypeVar("T")


def message(entry_id: str) -> KnownEntry:
    return message_entry(entry_id, user(entry_id))


def label(entry_id: str) -> KnownEntry:
    return Label(id=EntryId(entry_id), parent_id=None, timestamp=TIME, target_id=EntryId("u1"), label="x")


class Fickle(MemoryStore):
    """A store whose writes and syncs fail as it is told, and which counts them."""

    def __init__(self) -> None:
        super().__init__(HEADER)
        self.refuses: int | None = None
        self.sync_refuses: int | None = None
        self.conflict: StoreConflict | None = None
        self.stages: list[int] = []
        self.synced: list[int] = []
        """How many lines were staged at each sync."""
        self.discarded = 0
        self.unreadable = False
        self._now: list[bytes] = []

    def refresh(self) -> None:
        super().refresh()
        if self.conflict is not None:
            raise self.conflict

    def stage(self, lines: Sequence[bytes]) -> None:
        if self.refuses is not None:
            raise CannotWrite("s.jsonl", OSError(self.refuses, os.strerror(self.refuses)))
        super().stage(lines)
        self._now = [*lines]
        self.stages.append(len(lines))

    def line(self, index: int) -> bytes:
        if self.unreadable:
            raise CannotOpen("s.jsonl", OSError(errno.EIO, os.strerror(errno.EIO)))
        return super().line(index)

    def sync(self) -> None:
        self.synced.append(len(self._now))
        if self.sync_refuses is not None:
            raise CannotWrite("s.jsonl", OSError(self.sync_refuses, os.strerror(self.sync_refuses)))

    def discard(self) -> None:
        super().discard()
        self.discarded += 1


class Desk:
    def __init__(self, durability: Durability = "os", store: Fickle | None = None) -> None:
        self.store = store or Fickle()
        self.deaf = False
        """Whether nothing can be told."""
        self.view = View(self.store)
        self.told: list[Event] = []
        self.gate = trio.Event()
        """What holds up work in threads, until it is set."""
        self.gate.set()
        self.committer = Committer(self.store, self.view, self._publish, durability=durability, run_sync=self._run_sync)

    def _publish(self, event: Event) -> int:
        if self.deaf:
            raise SessionClosed
        self.told.append(event)
        return len(self.told)

    async def _run_sync(self, function: Callable[[], T], /) -> T:
        await self.gate.wait()
        return function()

    def put(self, *entry_ids: str, expected: EntryId | UnsetType | None = UNSET, patient: bool = True) -> Ticket:
        entries = tuple(map(message, entry_ids))
        return self.committer.put(Append(entries=entries, expected_leaf=expected, patient=patient))

    @property
    def ids(self) -> list[str]:
        return [entry.id for entry in self.view.entries()]

    @property
    def announced(self) -> list[str]:
        return [event.entry_id for event in self.told if isinstance(event, EntryAppended)]

    def news(self, kind: type[T]) -> list[T]:
        return [event for event in self.told if isinstance(event, kind)]


async def outcome(desk: Desk, ticket: Ticket) -> Appended | SapwoodError:
    try:
        return await desk.committer.wait(ticket)
    except SapwoodError as error:
        return error


async def test_an_append_is_acknowledged_at_once_where_the_kernel_is_enough() -> None:
    desk = Desk()

    ticket = desk.put("u1")

    assert ticket.answer == Appended(entry_ids=(EntryId("u1"),), leaf=EntryId("u1"))
    assert (desk.ids, desk.announced, desk.store.synced) == (["u1"], ["u1"], [])


async def test_nothing_is_seen_before_it_is_on_the_medium(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk("disk")
    desk.gate = trio.Event()
    ticket = desk.put("u1")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome, desk, ticket)
        await trio.testing.wait_all_tasks_blocked()
        assert (desk.store.stages, desk.ids, desk.announced, ticket.answer) == ([1], [], [], None)
        desk.gate.set()

    assert (desk.ids, desk.announced) == (["u1"], ["u1"])


async def test_all_that_waits_is_hardened_once(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk("disk")
    desk.gate = trio.Event()
    first = desk.put("u1")
    rest: list[Ticket] = []

    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome, desk, first)
        await trio.testing.wait_all_tasks_blocked()
        rest.extend(desk.put(f"n{number}") for number in range(63))
        for ticket in rest:
            nursery.start_soon(outcome, desk, ticket)
        await trio.testing.wait_all_tasks_blocked()
        desk.gate.set()

    assert desk.store.synced == [1, 63]
    assert desk.ids == ["u1", *(f"n{number}" for number in range(63))]
    parents = [desk.view.tree.parent(place) for place in range(64)]
    assert parents == [None, *range(63)]


async def test_a_batch_is_decided_on_in_its_order() -> None:
    desk = Desk("disk")
    tickets = [
        desk.put("u1", expected=None),
        desk.put("u2", expected=EntryId("u1")),
        desk.put("u3", expected=EntryId("u1")),
        desk.put("u2"),
        desk.committer.put(Append(entries=(message_entry("u2", user("another")),))),
    ]

    outcomes = [await outcome(desk, ticket) for ticket in tickets]

    assert desk.ids == ["u1", "u2"]
    assert [type(one) for one in outcomes] == [Appended, Appended, StaleLeaf, Appended, Refused]


async def test_what_cannot_be_encoded_holds_up_nobody_else() -> None:
    desk = Desk("disk")
    odd = Label(id=EntryId("l1"), parent_id=None, timestamp="\ud800", target_id=EntryId("u1"))
    tickets = [desk.put("u1"), desk.committer.put(Append(entries=(odd,))), desk.put("u2")]

    outcomes = [await outcome(desk, ticket) for ticket in tickets]

    assert [type(one) for one in outcomes] == [Appended, Unencodable, Appended]
    assert desk.ids == ["u1", "u2"]


@pytest.mark.parametrize("number", sorted(PASSING))
async def test_a_disk_that_refuses_is_waited_for(number: int, autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk()
    desk.put("u1")
    desk.store.refuses = number
    tickets = [desk.put("u2"), desk.put("u3"), desk.put("u4")]

    async with trio.open_nursery() as nursery:
        for ticket in tickets:
            nursery.start_soon(outcome, desk, ticket)
        await trio.sleep(60)
        assert (desk.ids, desk.announced) == (["u1"], ["u1"])
        assert [(event.waiting, number in PASSING) for event in desk.news(StoreDegraded)] == [(1, True)]
        assert desk.news(StoreRecovered) == []
        desk.store.refuses = None
        with trio.fail_after(LATEST * 2):
            for ticket in tickets:
                await desk.committer.wait(ticket)

    assert desk.ids == desk.announced == ["u1", "u2", "u3", "u4"]
    assert [event.written for event in desk.news(StoreRecovered)] == [3]
    assert isinstance(desk.put("u5").answer, Appended)
    assert len(desk.news(StoreDegraded)) == 1


async def test_a_sync_that_fails_is_taken_back_and_written_again(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk("disk")
    desk.store.sync_refuses = errno.EIO
    ticket = desk.put("u1")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome, desk, ticket)
        await trio.sleep(0.01)
        assert (desk.store.discarded, desk.ids, len(desk.news(StoreDegraded))) == (1, [], 1)
        desk.store.sync_refuses = None

    assert (desk.store.stages, desk.ids, desk.announced) == ([1, 1], ["u1"], ["u1"])
    assert [event.written for event in desk.news(StoreRecovered)] == [1]


async def test_a_disk_that_stays_full_is_not_asked_all_the_time(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk()
    tries = 0
    stage = desk.store.stage

    def counted(lines: Sequence[bytes]) -> None:
        nonlocal tries
        tries += 1
        stage(lines)

    desk.store.stage = counted  # type: ignore[method-assign]
    desk.store.refuses = errno.ENOSPC
    ticket = desk.put("u1")
    with trio.move_on_after(3600):
        await desk.committer.wait(ticket)

    assert 3600 / LATEST <= tries <= 3600 / LATEST + 10
    assert len(desk.news(StoreDegraded)) == 1


async def test_whoever_leaves_withdraws_and_the_rest_goes_on(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk()
    desk.store.refuses = errno.ENOSPC
    leaving, staying = desk.put("u1"), desk.put("u2")

    async with trio.open_nursery() as nursery:
        with trio.move_on_after(1):
            nursery.start_soon(outcome, desk, staying)
            await desk.committer.wait(leaving)
        desk.store.refuses = None

    assert desk.ids == ["u2"]
    assert [event.written for event in desk.news(StoreRecovered)] == [1]


@pytest.mark.parametrize("leaving", ["u1", "u2"])
async def test_an_append_that_is_withdrawn_is_refused_at_once_with_what_the_disk_says(
    leaving: str, autojump_clock: trio.testing.MockClock
) -> None:
    desk = Desk()
    desk.store.refuses = errno.ENOSPC
    tickets = [desk.put("u1"), desk.put("u2")]
    outcomes: list[Appended | SapwoodError] = []

    async def follow(ticket: Ticket) -> None:
        outcomes.append(await outcome(desk, ticket))

    async with trio.open_nursery() as nursery:
        for ticket in tickets:
            nursery.start_soon(follow, ticket)
        await trio.sleep(100)
        desk.committer.withdraw(EntryId(leaving))
        await trio.testing.wait_all_tasks_blocked()
        assert [type(one) for one in outcomes] == [CannotWrite]
        desk.store.refuses = None

    assert desk.ids == [one for one in ("u1", "u2") if one != leaving]


async def test_what_is_being_hardened_cannot_be_withdrawn(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk("disk")
    desk.gate = trio.Event()
    ticket = desk.put("u1")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome, desk, ticket)
        await trio.testing.wait_all_tasks_blocked()
        desk.committer.withdraw(EntryId("u1"))
        nursery.cancel_scope.cancel()
        desk.gate.set()

    assert desk.ids == desk.announced == ["u1"]


async def test_who_has_no_patience_is_refused_at_once() -> None:
    desk = Desk()
    desk.store.refuses = errno.ENOSPC

    first = desk.put("u1", patient=False)
    second = desk.put("u2", patient=False)

    assert [type(await outcome(desk, one)) for one in (first, second)] == [CannotWrite, CannotWrite]
    assert desk.ids == []


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EBADF])
async def test_a_disk_that_will_never_write_is_waited_for_by_nobody(number: int) -> None:
    desk = Desk()
    desk.store.refuses = number

    assert isinstance(await outcome(desk, desk.put("u1")), CannotWrite)
    assert desk.news(StoreDegraded) == []


async def test_a_conflict_is_told_to_all_that_wait() -> None:
    desk = Desk("disk")
    desk.store.conflict = StoreConflict("s.jsonl", "deleted")
    tickets = [desk.put("u1"), desk.put("u2")]

    assert [type(await outcome(desk, ticket)) for ticket in tickets] == [StoreConflict, StoreConflict]
    desk.store.conflict = None
    assert isinstance(await outcome(desk, desk.put("u3")), Appended)
    assert desk.ids == ["u3"]


async def test_what_somebody_else_wrote_is_told_and_decided_on() -> None:
    desk = Desk()
    desk.put("u1")

    def refresh() -> None:
        if EntryId("x1") not in desk.store.tree:
            MemoryStore.stage(desk.store, [b'{"type":"message","id":"x1","parentId":"u1","timestamp":"","message":{}}'])
            MemoryStore.commit(desk.store)

    desk.store.refresh = refresh  # type: ignore[method-assign]
    stale = desk.put("u2", expected=EntryId("u1"))
    joined = desk.put("u3")

    assert isinstance(await outcome(desk, stale), StaleLeaf)
    assert isinstance(joined.answer, Appended)
    assert desk.announced == ["u1", "x1", "u3"]


@pytest.mark.parametrize("durability", ["os", "disk"])
async def test_a_hundred_tasks_make_one_chain(durability: Durability, autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk(durability)

    async def one(number: int) -> None:
        await trio.sleep(number % 7 / 1000)
        await desk.committer.wait(desk.put(f"n{number}"))

    async with trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(one, number)

    assert sorted(desk.ids) == sorted(f"n{number}" for number in range(100))
    assert [desk.view.tree.parent(place) for place in range(100)] == [None, *range(99)]
    assert len(desk.store.synced) < 100


async def test_what_is_being_written_is_not_refused_by_a_withdrawal(autojump_clock: trio.testing.MockClock) -> None:
    """It used to be told that it was not kept, and then to be in the log."""
    desk = Desk("disk")
    desk.store.refuses = errno.ENOSPC
    ticket = desk.put("u1")
    outcomes: list[Appended | SapwoodError] = []

    async def follow() -> None:
        outcomes.append(await outcome(desk, ticket))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        await trio.sleep(1)
        desk.store.refuses, desk.gate = None, trio.Event()
        await trio.sleep(LATEST * 2)
        assert desk.store.stages == [1]
        desk.committer.withdraw(EntryId("u1"))
        await trio.testing.wait_all_tasks_blocked()
        assert outcomes == []
        desk.gate.set()

    assert [type(one) for one in outcomes] == [Appended]
    assert desk.ids == ["u1"]


async def test_a_withdrawal_during_a_sync_that_fails_is_heeded(autojump_clock: trio.testing.MockClock) -> None:
    """It used to be forgotten: the append waited for as long as the disk refused."""
    desk = Desk("disk")
    desk.gate, desk.store.sync_refuses = trio.Event(), errno.ENOSPC
    ticket = desk.put("u1")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome, desk, ticket)
        await trio.testing.wait_all_tasks_blocked()
        desk.committer.withdraw(EntryId("u1"))
        desk.gate.set()
        with trio.fail_after(0.1):
            assert isinstance(await outcome(desk, ticket), CannotWrite)

    assert desk.ids == []


async def test_who_left_during_a_sync_that_fails_is_not_written_later(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk("disk")
    desk.gate, desk.store.sync_refuses = trio.Event(), errno.ENOSPC
    first, second = desk.put("u1"), desk.put("u2")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome, desk, first)
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await desk.committer.wait(second)
        desk.gate.set()
        await trio.sleep(1)
        desk.store.sync_refuses = None

    assert desk.ids == ["u1"]


@pytest.mark.parametrize("durability", ["os", "disk"])
@pytest.mark.parametrize("entry_ids", [[], ["u1", "u1"]], ids=["nothing", "an id twice"])
async def test_what_fits_no_log_is_refused_at_once(durability: Durability, entry_ids: list[str]) -> None:
    desk = Desk(durability)
    desk.store.refuses = errno.ENOSPC

    answer = desk.put(*entry_ids).answer

    assert isinstance(answer, Refuse)
    assert isinstance(answer.error, Refused)


async def test_a_restore_has_its_turn_while_the_disk_refuses(autojump_clock: trio.testing.MockClock) -> None:
    """It used to wait for as long as the disk refused."""
    desk = Desk()
    desk.store.refuses = errno.ENOSPC
    tickets = [desk.put("u1"), desk.put("u2")]

    async with trio.open_nursery() as nursery:
        for ticket in tickets:
            nursery.start_soon(outcome, desk, ticket)
        await trio.sleep(100)
        with trio.fail_after(0.1):
            assert await desk.committer.restore() is None
        desk.store.refuses = None

    assert desk.ids == ["u1", "u2"]


class Overtaken(RealDisk):
    """Somebody else appends between our look at the file and our write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.theirs = b""

    def write(self, descriptor: int, data: bytes) -> int:
        if self.theirs and b'"parentId"' in data:
            with self.path.open("ab") as file:
                file.write(self.theirs)
            self.theirs = b""
        return super().write(descriptor, data)


async def test_what_somebody_else_writes_in_the_last_moment_stands_and_is_told_in_its_place(tmp_path: Path) -> None:
    """It used to be never told, and our own entry to be remembered in its place."""
    disk = Overtaken(tmp_path / "s.jsonl")
    store = opened(tmp_path / "s.jsonl", disk)
    view, told = View(store), list[Event]()

    def publish(event: Event) -> int:
        told.append(event)
        return len(told)

    committer = Committer(store, view, publish, run_sync=Environment().run_sync)
    committer.put(Append(entries=(message("a1"),)))
    disk.theirs = b'rubbish\n{"type":"custom","id":"f1","parentId":"a1","timestamp":"","customType":"x"}\n'
    committer.put(Append(entries=(message("b1"),)))

    assert [view.entry(place).id for place in range(len(view))] == ["a1", "f1", "b1"]
    assert [event.entry_id for event in told if isinstance(event, EntryAppended)] == ["a1", "f1", "b1"]
    (found,) = [event for event in told if isinstance(event, DamageFound)]
    assert [(one.kind, one.line) for one in found.records] == [("garbage", 3)]
    store.close()
    again = opened(tmp_path / "s.jsonl")
    assert [again.tree.id(place) for place in range(3)] == ["a1", "f1", "b1"]
    again.close()


@pytest.mark.parametrize("durability", ["os", "disk"])
async def test_what_cannot_be_read_back_is_acknowledged_and_told_all_the_same(durability: Durability) -> None:
    """The first of those who waited used to get the disk's error, and the others went round without end."""
    desk = Desk(durability)
    desk.store.unreadable = True
    many = RECENT + 6
    tickets = [desk.put(f"u{n}") for n in range(many)]
    outcomes: list[Appended | SapwoodError] = []
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            for ticket in tickets:
                nursery.start_soon(keep, outcomes, desk, ticket)

    assert [type(one) for one in outcomes] == [Appended] * many
    assert desk.announced == [f"u{n}" for n in range(many)]
    untold = [event.entry_id for event in desk.news(EntryAppended) if event.entry is None]
    assert len(untold) == (6 if durability == "disk" else 0)


async def keep(outcomes: list[Appended | SapwoodError], desk: Desk, ticket: Ticket) -> None:
    outcomes.append(await outcome(desk, ticket))


class Crumbling(Fickle):
    """A store that finds damage when it commits."""

    found: tuple[Damage, ...] = ()

    def commit(self) -> None:
        super().commit()
        self.found = (Damage(kind="garbage", line=1, offset=0, length=1),)

    @property
    def damage(self) -> Sequence[Damage]:
        return self.found


@pytest.mark.parametrize("store", [Fickle, Crumbling])
async def test_whoever_listens_badly_holds_up_nobody_who_waits(store: type[Fickle]) -> None:
    desk = Desk("disk", store())
    desk.deaf = True
    first, second = desk.put("u1"), desk.put("u2")

    with pytest.raises(SessionClosed):
        await desk.committer.wait(first)
    with trio.fail_after(5):
        assert isinstance(await desk.committer.wait(second), Appended)
    assert desk.ids == ["u1", "u2"]


async def test_a_store_is_let_go_while_its_disk_refuses_and_what_waits_is_refused(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A patient append used to take the next round each time, for ever."""
    desk = Desk()
    desk.store.refuses = errno.ENOSPC
    outcomes: list[Appended | SapwoodError] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep, outcomes, desk, desk.put("u1"))
        await trio.sleep(10)
        with trio.fail_after(5):
            await desk.committer.let_go()

    assert [type(one) for one in outcomes] == [StoreClosed]
    assert len(desk.view) == 0


async def test_a_store_is_not_let_go_under_a_sync(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk("disk")
    desk.gate = trio.Event()
    outcomes: list[Appended | SapwoodError] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep, outcomes, desk, desk.put("u1"))
        await trio.sleep(1)
        nursery.start_soon(desk.committer.let_go)
        await trio.sleep(1)
        desk.gate.set()

    assert [type(one) for one in outcomes] == [Appended]
    assert isinstance(await outcome(desk, desk.put("u2")), StoreClosed)


class Starved(Fickle):
    """A store that has no memory for its first stage."""

    starved = True

    def stage(self, lines: Sequence[bytes]) -> None:
        if self.starved:
            self.starved = False
            raise MemoryError
        super().stage(lines)


async def test_an_error_that_is_nobodys_is_the_first_askers_and_the_others_are_written() -> None:
    """They used to go round without a checkpoint."""
    desk = Desk("disk", Starved())
    first, second = desk.put("u1"), desk.put("u2")
    with pytest.raises(MemoryError):
        await desk.committer.wait(first)

    with trio.fail_after(5):
        assert isinstance(await desk.committer.wait(second), Appended)
    assert desk.ids == ["u2"]
