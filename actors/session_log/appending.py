"""Whether an append stands, and under which parents. No I/O.

1. An append made for a leaf stands if that leaf is still the leaf, or only bookkeeping came since (S6).
2. Asking again is harmless: the same ids with the same content are "already done".
3. A refusal changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import msgspec
from msgspec import UNSET, UnsetType

from sapwood.events.entries import Entry, KnownEntry, Unknown
from sapwood.events.errors import Refused, StaleLeaf
from sapwood.events.ids import EntryId
from sapwood.store.tree import Tree


@attrs.frozen
class Go:
    """Write these entries, in this order."""

    entries: tuple[KnownEntry, ...]


@attrs.frozen
class AlreadyDone:
    """They are in the log."""

    entry_ids: tuple[EntryId, ...]


Decision = Go | AlreadyDone | StaleLeaf | Refused


def decide(
    tree: Tree, entries: Sequence[KnownEntry], expected: EntryId | UnsetType | None, stored: Callable[[int], Entry]
) -> Decision:
    """What to do about an append. `stored(index)` gives an entry of the log."""
    if not entries:
        return Refused("bad-input", "nothing to append: give at least one entry")
    ids = [entry.id for entry in entries]
    if len(set(ids)) < len(ids):
        return Refused("duplicate-entry", "the same id is given to two entries of one append")
    known = [index for index in map(tree.index, ids) if index is not None]
    if known:
        same = len(known) == len(ids) and all(
            _content(stored(index)) == _content(entry) for index, entry in zip(known, entries, strict=True)
        )
        return (
            AlreadyDone(tuple(ids))
            if same
            else Refused("duplicate-entry", f"the id {tree.id(known[0])} belongs to another entry: pick a new one")
        )
    leaf = tree.leaf
    if not isinstance(expected, UnsetType) and not _stands(tree, expected, leaf):
        return StaleLeaf(expected, None if leaf is None else tree.id(leaf))
    return Go(_chained(entries, None if leaf is None else tree.id(leaf)))


def _stands(tree: Tree, expected: EntryId | None, leaf: int | None) -> bool:
    """Whether the leaf is `expected`, or a descendant of it with nothing but bookkeeping between."""
    if expected is None:
        return leaf is None or tree.position(leaf) is None
    wanted = tree.index(expected)
    if wanted is None or leaf is None:
        return False
    return leaf == wanted or (tree.is_ancestor(wanted, leaf) and tree.position(leaf) == tree.position(wanted))


def _chained(entries: Sequence[KnownEntry], leaf: EntryId | None) -> tuple[KnownEntry, ...]:
    """The first hangs under the leaf, each next one under the one before."""
    chained: list[KnownEntry] = []
    for entry in entries:
        chained.append(msgspec.structs.replace(entry, parent_id=leaf))
        leaf = entry.id
    return tuple(chained)


def _content(entry: Entry) -> Entry:
    """The entry, whoever its parent is."""
    return entry if isinstance(entry, Unknown) else msgspec.structs.replace(entry, parent_id=None)


__all__ = ["UNSET", "AlreadyDone", "Decision", "Go", "decide"]
