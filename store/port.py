"""What a store is: one session's lines, and the index over them. `testing.check_store` holds a store to it.

1. What `append` has returned for is in the store, in order, byte for byte, and is never changed or removed (S3, S5).
2. A stage is one write: all of its lines or none. When it raises, or is discarded, neither the store nor its tree has changed.
3. Opening, reading and closing change nothing that was acknowledged, and add nothing to it (S4). Beside it may lie a record of who writes.
4. What is opened again is what was closed: the same header, tree and lines.
5. One writer at a time: who opens a session that somebody writes gets `SessionInUse`, and may open it for reading (S10).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from sapwood.events.damage import Damage
from sapwood.events.entries import Header
from sapwood.store.tree import Tree

Durability = Literal["os", "disk"]
"""Acknowledged means: `os`, it survives a killed process; `disk`, it survives a power cut (S5)."""


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
        """Whether every append is refused: a later version's file (S2), or one that was opened so."""
        ...

    @property
    def damage(self) -> Sequence[Damage]:
        """What is wrong with what is stored, in order (S7). It does not change: where more is found, there is another one.

        As long as `where` is the same, only what was wrong with a last line without its end goes again: when somebody has ended it.
        """
        ...

    def line(self, index: int) -> bytes:
        """The entry at `index` (counted as the tree counts), without its newline; raised to version 3, the same bytes each time.

        Raises `IndexError` where the tree has none, `StoreClosed`, and `CannotOpen` if the disk cannot give it, or no longer has it.
        """
        ...

    def refresh(self) -> None:
        """Take in what somebody else has appended since (S9): the tree and `damage` grow.

        Raises `StoreConflict`, `CannotOpen`, `StoreClosed`.
        """
        ...

    def append(self, lines: Sequence[bytes]) -> None:
        """`stage` and `commit`: what is added is with the kernel when it returns (durability `os`, S5)."""
        ...

    def stage(self, lines: Sequence[bytes]) -> None:
        """Put encoded entries, each without a newline, where `sync` can harden them; the tree does not show them yet.

        One stage at a time: `commit` or `discard` ends it. It takes in what somebody else appended first, as `refresh` does.
        A parent that is nowhere is taken as it stands: the tree holds the entry detached, here and after reopening.
        Raises `StoreClosed`, `NewerVersion`, `ReadOnly`, `StoreConflict`, `SessionInUse`, `CannotWrite`, and `NotAnEntry` for what no
        reader would find again: a line without an envelope, with a line break in it, a header, an id that is taken (the caller's fault).
        """
        ...

    def sync(self) -> None:
        """Return when what was appended and what is staged survives a power cut (durability `disk`, S5).

        Raises `CannotWrite` and `StoreClosed`.

        It blocks, and may be called in a thread while others read. After it has failed, what is staged must be discarded: the kernel may
        have dropped it.
        """
        ...

    def commit(self) -> None:
        """Show in the tree what is staged. A store may add bookkeeping of its own behind it (a fork's marker)."""
        ...

    def discard(self) -> None:
        """Take back what is staged; where that is not possible now, before anything else is written."""
        ...

    def restore(self) -> str | None:
        """Put a file that somebody deleted or replaced back to its path; the new path of what stood there, if something did (S9).

        Raises `CannotWrite`, `StoreConflict` where there is nothing to put back (somebody began or changed the file, or made it shorter),
        `SessionInUse`, `ReadOnly`, `NewerVersion`, `StoreClosed`.
        """
        ...

    def close(self) -> None:
        """Let the store go: header, tree and `where` stay. Twice does nothing."""
        ...
