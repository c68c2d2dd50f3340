"""What is wrong with a file, as it is told: in file order, by the line that it is on. No I/O of its own.

1. No number is kept of every line: those of a window are counted again, where something is wrong in it.
2. What stands wrongly in the tree is told when all lines are read, and only of entries that are new.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sapwood.events.damage import Damage, DamageKind
from sapwood.store.repair import Flaw
from sapwood.store.scanned import Scanned
from sapwood.store.tree import Tree
from sapwood.store.windows import Read

LOST_RECORDS: Final[frozenset[DamageKind]] = frozenset({"cut_line", "torn_tail", "bad_envelope", "garbage"})
"""What may have been an entry, and is told with its id if that is still to be read."""


class LineNumbers:
    """The lines on which bytes of a file stand, counted from 1. Asked from the file's start to its end."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._marks: deque[tuple[int, int]] = deque()
        self._at = 0
        self._lines = 0

    def mark(self, offset: int, lines: int) -> None:
        """So many lines end before this offset, where one begins. Told from the file's start to its end."""
        self._marks.append((offset, lines))

    def of(self, offset: int) -> int:
        """The line of a byte behind the first mark."""
        while self._marks and self._marks[0][0] <= offset:
            self._at, self._lines = self._marks.popleft()
        if self._at < offset:
            self._lines += self._read(self._at, offset - self._at).count(b"\n")
            self._at = offset
        return self._lines + 1


def new_damage(before: Sequence[Damage], now: Sequence[Damage]) -> Sequence[Damage]:
    """What of a store's damage has come since it was `before`. What was wrong with a half line may have gone meanwhile."""
    if before is now:
        return ()
    known = {*map(id, before)}
    return tuple(one for one in now if id(one) not in known)


def misplaced(held: Scanned, first: int) -> Iterator[Flaw]:
    """Entries from `first` on that stand wrongly in the tree."""
    tree, offsets = held.tree, held.offsets
    for place, how, parent_id in tree.misplaced():
        if place >= first:
            yield Flaw(how, offsets[place], 0, tree.id(place), parent_id)
    if len(roots := tree.roots()) > 1 and roots[1] >= first:
        yield Flaw("several_roots", offsets[roots[1]], 0, tree.id(roots[1]), count=len(roots))


def told(flaws: Iterable[Flaw], lines: LineNumbers, tree: Tree) -> Iterator[Damage]:
    """Flaws in the order of the file, as damage."""
    for one in sorted(flaws, key=lambda one: one.offset):
        lost = one.entry_id if one.kind in LOST_RECORDS else None
        yield Damage(
            kind=one.kind,
            line=lines.of(one.offset),
            offset=one.offset,
            length=one.length,
            entry_id=one.entry_id,
            parent_id=one.parent_id,
            bridged=lost is not None and tree.is_bridged(lost, one.parent_id),
            count=one.count,
        )
