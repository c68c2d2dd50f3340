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

from sapwood.events.entries import BOOKKEEPING, Entry, KnownEntry, Unknown, kind_of
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


@attrs.frozen
class Log:
    """What an append is decided on: the committed entries, and those that are about to be."""

    tree: Tree
    stored: Callable[[int], Entry]
    """The committed entry at an index."""
    pending: dict[EntryId, KnownEntry] = attrs.field(factory=dict[EntryId, KnownEntry])
    """In their order: a chain, the first one under the tree's leaf."""

    @property
    def leaf(self) -> EntryId | None:
        """The last of all of them."""
        if self.pending:
            return next(reversed(self.pending))
        return None if self.tree.leaf is None else self.tree.id(self.tree.leaf)

    def find(self, entry_id: EntryId) -> Entry | None:
        index = self.tree.index(entry_id)
        return self.pending.get(entry_id) if index is None else self.stored(index)


def unfit(entries: Sequence[KnownEntry]) -> Refused | None:
    """Why these could not be appended to any log."""
    if not entries:
        return Refused("bad-input", "nothing to append: give at least one entry")
    if len({entry.id for entry in entries}) < len(entries):
        return Refused("duplicate-entry", "the same id is given to two entries of one append")
    return None


def decide(
    log: Log,
    entries: Sequence[KnownEntry],
    expected: EntryId | UnsetType | None,
    under: EntryId | UnsetType | None = UNSET,
) -> Decision:
    """What to do about an append; `under`: the parent of the first entry, if it is not to be the leaf."""
    refused = unfit(entries)
    if refused is not None:
        return refused
    ids = [entry.id for entry in entries]
    known = [found for found in map(log.find, ids) if found is not None]
    if known:
        same = len(known) == len(ids) and all(
            _content(one) == _content(entry) for one, entry in zip(known, entries, strict=True)
        )
        return (
            AlreadyDone(tuple(ids))
            if same
            else Refused("duplicate-entry", f"the id {known[0].id} belongs to another entry: pick a new one")
        )
    if not isinstance(expected, UnsetType) and not _still_stands(log, expected):
        return StaleLeaf(expected, log.leaf)
    if isinstance(under, UnsetType):
        return Go(_chained(entries, log.leaf))
    if under is not None and log.find(under) is None:
        return Refused("unknown-entry", f"there is no entry {under} to hang under: read the tree again")
    return Go(_chained(entries, under))


def _still_stands(log: Log, expected: EntryId | None) -> bool:
    for entry in reversed(log.pending.values()):
        if entry.id == expected:
            return True
        if kind_of(entry) not in BOOKKEEPING:
            return False
    return _stands(log.tree, expected, log.tree.leaf)


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
    """The entry, whoever its parent is, and whenever it was asked for: who asks again after a crash reads the clock again."""
    return entry if isinstance(entry, Unknown) else msgspec.structs.replace(entry, parent_id=None, timestamp="")


__all__ = ["UNSET", "AlreadyDone", "Decision", "Go", "Log", "decide", "unfit"]
