"""A session copied to a new file (S15): the parent is only read, and nobody finds the copy before it is whole.

The copying is a series of steps, each of which may block for a moment: whoever shares a loop takes each where it may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from sapwood.events.entries import SESSION_VERSION
from sapwood.events.errors import NewerVersion, Refused, no_entry
from sapwood.events.ids import EntryId
from sapwood.store.copying import Copy, Extent, Lines
from sapwood.store.new_file import NewFile

UNSAVED: Final = "This session has not been saved yet. Send a message before cloning or forking it."
"""Pi's words."""

Step = Callable[[], None]


def place_to_fork(source: Lines, entry_id: EntryId | None, extent: Extent, where: str) -> int:
    """Where a fork of the session at `where` is to stand; the leaf for None.

    Raises `Refused` for an entry that there is not, for a session in which there is none, and for an entry of a whole tree, which
    stands where its parent does; `NewerVersion` for a format that we could only pretend to write.
    """
    if source.header.is_later:
        raise NewerVersion(where, source.header.version, SESSION_VERSION)
    leaf = source.tree.leaf
    if leaf is None:
        raise Refused("nothing-to-do", UNSAVED)
    if entry_id is None:
        return leaf
    if extent == "tree":
        raise Refused(
            "bad-input", "a fork of the whole tree stands where the session does: name an entry, or the whole tree"
        )
    place = source.tree.index(entry_id)
    if place is None:
        raise no_entry(entry_id)
    return place


def steps(copy: Copy, file: NewFile) -> Iterator[Step]:
    """Write a copy. What each step raises is the disk's; `file.end` comes behind the last one, or behind one that failed.

    What is between two steps reads the parent, and raises what `Store.line` does.
    """
    yield file.begin
    for block in copy.blocks():
        yield partial(file.write, block)
    yield file.commit
