"""What is asked of whoever holds the committed entries, by those who only read them. No I/O of its own."""

from __future__ import annotations

from typing import Protocol

from sapwood.events.entries import Entry
from sapwood.store.tree import Tree


class Readable(Protocol):
    """The committed entries and their tree. Both grow: places and entries stay, and `tree.rehung` tells if old ones got other parents."""

    def __len__(self) -> int: ...
    @property
    def tree(self) -> Tree: ...
    def entry(self, index: int) -> Entry: ...
