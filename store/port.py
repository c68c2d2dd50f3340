"""What a store is: one session's lines, and the index over them. `testing.check_store` holds a store to it.

1. What `append` has returned for is in the store, in order, byte for byte, and is never changed or removed (S3, S5).
2. `append` is one write: all of its lines or none. When it raises, neither the store nor its tree has changed.
3. Opening, reading and closing write nothing (S4).
4. What is opened again is what was closed: the same header, tree and lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sapwood.events.entries import Header
from sapwood.store.tree import Tree


class Store(Protocol):
    """An open log. One owner appends; anybody may read the tree and the lines."""

    @property
    def header(self) -> Header:
        """As it is stored; of a new session, as the first append will write it."""
        ...

    @property
    def tree(self) -> Tree:
        """The index over all committed entries. It only grows."""
        ...

    @property
    def where(self) -> str:
        """The file's path, as it was given, or `:memory:`. An append to a version 1 file changes it (S3)."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether every append is refused (a later version's file, S2)."""
        ...

    def line(self, index: int) -> bytes:
        """The entry at `index` (counted as the tree counts), without its newline; raised to version 3, the same bytes each time.

        Raises `IndexError` where the tree has none, `StoreClosed`, and `CannotOpen` if the disk cannot give it, or no longer has it.
        """
        ...

    def append(self, lines: Sequence[bytes]) -> None:
        """Add encoded entries, each without a newline. They are with the kernel when it returns (durability `os`, S5).

        A parent that is nowhere is taken as it stands: the tree holds the entry detached, here and after reopening.
        A store may add bookkeeping of its own behind them (a fork's marker); whoever follows reads the tree on from where it was.
        Raises `StoreClosed`, `NewerVersion`, `CannotWrite`, and `NotAnEntry` for what no reader would find again: a line without an
        envelope, with a line break in it, a header, an id that is taken (the caller's fault).
        """
        ...

    def close(self) -> None:
        """Let the store go: header, tree and `where` stay. Twice does nothing."""
        ...
