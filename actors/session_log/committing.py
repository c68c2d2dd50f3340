"""From an append that is asked for to one that is acknowledged.

1. In the order of asking. What is not acknowledged is in no tree, no fold and no event.
2. `os`: written and acknowledged at once. `disk`: whatever waits is written as one, hardened once, and acknowledged together.
3. While the disk refuses, appends wait: whoever leaves withdraws, the rest is written in order once it takes them (S8).
4. What somebody else wrote into the file comes first, and is decided on (S9).

It outlives the actor that asks it: after a crash, what waited has been refused, and what was being written is finished.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, assert_never

import attrs
import trio

from sapwood.actors.environment import RunSync
from sapwood.actors.kernel import Refuse
from sapwood.actors.session_log.appending import AlreadyDone, Go, Log, decide, unfit
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.damage import Damage
from sapwood.events.entries import KnownEntry, Unknown
from sapwood.events.errors import CannotOpen, CannotWrite, Refused, SapwoodError, StaleLeaf, StoreError, Unencodable
from sapwood.events.ids import EntryId
from sapwood.events.requests import Append, Appended
from sapwood.events.runtime import DamageFound, EntryAppended, Event, SessionMoved, StoreDegraded, StoreRecovered
from sapwood.store.port import Durability, Store
from sapwood.store.telling import new_damage

PASSING: Final = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EIO", "EINTR", "EAGAIN", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS")
)
"""What a disk says that may write again later. Anything else (a mode, a file system that is read-only) waits for nobody."""
SOONEST: Final = 0.05
LATEST: Final = 2.0
"""Seconds between two tries, doubling: a disk that was full for a blink is noticed at once, and one that stays full costs nothing."""


@attrs.define(eq=False)
class Ticket:
    """An append that waits."""

    append: Append
    patient: bool
    """Whether it waits for a disk that refuses; who has left or withdrawn does not."""
    answer: Appended | Refuse | None = None


@attrs.define(eq=False)
class _Batch:
    """What is written as one."""

    where: str
    """The store's place before it."""
    lines: list[bytes] = attrs.field(factory=list[bytes])
    entries: dict[EntryId, KnownEntry] = attrs.field(factory=dict[EntryId, KnownEntry])
    tickets: dict[Ticket, tuple[EntryId, ...]] = attrs.field(factory=dict[Ticket, tuple[EntryId, ...]])
    """Whom it answers, and with which ids."""


class Committer:
    """Owns the way into a store."""

    def __init__(
        self,
        store: Store,
        view: View,
        publish: Callable[[Event], int],
        *,
        durability: Durability = "os",
        run_sync: RunSync,
    ) -> None:
        self._store = store
        self._view = view
        self._publish = publish
        self._durability: Durability = durability
        self._run_sync = run_sync
        self._waiting: dict[Ticket, None] = {}
        """Not answered and not being written, in the order of asking."""
        self._batch: _Batch | None = None
        """What is being written."""
        self._writing = False
        self._reserved = 0
        """How many wait for a round of their own."""
        self._round = trio.Event()
        self._pause_over = trio.Event()
        self._trouble: SapwoodError | None = None
        """What the disk says, while it refuses."""
        self._pause = SOONEST

    def put(self, append: Append) -> Ticket:
        """Take an append; its ticket is answered already if nothing stands in the way."""
        ticket = Ticket(append, append.patient)
        refused = unfit(append.entries) or (None if append.patient else self._trouble)
        if refused is not None:
            ticket.answer = Refuse(refused)
            return ticket
        self._waiting[ticket] = None
        if self._durability == "os" and not self._writing and self._trouble is None:
            batch = self._stage()
            if batch is not None:
                self._commit(batch)
        return ticket

    async def wait(self, ticket: Ticket) -> Appended:
        """Wait for the answer of a ticket, and write for all that wait if nobody does. Whoever leaves withdraws its own."""
        try:
            while ticket.answer is None:
                if self._writing or self._reserved:
                    await self._round.wait()
                else:
                    await self._write()
        finally:
            ticket.patient = False
            self._waiting.pop(ticket, None)
        match ticket.answer:
            case Refuse(error):
                raise error
            case appended:
                return appended

    def catch_up(self) -> None:
        """Take in what somebody else appended, as the next append would. Raises what that would raise; nothing is written."""
        if self._store.read_only:
            self._store.stage(())  # says which of the reasons it is
        if not self._writing and self._trouble is None:
            self._take_in()

    def withdraw(self, entry_id: EntryId) -> None:
        """From now on, what this entry is in waits for no disk that refuses. What is being written is kept, if the disk takes it."""
        writing = () if self._batch is None else self._batch.tickets
        for ticket in (*self._waiting, *writing):
            if any(entry.id == entry_id for entry in ticket.append.entries):
                ticket.patient = False
        if self._trouble is not None:
            self._refuse(self._trouble)
            self._end_pause()
            self._end_round()

    async def restore(self) -> str | None:
        """Put the file back to its path, between two rounds; where what stood there went. Raises what the store raises."""
        async with self._between_rounds():
            return await self._run_sync(self._store.restore)

    @asynccontextmanager
    async def _between_rounds(self) -> AsyncGenerator[None]:
        """Nothing is written meanwhile, and whoever wants to write next waits: a disk that refuses would else go round for ever."""
        self._reserved += 1
        try:
            self._end_pause()
            while self._writing:
                await self._round.wait()
            self._writing = True
            try:
                yield
            finally:
                self._writing = False
        finally:
            self._reserved -= 1
            self._end_round()

    async def let_go(self) -> None:
        """Close the store, between two rounds: what waits is refused by the next one."""
        async with self._between_rounds():
            self._store.close()

    async def _write(self) -> None:
        """One round: for a disk that refuses, after a pause."""
        self._writing = True
        try:
            if self._trouble is not None:
                with trio.move_on_after(self._pause) as pause:
                    await self._pause_over.wait()
                if not pause.cancelled_caught:
                    return
                self._pause = min(self._pause * 2, LATEST)
            with trio.CancelScope(shield=True):
                batch = self._stage()
                if batch is not None and (self._durability == "os" or await self._harden(batch)):
                    self._commit(batch)
        finally:
            self._writing = False
            self._end_round()

    def _end_pause(self) -> None:
        self._pause_over.set()
        self._pause_over = trio.Event()

    def _end_round(self) -> None:
        self._round.set()
        self._round = trio.Event()

    def _stage(self) -> _Batch | None:
        """Decide on all that waits, and put it into the file; None if there is nothing to commit."""
        store, batch = self._store, _Batch(self._store.where)
        try:
            self._take_in()
            for ticket in tuple(self._waiting):
                self._decide(ticket, batch)
            if batch.lines:
                store.stage(batch.lines)
                self._batch = batch
                return batch
        except BaseException as error:
            self._wait_again(batch)
            if not isinstance(error, SapwoodError):
                raise
            self._refuse(error)
        return None

    def _decide(self, ticket: Ticket, batch: _Batch) -> None:
        append = ticket.append
        log = Log(self._store.tree, self._view.entry, batch.entries)
        decision = decide(log, append.entries, append.expected_leaf, append.under)
        match decision:
            case Go(entries):
                try:
                    lines = [encode_entry(entry) for entry in entries]
                except Unencodable as error:
                    self._answer(ticket, Refuse(error))
                    return
                batch.lines += lines
                batch.entries |= {entry.id: entry for entry in entries}
                batch.tickets[ticket] = tuple(entry.id for entry in entries)
                del self._waiting[ticket]
            case AlreadyDone(entry_ids):
                if batch.entries.keys() & entry_ids:
                    batch.tickets[ticket] = entry_ids
                    del self._waiting[ticket]
                else:
                    self._answer(ticket, Appended(entry_ids=entry_ids, leaf=self._view.leaf))
            case StaleLeaf() | Refused():
                self._answer(ticket, Refuse(decision))
            case _:
                assert_never(decision)

    async def _harden(self, batch: _Batch) -> bool:
        """Whether what is staged is on the medium now. What is not is staged no longer: the kernel may have dropped it."""
        try:
            await self._run_sync(self._store.sync)
        except BaseException as error:
            self._store.discard()
            self._wait_again(batch)
            if not isinstance(error, StoreError):
                raise
            self._refuse(error)
            return False
        return True

    def _wait_again(self, batch: _Batch) -> None:
        """What was to be written stands first in the order again."""
        self._batch = None
        self._waiting = {**dict.fromkeys(batch.tickets), **self._waiting}

    def _commit(self, batch: _Batch) -> None:
        store, view, first = self._store, self._view, len(self._view)
        was_troubled, damaged = self._trouble is not None, store.damage
        store.commit()
        self._batch, self._trouble, self._pause = None, None, SOONEST
        try:
            self._tell(batch, first, damaged)
        finally:  # it is in the log, whatever comes of telling it
            for ticket, entry_ids in batch.tickets.items():
                self._answer(ticket, Appended(entry_ids=entry_ids, leaf=view.leaf))
        if was_troubled:
            self._publish(StoreRecovered(written=len(batch.entries)))

    def _tell(self, batch: _Batch, first: int, damaged: Sequence[Damage]) -> None:
        store, view = self._store, self._view
        self._tell_damage(batch.where, damaged)
        if store.where != batch.where:
            why = "a file of version 1, or of none, is never written: its entries were copied to a version 3 session beside it"
            self._publish(SessionMoved(old_path=batch.where, new_path=store.where, why=why))
        for entry in batch.entries.values():  # what somebody else wrote meanwhile may stand before it
            index = view.tree.index(entry.id)
            if index is not None:
                view.remember(index, entry)
        self._announce(first)

    def _take_in(self) -> None:
        """What somebody else appended, as news."""
        store, first = self._store, len(self._view)
        where, damaged = store.where, store.damage
        try:
            store.refresh()
        finally:
            self._tell_damage(where, damaged)
            self._announce(first)

    def _tell_damage(self, where: str, known: Sequence[Damage]) -> None:
        """What is wrong with what came since that was all, if it is the same file."""
        found = new_damage(known, self._store.damage) if self._store.where == where else ()
        if found:
            self._publish(DamageFound(records=tuple(found)))

    def _announce(self, first: int) -> None:
        tree = self._view.tree
        for index in range(first, len(self._view)):
            try:
                committed = self._view.entry(index)
            except StoreError:  # it is there all the same: whoever wants to read it is told by the disk
                committed = None
            known = None if isinstance(committed, Unknown) else committed
            self._publish(EntryAppended(entry_id=tree.id(index), kind=tree.kind(index), entry=known))

    def _refuse(self, error: SapwoodError) -> None:
        """Nothing of what waits could be written: it goes on waiting if that may pass, and is refused if not."""
        passes = isinstance(error, CannotWrite | CannotOpen) and error.errno in PASSING
        if passes and self._trouble is None:
            self._publish(StoreDegraded(error_message=str(error), waiting=len(self._waiting)))
        if passes:
            self._trouble = error
        for ticket in tuple(self._waiting):
            if not (passes and ticket.patient):
                self._answer(ticket, Refuse(error))

    def _answer(self, ticket: Ticket, answer: Appended | Refuse) -> None:
        ticket.answer = answer
        self._waiting.pop(ticket, None)
