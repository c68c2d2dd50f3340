"""The ring without its tasks: kept events, cursors, merging and dropping. No I/O, no awaits.

1. A cursor reads every event after it, in order, once; neighbours that `merge` are read as one when it lags.
2. A full track first merges neighbours that no cursor stands between, then drops the oldest.
3. A cursor that fell off reads one `Resync(snapshot(), seq)` and goes on after seq, without gap or double.
4. The work is bounded: each kept pair is offered to `merge` once, and once more when the cursor between them has moved on.
5. What was merged stands in chunks, each at least twice as large as the next or of less than `LUMP` events: an event is copied as often as
   its chunk doubles, not with every event that joins it, and a slot of n events holds about log n of them.
6. A `merge` that raises has said no. One that merges neighbours and then not their chunks costs who reads them a Resync.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias
from weakref import ref

import msgspec

LUMP: Final = 8
"""Events of a chunk that the next one is joined to at once: so few are copied sooner than they are kept apart."""

Merge: TypeAlias = Callable[[Any, Any], Any]
"""Two neighbours as one event, or None when they stay two. Pure; which neighbours of a row are merged first makes no difference."""

Chunk: TypeAlias = tuple[int, Any]
"""How many events were merged, and what they are as one."""


class Published(msgspec.Struct, frozen=True):
    """An event, under the number of the last of those that it merges."""

    seq: int
    event: Any


class Resync(msgspec.Struct, frozen=True):
    """The reader lost events; `snapshot` is the state after event `seq`, and what follows comes after it."""

    snapshot: object
    seq: int


class Slot:
    """A kept event, or a row of merged ones, and its successor."""

    __slots__ = ("chunks", "first", "last", "next", "seq")

    def __init__(self, seq: int, event: object) -> None:
        self.seq = seq
        self.first = self.last = event
        """The ends of the row: whether it merges with its neighbour is for them to say, at their own length."""
        self.chunks: list[Chunk] | None = None
        """None: it is one event."""
        self.next: Slot | None = None

    def row(self) -> list[Chunk]:
        """What is kept here."""
        return [(1, self.first)] if self.chunks is None else self.chunks

    def clear(self) -> None:
        """Keep nothing alive."""
        self.first = self.last = self.chunks = None


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
        self._cursors: dict[ref[Cursor], None] = {}  # a set of them that costs little to look through

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
        self._cursors[ref(cursor, self._gone)] = None
        return cursor

    def forget(self, cursor: Cursor) -> None:
        """The cursor will not read again."""
        self._cursors.pop(ref(cursor), None)

    def _gone(self, cursor: ref[Cursor]) -> None:
        self._cursors.pop(cursor, None)

    def _living(self) -> list[Cursor]:
        return [cursor for one in tuple(self._cursors) if (cursor := one()) is not None]

    def drained(self, cursor: Cursor) -> bool:
        """Whether the cursor has read everything."""
        return cursor.slot.next is None and cursor.slot.seq >= self._head.seq

    def read(self, cursor: Cursor) -> Published | Resync | None:
        """What comes next, if anything does. The cursor moves last, so whatever raises loses nothing."""
        slot = cursor.slot
        if slot.seq < self._head.seq:
            return self._resync(cursor)
        following = slot.next
        if following is None:
            return None
        row = list(following.row())
        while (after := following.next) is not None and self._lay(row, following, after):
            following = after
        while len(row) > 1:  # from the smallest on
            if not self._join_last(row):
                return self._resync(cursor)
        cursor.slot = following
        return Published(following.seq, row[0][1])

    def _resync(self, cursor: Cursor) -> Resync:
        snapshot = self._snapshot() if self._snapshot is not None else None
        cursor.slot = self._tail
        return Resync(snapshot, self.seq)

    def _find(self, since: int) -> Slot:
        slot: Slot | None = self._head
        while slot is not None and slot.seq < since:
            slot = slot.next
        return slot if slot is not None and slot.seq == since else Slot(-1, None)  # fell off before it began

    def _shrink(self) -> None:
        if self._merge is not None and self._merge_one():
            return
        oldest = self._head.next
        assert oldest is not None  # noqa: S101 - a track that is over its capacity has an oldest event
        oldest.clear()
        self._head.next, self._head = None, oldest
        self._size -= 1

    def _merge_one(self) -> bool:
        """Merge the first pair that merges."""
        standing = {cursor.slot for cursor in self._living()}
        for slot in tuple(self._aside):
            if slot.seq <= self._head.seq:
                del self._aside[slot]  # dropped, or merged away
            elif slot not in standing:
                if self._fuse(slot):
                    return True  # and stays aside: what was merged may merge again
                del self._aside[slot]
        slot = (self._head.next or self._head) if self._tried is self._head else self._tried
        while (following := slot.next) is not None:
            if slot in standing:
                self._aside[slot] = None
            elif self._fuse(slot):
                self._tried = slot
                return True
            slot = following
        self._tried = slot
        return False

    def _fuse(self, slot: Slot) -> bool:
        """Take the slot's successor into it, if the two merge; cursors on the successor stand on it now."""
        following = slot.next
        row = slot.row()
        if following is None or not self._lay(row, slot, following):
            return False
        slot.chunks = row
        slot.last, slot.seq, slot.next = following.last, following.seq, following.next
        for cursor in self._living():
            if cursor.slot is following:
                cursor.slot = slot
        if self._tail is following:
            self._tail = slot
        if self._tried is following:
            self._tried = slot
        following.clear()
        following.seq, following.next = -1, None
        self._size -= 1
        return True

    def _lay(self, row: list[Chunk], slot: Slot, following: Slot) -> bool:
        """Add what is kept in `following` to a row that ends with `slot` (rule 5); False where the two stay two."""
        n, event = row[-1]
        if n < LUMP and following.chunks is None:
            if (merged := self._merged(event, following.first)) is None:
                return False
            row[-1] = (n + 1, merged)
            self._join(row)
            return True
        if self._merged(slot.last, following.first) is None:
            return False
        for chunk in following.row():
            row.append(chunk)
            self._join(row)
        return True

    def _join(self, row: list[Chunk]) -> None:
        while len(row) > 1 and row[-1][0] >= LUMP and row[-2][0] < 2 * row[-1][0] and self._join_last(row):
            pass

    def _join_last(self, row: list[Chunk]) -> bool:
        """Make the last two chunks of a row one."""
        (n, event), (m, after) = row[-2:]
        if (merged := self._merged(event, after)) is None:
            return False
        row[-2:] = [(n + m, merged)]
        return True

    def _merged(self, event: object, after: object) -> object | None:
        if self._merge is None:
            return None
        try:
            merged: object | None = self._merge(event, after)
        except Exception:  # noqa: BLE001 - rule 6: whoever publishes or reads has no part in it
            return None
        return merged
