"""The ring without its tasks: kept events, cursors, merging and dropping. No I/O, no awaits.

1. A cursor reads every event after it, in order, once; neighbours that `merge` are read as one when it lags.
2. A full track first merges neighbours that no cursor stands between, then drops the oldest.
3. A cursor that fell off reads one `Resync(snapshot(), seq)` and goes on after seq, without gap or double.
4. The work is bounded: each kept pair is offered to `merge` once, and once more when the cursor between them has moved on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias
from weakref import WeakSet

import msgspec

Merge: TypeAlias = Callable[[Any, Any], Any]
"""Two neighbours as one event, or None when they stay two. Pure, and must not raise."""


class Published(msgspec.Struct, frozen=True):
    """An event, under the number of the last of those that it merges."""

    seq: int
    event: Any


class Resync(msgspec.Struct, frozen=True):
    """The reader lost events; `snapshot` is the state after event `seq`, and what follows comes after it."""

    snapshot: object
    seq: int


class Slot:
    """A kept event and its successor."""

    __slots__ = ("event", "next", "seq")

    def __init__(self, seq: int, event: object) -> None:
        self.seq = seq
        self.event = event
        self.next: Slot | None = None


class Cursor:
    """Stands on the slot that was read last."""

    __slots__ = ("__weakref__", "slot")

    def __init__(self, slot: Slot) -> None:
        self.slot = slot


class Track:
    """Keeps the last `capacity` events, after merging."""

    def __init__(self, capacity: int, *, merge: Merge | None, snapshot: Callable[[], object] | None) -> None:
        if capacity < 1:
            raise ValueError(f"a ring keeps at least one event, not {capacity}")
        self.seq = 0
        """The number of the last event; 0 before the first."""
        self._capacity = capacity
        self._merge = merge
        self._snapshot = snapshot
        self._size = 0
        self._head = self._tail = Slot(0, None)  # the head was dropped last: nothing up to its seq is kept
        self._tried = self._head  # every kept pair before this slot was offered to merge, but for those set aside
        self._aside: dict[Slot, None] = {}  # slots that a cursor stood on when their pair was due
        self._cursors: WeakSet[Cursor] = WeakSet()

    def append(self, event: object) -> int:
        """Number the event and keep it."""
        self.seq = seq = self.seq + 1
        slot = Slot(seq, event)
        self._tail.next = slot
        self._tail = slot
        self._size += 1
        if self._size > self._capacity:
            self._shrink()
        return seq

    def cursor(self, since: int | None) -> Cursor:
        """A cursor behind the last event, or behind event `since`."""
        cursor = Cursor(self._tail if since is None else self._find(since))
        self._cursors.add(cursor)
        return cursor

    def forget(self, cursor: Cursor) -> None:
        """The cursor will not read again."""
        self._cursors.discard(cursor)

    def drained(self, cursor: Cursor) -> bool:
        """Whether the cursor has read everything."""
        return cursor.slot.next is None and cursor.slot.seq >= self._head.seq

    def read(self, cursor: Cursor) -> Published | Resync | None:
        """What comes next, if anything does. The cursor moves last, so whatever raises loses nothing."""
        slot = cursor.slot
        if slot.seq < self._head.seq:
            snapshot = self._snapshot() if self._snapshot is not None else None
            cursor.slot = self._tail
            return Resync(snapshot, self.seq)
        following = slot.next
        if following is None:
            return None
        event, merge = following.event, self._merge
        if merge is not None:
            while following.next is not None and (merged := merge(event, following.next.event)) is not None:
                event, following = merged, following.next
        cursor.slot = following
        return Published(following.seq, event)

    def _find(self, since: int) -> Slot:
        slot: Slot | None = self._head
        while slot is not None and slot.seq < since:
            slot = slot.next
        return slot if slot is not None and slot.seq == since else Slot(-1, None)  # fell off before it began

    def _shrink(self) -> None:
        if self._merge is not None and self._merge_one(self._merge):
            return
        oldest = self._head.next
        assert oldest is not None  # noqa: S101 - a track that is over its capacity has an oldest event
        self._head.next, oldest.event = None, None
        self._head = oldest
        self._size -= 1

    def _merge_one(self, merge: Merge) -> bool:
        """Merge the first pair that merges."""
        standing = {cursor.slot for cursor in self._cursors}
        for slot in tuple(self._aside):
            if slot.seq <= self._head.seq:
                del self._aside[slot]  # dropped, or merged away
            elif slot not in standing:
                if self._fuse(merge, slot):
                    return True  # and stays aside: what was merged may merge again
                del self._aside[slot]
        slot = (self._head.next or self._head) if self._tried is self._head else self._tried
        while (following := slot.next) is not None:
            if slot in standing:
                self._aside[slot] = None
            elif self._fuse(merge, slot):
                self._tried = slot
                return True
            slot = following
        self._tried = slot
        return False

    def _fuse(self, merge: Merge, slot: Slot) -> bool:
        """Take the slot's successor into it, if the two merge; cursors on the successor stand on it now."""
        following = slot.next
        if following is None or (merged := merge(slot.event, following.event)) is None:
            return False
        slot.event, slot.seq, slot.next = merged, following.seq, following.next
        for cursor in self._cursors:
            if cursor.slot is following:
                cursor.slot = slot
        if self._tail is following:
            self._tail = slot
        if self._tried is following:
            self._tried = slot
        following.seq, following.next = -1, None
        self._size -= 1
        return True
