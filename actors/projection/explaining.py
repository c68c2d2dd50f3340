"""Why an entry of a path gives no message, and where history is lost above one. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sapwood.events.context import Absent, SelectedEntry
from sapwood.events.entries import Unknown
from sapwood.events.ids import EntryId
from sapwood.store.tree import Tree

SPEAKING: Final = frozenset({"message", "custom_message", "branch_summary", "compaction"})
"""Kinds that have something to say to the model."""


def explanation(
    tree: Tree, leaf: int | None, selected: Sequence[SelectedEntry]
) -> tuple[dict[EntryId, Absent], dict[EntryId, str]]:
    """Of the path to a leaf: entries that give no message and why, and entries above which something is lost and what."""
    there = {one.entry.id: one for one in selected}
    absent: dict[EntryId, Absent] = {}
    gaps: dict[EntryId, str] = {}
    for index in tree.path(leaf):
        entry_id, parent = tree.id(index), tree.lost_above(index)
        one = there.get(entry_id)
        if one is None:
            absent[entry_id] = "compacted"
        elif not one.messages:
            absent[entry_id] = _why(one)
        if parent is not None:
            gaps[entry_id] = parent
    return absent, gaps


def _why(selected: SelectedEntry) -> Absent:
    if selected.edit is not None and selected.edit.replacement is None:
        return "hidden"
    return "unreadable" if isinstance(selected.entry, Unknown) and selected.entry.type in SPEAKING else "silent"
