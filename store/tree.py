"""The index over a log: ids, parents, children, the leaf. No I/O.

1. An entry's index is its place among the entries of the file; it never changes.
2. Whatever the file says, the parents form a forest: every walk ends, and every entry is reachable from a root.
3. Columns, not an object an entry.

How a broken chain is read: an entry whose parent is nowhere in the file, is itself, or would close a circle is `detached` and stands among
the roots; a parent that comes later in the file is found when it comes. Of two entries with one id the first wins.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterator, Sequence
from typing import Final

from sapwood.events.entries import BOOKKEEPING
from sapwood.events.ids import EntryId

_ROOT: Final = -1
_DETACHED: Final = -2
_NONE: Final = -1


class Tree(Container[str]):
    """A forest of entries that only grows."""

    def __init__(self) -> None:
        self._ids: list[EntryId] = []
        self._index: dict[str, int] = {}
        self._parents = array("i")
        self._kinds = array("H")
        self._kind_names: list[str] = []
        self._kind_codes: dict[str, int] = {}
        self._first_child = array("i")
        self._last_child = array("i")
        self._next_sibling = array("i")
        self._roots: list[int] = []
        self._waiting: dict[str, list[int]] = {}
        """Parents that have not come yet, and who waits for them."""

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._index

    def grow(self, kind: str, entry_id: EntryId, parent_id: str | None) -> bool:
        """Add the next entry of the file. False, and nothing is added, if its id is taken: the first wins."""
        index = len(self._ids)
        if self._index.setdefault(entry_id, index) != index:
            return False
        self._ids.append(entry_id)
        code = self._kind_codes.get(kind)
        if code is None:
            code = self._kind_codes[kind] = len(self._kind_names)
            self._kind_names.append(kind)
        self._kinds.append(code)
        self._first_child.append(_NONE)
        self._last_child.append(_NONE)
        self._next_sibling.append(_NONE)
        if parent_id is None:
            self._parents.append(_ROOT)
            self._roots.append(index)
        else:
            self._hang(index, parent_id)
        if self._waiting and entry_id in self._waiting:
            self._adopt(index, self._waiting.pop(entry_id))
        return True

    def index(self, entry_id: str) -> int | None:
        """Where an entry stands."""
        return self._index.get(entry_id)

    def id(self, index: int) -> EntryId:
        return self._ids[index]

    def kind(self, index: int) -> str:
        """The entry's `type` on the wire."""
        return self._kind_names[self._kinds[index]]

    def parent(self, index: int) -> int | None:
        """The parent; None for a root and for a detached entry."""
        parent = self._parents[index]
        return None if parent < 0 else parent

    def detached(self, index: int) -> bool:
        """Whether the entry names a parent that cannot be had."""
        return self._parents[index] == _DETACHED

    def children(self, index: int | None) -> Sequence[int]:
        """In file order; of None the roots, with what is detached among them."""
        if index is None:
            return tuple(self._roots)
        children: list[int] = []
        child = self._first_child[index]
        while child != _NONE:
            children.append(child)
            child = self._next_sibling[child]
        return children

    @property
    def leaf(self) -> int | None:
        """The last entry (S6)."""
        return len(self._ids) - 1 if self._ids else None

    def position(self, index: int | None) -> int | None:
        """The nearest ancestor-or-self that is no bookkeeping (S6)."""
        while index is not None and self.kind(index) in BOOKKEEPING:
            index = self.parent(index)
        return index

    def upwards(self, index: int | None) -> Iterator[int]:
        """The entry, its parent, and so on to the root."""
        while index is not None:
            yield index
            index = self.parent(index)

    def path(self, index: int | None) -> list[int]:
        """From the root to the entry."""
        path = list(self.upwards(index))
        path.reverse()
        return path

    def is_ancestor(self, above: int, below: int) -> bool:
        """Whether `above` is on the path to `below`, or is it."""
        return any(index == above for index in self.upwards(below))

    def common_ancestor(self, one: int | None, other: int | None) -> int | None:
        """The deepest entry on both paths."""
        seen = set(self.upwards(one))
        return next((index for index in self.upwards(other) if index in seen), None)

    def of_kind(self, kind: str) -> Sequence[int]:
        """Every entry of a kind, in file order."""
        code = self._kind_codes.get(kind)
        if code is None:
            return ()
        return [index for index, other in enumerate(self._kinds) if other == code]

    def tips(self) -> Sequence[int]:
        """Positions with nothing but bookkeeping below them, in file order: the ends of branches (S6)."""
        positions = [index for index in range(len(self)) if self.kind(index) not in BOOKKEEPING]
        continued = {self.position(self.parent(index)) for index in positions}
        return [index for index in positions if index not in continued]

    def _hang(self, index: int, parent_id: str) -> None:
        parent = self._index.get(parent_id, _NONE)
        if parent in (_NONE, index):
            self._parents.append(_DETACHED)
            self._roots.append(index)
            if parent == _NONE:
                self._waiting.setdefault(parent_id, []).append(index)
            return
        self._parents.append(parent)
        self._link(index, parent)

    def _adopt(self, parent: int, children: Sequence[int]) -> None:
        """A parent came that some entries waited for; whoever is above it stays detached, for that would be a circle."""
        above = set(self.upwards(parent))
        for child in children:
            if child not in above:
                self._parents[child] = parent
                self._roots.remove(child)
                self._link(child, parent)

    def _link(self, child: int, parent: int) -> None:
        last = self._last_child[parent]
        if last == _NONE:
            self._first_child[parent] = child
        else:
            self._next_sibling[last] = child
        self._last_child[parent] = child
