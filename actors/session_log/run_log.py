"""What one run appends: each message behind the one before.

1. It goes behind what the run appended last, and behind what another program wrote there; what that wrote elsewhere is a branch (S9).
2. One append at a time, in the order in which they are asked for. What waits meanwhile is one write together:
   who leaves while that is under way is not waited for, and may be in the log all the same.
3. A run that was stopped waits for no disk that refuses: what waits is withdrawn, and fails with what the disk says (S8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs
import trio
from msgspec import UNSET

from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Ref, insist, insist_anew
from sapwood.actors.session_log.view import View
from sapwood.events.entries import KnownEntry, MessageEntry
from sapwood.events.errors import Refused, StaleLeaf, Unencodable
from sapwood.events.ids import EntryId
from sapwood.events.messages import StoredMessage
from sapwood.events.requests import Append, Withdraw
from sapwood.events.runtime import Diagnostic, Event

Build = Callable[[EntryId, str], KnownEntry]
"""Makes an entry of its id and its time; the log gives it a parent."""
AT_ONCE: Final = 32
"""Messages of one write: a disk that takes 5 ms to harden one hardens 1,000 in a fifth of a second. Half of what a view keeps decoded."""


@attrs.frozen(kw_only=True)
class Pen:
    """What it takes to append."""

    session_log: Ref
    view: View
    environment: Environment
    new_id: Callable[[], EntryId]
    """Makes an entry's id that no entry has, and no input that is on its way."""
    publish: Callable[[Event], int]


@attrs.define(eq=False)
class _Waiting:
    """An entry that is to be appended."""

    build: Build
    entry_id: EntryId | None
    entry: KnownEntry | None = None
    """What it is in the log, made when it is first written."""


class RunLog:
    """The end of one run in the log."""

    def __init__(self, pen: Pen, *, last: EntryId | None = None) -> None:
        self._pen = pen
        self._writing = trio.Lock()
        self._waiting: list[_Waiting] = []
        """What is to be appended, in the order in which it was asked for."""
        self._pending: EntryId | None = None
        """What is being appended: the first of it."""
        self._stopped = False
        self.last = last
        """What was appended last; None before the first."""

    async def append(self, message: StoredMessage, entry_id: EntryId | None = None) -> EntryId:
        """Append the message, under this id or a new one; its id. Raises what the log refuses with, and `StoreError`."""

        def build(entry_id: EntryId, timestamp: str) -> KnownEntry:
            return MessageEntry(id=entry_id, parent_id=None, timestamp=timestamp, message=message)

        return await self.add(build, entry_id)

    async def add(self, build: Build, entry_id: EntryId | None = None) -> EntryId:
        """Append the entry that is made when it is its turn; its id. Raises as `append` does."""
        mine = _Waiting(build, entry_id)
        self._waiting.append(mine)
        try:
            async with self._writing:
                if mine in self._waiting:
                    await self._write(mine)
        finally:
            if mine in self._waiting:
                self._waiting.remove(mine)
        return self._entry(mine).id

    def follow(self, entry_id: EntryId) -> None:
        """Somebody else has appended this for the run: it goes on behind it."""
        self.last = entry_id

    async def _write(self, mine: _Waiting) -> None:
        """Append what waits, this one at its head, as one write; where something of it is unfit, this one alone."""
        group = self._waiting[:AT_ONCE]
        if len(group) > 1:
            try:
                await self._write_all(group)
            except (Refused, Unencodable):
                pass  # each is told of its own
            else:
                return
        await self._write_all([mine])

    async def _write_all(self, group: Sequence[_Waiting]) -> None:
        entries = tuple(map(self._entry, group))
        self._pending = entries[0].id
        try:
            await self._append(entries)
        finally:
            self._pending = None
        self.last = entries[-1].id
        self._waiting = [one for one in self._waiting if one not in group]

    def _entry(self, one: _Waiting) -> KnownEntry:
        """The same each time, so that the log knows it again."""
        if one.entry is None:
            taken = {other.entry.id for other in self._waiting if other.entry is not None}
            entry_id = one.entry_id or self._pen.new_id()
            while entry_id in taken and one.entry_id is None:
                entry_id = self._pen.new_id()
            timestamp = self._pen.environment.timestamp()
            one.entry = one.build(entry_id, timestamp)
        return one.entry

    async def stop(self) -> None:
        """Wait for no disk from now on."""
        self._stopped = True
        if self._pending is not None:
            await insist(self._pen.session_log, Withdraw(entry_id=self._pending))

    async def _append(self, entries: tuple[KnownEntry, ...]) -> None:
        pen, last = self._pen, UNSET if self.last is None else self.last

        def behind_the_last() -> Append:
            return Append(entries=entries, expected_leaf=last, patient=not self._stopped)

        def wherever_the_run_is() -> Append:
            under = UNSET if self._leads_to_the_leaf() else last
            return Append(entries=entries, under=under, patient=not self._stopped)

        try:
            await insist_anew(pen.session_log, behind_the_last)
        except StaleLeaf:
            if not self._leads_to_the_leaf():
                told = "another program began a branch of this session meanwhile: this run goes on with its own"
                pen.publish(Diagnostic(code="leaf_moved", message=told, entry_id=self.last))
            await insist_anew(pen.session_log, wherever_the_run_is)

    def _leads_to_the_leaf(self) -> bool:
        tree = self._pen.view.tree
        place = None if self.last is None else tree.index(self.last)
        return place is not None and tree.leaf is not None and tree.is_ancestor(place, tree.leaf)
