"""What one run appends: each message behind the one before.

1. It goes behind what the run appended last, and behind what another program wrote there; what that wrote elsewhere is a branch (S9).
2. One append at a time, in the order in which they are asked for.
3. A run that was stopped waits for no disk that refuses: what waits is withdrawn, and fails with what the disk says (S8).
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import trio
from msgspec import UNSET

from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Ref, insist, insist_anew
from sapwood.actors.session_log.view import View
from sapwood.events.entries import KnownEntry, MessageEntry
from sapwood.events.errors import StaleLeaf
from sapwood.events.ids import EntryId
from sapwood.events.messages import StoredMessage
from sapwood.events.requests import Append, Withdraw
from sapwood.events.runtime import Diagnostic, Event


@attrs.frozen(kw_only=True)
class Pen:
    """What it takes to append."""

    session_log: Ref
    view: View
    environment: Environment
    new_id: Callable[[], EntryId]
    """Makes an entry's id that no entry has, and no input that is on its way."""
    publish: Callable[[Event], int]


class RunLog:
    """The end of one run in the log."""

    def __init__(self, pen: Pen, *, last: EntryId | None = None) -> None:
        self._pen = pen
        self._writing = trio.Lock()
        self._pending: EntryId | None = None
        """What is being appended."""
        self._stopped = False
        self.last = last
        """What was appended last; None before the first."""

    async def append(self, message: StoredMessage, entry_id: EntryId | None = None) -> EntryId:
        """Append the message, under this id or a new one; its id. Raises what the log refuses with, and `StoreError`."""
        pen = self._pen
        return await self.add(
            lambda: MessageEntry(
                id=entry_id or pen.new_id(), parent_id=None, timestamp=pen.environment.timestamp(), message=message
            )
        )

    async def add(self, make: Callable[[], KnownEntry]) -> EntryId:
        """Append the entry that is made when it is its turn; its id. Raises as `append` does."""
        async with self._writing:
            entry = make()
            self._pending = entry.id
            try:
                await self._append(entry)
            finally:
                self._pending = None
            self.last = entry.id
            return entry.id

    def follow(self, entry_id: EntryId) -> None:
        """Somebody else has appended this for the run: it goes on behind it."""
        self.last = entry_id

    async def stop(self) -> None:
        """Wait for no disk from now on."""
        self._stopped = True
        if self._pending is not None:
            await insist(self._pen.session_log, Withdraw(entry_id=self._pending))

    async def _append(self, entry: KnownEntry) -> None:
        pen, last = self._pen, UNSET if self.last is None else self.last

        def behind_the_last() -> Append:
            return Append(entries=(entry,), expected_leaf=last, patient=not self._stopped)

        def wherever_the_run_is() -> Append:
            under = UNSET if self._leads_to_the_leaf() else last
            return Append(entries=(entry,), under=under, patient=not self._stopped)

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
