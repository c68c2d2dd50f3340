"""A session's tree as lines. No I/O, and no recursion: a session is one long chain, as deep as it is long.

1. Every entry of every branch is one line, a parent above its children.
2. Only a branch is set in: where several entries share a parent, one goes on in its column and the others stand set in before it. The one that
   goes on is on the way to the leaf, or else the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import attrs

from sapwood.events.base import Json
from sapwood.events.entries import Entry, MessageEntry, kind_of
from sapwood.events.ids import EntryId
from sapwood.events.messages import role_of
from sapwood.reading import Reading
from sapwood.scenario.describing import entry_in_words, kind_in_words
from sapwood.scenario.wording import Line, Piece, cut, line, visible
from sapwood.store.tree import Tree

DEEPEST: Final = 30
"""Branches within branches that are still set in further: beyond it a line would be all indentation."""
SHORT: Final = 8
"""Characters of an id: the length of most; a longer one is cut if that leaves no two alike."""


@attrs.frozen
class Placed:
    """An entry, and where it stands in the drawing."""

    index: int
    depth: int
    """How many branches it is within."""
    before: str
    """What is drawn in front of it."""


def placed(tree: Tree) -> Iterator[Placed]:
    """Every entry in the order of drawing."""
    on_path = frozenset(tree.upwards(tree.leaf))
    todo: list[Placed] = []

    def hang(children: Sequence[int], depth: int, before: str) -> None:
        """Put children on the pile so that they are taken from it in order: the branches, then the one that goes on."""
        if not children:
            return
        main = next((child for child in children if child in on_path), children[-1])
        todo.append(Placed(main, depth, before))
        deeper = before + "│  " if depth < DEEPEST else before
        todo.extend(Placed(child, depth + 1, deeper) for child in reversed(children) if child != main)

    hang(tree.children(None), 0, "")
    while todo:
        one = todo.pop()
        yield one
        hang(tree.children(one.index), one.depth, one.before)
