"""What waits to be said in a run that is on, or in the next one. No I/O, no awaits.

1. Two queues, each in the order in which its inputs were accepted.
2. What is taken to be recorded is still its queue's: if it does not get there it is put back where it was, at the head (R3).
"""

from __future__ import annotations

from collections.abc import Container

from sapwood.events.commands import Input, QueuedInputs, QueueName
from sapwood.events.ids import EntryId


class Queues:
    """See the module. They outlive the actor: a restart loses no input."""

    def __init__(self) -> None:
        self._waiting: dict[QueueName, dict[EntryId, Input]] = {"steering": {}, "follow_up": {}}
        self._taken: dict[EntryId, QueueName] = {}
        """What is being recorded."""

    def add(self, queue: QueueName, taken: Input) -> None:
        """Behind all others."""
        self._waiting[queue][taken.entry_id] = taken

    def take(self, queue: QueueName) -> Input | None:
        """The oldest one, to be recorded now."""
        for entry_id, oldest in self._waiting[queue].items():
            if entry_id not in self._taken:
                self._taken[entry_id] = queue
                return oldest
        return None

    def put_back(self, recorded: Container[object] = ()) -> bool:
        """What was taken, and was not recorded, waits again where it waited. Whether there was anything."""
        for entry_id in tuple(self._taken):
            if entry_id in recorded:  # and the inbox has not heard of it yet
                self.remove(entry_id)
        put_back = bool(self._taken)
        self._taken.clear()
        return put_back

    def remove(self, entry_id: EntryId) -> None:
        """It has its outcome, or it is in the log."""
        self._taken.pop(entry_id, None)
        for waiting in self._waiting.values():
            waiting.pop(entry_id, None)

    def withdraw(self, entry_id: EntryId) -> bool:
        """Take out one that waits. False: it is not there, or is being recorded."""
        if entry_id in self._taken or entry_id not in self:
            return False
        self.remove(entry_id)
        return True

    def __contains__(self, entry_id: object) -> bool:
        return any(entry_id in waiting for waiting in self._waiting.values())

    def present(self) -> QueuedInputs:
        """What waits; what is being recorded does not."""
        steering, follow_up = (
            tuple(one for one in self._waiting[queue].values() if one.entry_id not in self._taken)
            for queue in ("steering", "follow_up")
        )
        return QueuedInputs(steering=steering, follow_up=follow_up)
