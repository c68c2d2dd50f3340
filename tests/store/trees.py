"""Trees to test with, entry by entry."""

from __future__ import annotations

from sapwood.events.codec import Envelope
from sapwood.events.ids import EntryId
from sapwood.store.tree import Tree


def grow(tree: Tree, kind: str, entry_id: EntryId, parent_id: str | None) -> bool:
    """Take one entry in at the end. False if its id is taken."""
    parent = None if parent_id is None else EntryId(parent_id)
    return not tree.extend([Envelope(type=kind, id=entry_id, parentId=parent)])
