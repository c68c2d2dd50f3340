"""What a store is: one session's lines, and the index over them.

1. What `append` has returned for is in the store, in order, and is never changed or removed (S3, S5).
2. `append` is one write: all of its lines or none. When it raises, neither the store nor its tree has changed.
3. Opening, reading and closing write nothing (S4).
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
        """The file's path, or `:memory:`. An append to a version 1 file changes it (S3)."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether every append is refused (a later version's file, S2)."""
        ...

    def line(self, index: int) -> bytes:
        """The entry at `index` (counted as the tree counts), without its newline; raised to version 3, the same bytes each time."""
        ...

    def append(self, lines: Sequence[bytes]) -> None:
        """Add encoded entries, each without a newline. They are with the kernel when it returns (durability `os`, S5).

        A store may add bookkeeping of its own behind them (a fork's marker); whoever follows reads the tree on from where it was.
        Raises `StoreClosed`, `NewerVersion`, `CannotWrite`, `NotAnEntry` (a line without an envelope: the caller's fault).
        """
        ...

    def close(self) -> None:
        """Let the store go. Twice does nothing."""
        ...
