"""Handles, and the shelf that they stand on. The shelf outlives the actor: a restart loses no input.

1. A handle gets exactly one outcome, or the one error that kept its input from being accepted.
2. Whoever waits for it may leave; the input goes its way all the same.
3. An input that waits in a queue has no outcome; when it has one it waits no longer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterator, Sequence

import trio

from sapwood.actors.inbox.queues import Queues
from sapwood.events.commands import Failed, Input, InputOutcome, Returned
from sapwood.events.errors import SapwoodError
from sapwood.events.ids import EntryId
from sapwood.events.runtime import QueueUpdate


class Handle:
    """What a host holds of an input that it submitted."""

    def __init__(
        self, taken: Input, guard: Callable[[], None], withdraw: Callable[[EntryId], Awaitable[bool]] | None
    ) -> None:
        self.queued = withdraw is not None
        """Whether it waits for its turn; else a run is asked for with it."""
        self._input = taken
        self._guard = guard
        """Raises `WouldDeadlock` where the run itself would wait for this."""
        self._withdraw = withdraw
        self._done = trio.Event()
        self._outcome: InputOutcome | None = None
        self._error: SapwoodError | None = None

    @property
    def entry_id(self) -> EntryId:
        """The id that the input's entry has, or will have, in the log."""
        return self._input.entry_id

    @property
    def input(self) -> Input:
        return self._input

    @property
    def outcome_nowait(self) -> InputOutcome | None:
        """The outcome, or None while there is none."""
        return self._outcome

    async def done(self) -> None:
        """Wait until there is an outcome, whatever it is. `WouldDeadlock` in code that the run itself waits for."""
        self._guard()
        await self._done.wait()

    async def outcome(self) -> InputOutcome:
        """Wait for the one outcome.

        Raises what kept the input from being accepted: `Refused` (somebody else has the tree), `StoreError` (it could not be written),
        `SessionClosed`; and `WouldDeadlock` in code that the run itself waits for. What reached the log is returned, a failed answer too.
        """
        await self.done()
        if self._error is not None:
            raise self._error
        if self._outcome is None:
            raise AssertionError("a handle is done when it has an outcome or an error")
        return self._outcome

    async def cancel(self) -> bool:
        """Take it back, while it waits in a queue or is on its way there: its outcome is `Withdrawn`.

        False: it is being said, or has an outcome.
        """
        return self._withdraw is not None and self._outcome is None and await self._withdraw(self.entry_id)

    def settle(self, outcome: InputOutcome, error: SapwoodError | None = None) -> bool:
        """For the shelf alone: give it its outcome. False if it has one."""
        if self._outcome is not None:
            return False
        self._outcome, self._error = outcome, error
        self._done.set()
        return True

    def __repr__(self) -> str:
        return f"<Handle {self.entry_id}: {self._outcome or 'waiting'}>"


class Shelf:
    """The handles that have no outcome yet, oldest first."""

    def __init__(self) -> None:
        self._handles: dict[EntryId, Handle] = {}
        self._accepted: dict[EntryId, None] = {}
        self._queues = Queues()

    def put(
        self,
        taken: Input,
        guard: Callable[[], None] = lambda: None,
        withdraw: Callable[[EntryId], Awaitable[bool]] | None = None,
    ) -> Handle:
        """A handle for an input that is being submitted.

        `guard` is called by whoever would wait for it; `withdraw` takes it out of its queue, if it is for one.
        """
        handle = self._handles[taken.entry_id] = Handle(taken, guard, withdraw)
        return handle

    @property
    def queues(self) -> Queues:
        """What of it waits to be said."""
        return self._queues

    def news(self) -> QueueUpdate:
        """What waits, as it is told."""
        present = self._queues.present()
        return QueueUpdate(
            steering=tuple(one.text for one in present.steering),
            follow_up=tuple(one.text for one in present.follow_up),
        )

    def accept(self, entry_id: EntryId) -> None:
        """The input is the session's from now on."""
        self._accepted[entry_id] = None

    def waiting(self) -> Iterator[Handle]:
        """Handles of accepted inputs without an outcome, in the order in which they were accepted."""
        return (self._handles[entry_id] for entry_id in tuple(self._accepted) if entry_id in self._handles)

    def handles(self) -> Sequence[Handle]:
        """Every handle without an outcome."""
        return tuple(self._handles.values())

    def under_way(self) -> Sequence[Handle]:
        """Handles of what is being said, or asked for: not of what waits in a queue, or is on its way there."""
        return tuple(
            handle
            for entry_id, handle in self._handles.items()
            if entry_id not in self._queues and not self.on_its_way(entry_id)
        )

    def on_its_way(self, entry_id: EntryId) -> bool:
        """Whether it is for a queue, and has not come there yet."""
        handle = self._handles.get(entry_id)
        return handle is not None and handle.queued and entry_id not in self._accepted

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._handles

    def get(self, entry_id: EntryId) -> Handle | None:
        """The handle, if it still waits."""
        return self._handles.get(entry_id)

    def resolve(self, entry_id: EntryId, outcome: InputOutcome) -> None:
        """Give a handle its outcome; a second one changes nothing."""
        handle = self._take(entry_id)
        if handle is not None:
            handle.settle(outcome)

    def hand_back(self, recorded: Container[object]) -> tuple[Returned, ...]:
        """Give back what waits in the queues, whole; each handle has that outcome too (C15). What is recorded is none of it."""
        queued = self._queues.present()
        returned: list[Returned] = []
        for one in (*queued.steering, *queued.follow_up):
            if one.entry_id not in recorded:
                returned.append(Returned(text=one.text, images=one.images))
                self.resolve(one.entry_id, returned[-1])
        return tuple(returned)

    def fail(self, entry_id: EntryId, error: SapwoodError) -> None:
        """The input was not taken, and why; it is handed back whole with the error."""
        handle = self._take(entry_id)
        if handle is not None:
            taken = handle.input
            handle.settle(Failed(reason=str(error), text=taken.text, images=taken.images), error)

    def _take(self, entry_id: EntryId) -> Handle | None:
        self._accepted.pop(entry_id, None)
        self._queues.remove(entry_id)
        return self._handles.pop(entry_id, None)
