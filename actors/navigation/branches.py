"""All positions that are tips: where a move can take up what was left (S6, N1). No I/O but reading entries.

1. A tip has nothing below it but bookkeeping. Bookkeeping alone is no branch.
2. A branch goes from its fork down to its tip: its entries are on the path to no other tip.
3. File order; labels are the present ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs

from sapwood.actors.readable import Readable
from sapwood.events.entries import BOOKKEEPING, Entry
from sapwood.events.ids import EntryId
from sapwood.store.tree import Tree


class Labelled(Readable, Protocol):
    """Committed entries that can say what a person marked."""

    def labels(self) -> Mapping[EntryId, str]: ...


@attrs.frozen(kw_only=True)
class Branch:
    """One position that is a tip."""

    tip: EntryId
    label: str | None
    """The one nearest to the tip, among the branch's own entries; None where none of them has one."""
    last_activity: str
    """The tip's time, ISO 8601 in UTC, as its entry has it."""
    entries: int
    """From the fork, which is not counted, to the tip; bookkeeping is not counted either."""
    is_active: bool
    """Whether the session stands there."""


def branches(tree: Tree, view: Labelled) -> tuple[Branch, ...]:
    """Every branch, in the order of their tips in the file."""
    tips = tree.tips()
    shared = _shared(tree, tips)
    labels, active = view.labels(), tree.position(tree.leaf)
    return tuple(_branch(tree, tip, shared, labels, view.entry(tip), is_active=tip == active) for tip in tips)


def _shared(tree: Tree, tips: Sequence[int]) -> set[int]:
    """The entries that lie on the paths to two tips or more."""
    walked: set[int] = set()
    shared: set[int] = set()
    for tip in tips:
        for at in tree.upwards(tip):
            if at in shared:
                break
            (shared if at in walked else walked).add(at)
    return shared


def _branch(
    tree: Tree, tip: int, shared: set[int], labels: Mapping[EntryId, str], entry: Entry, *, is_active: bool
) -> Branch:
    label: str | None = None
    entries = 0
    for at in tree.upwards(tip):
        if at in shared:
            break
        label = labels.get(tree.id(at)) if label is None else label
        entries += tree.kind(at) not in BOOKKEEPING
    return Branch(tip=entry.id, label=label, last_activity=entry.timestamp, entries=entries, is_active=is_active)
