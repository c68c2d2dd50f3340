"""The top of each entry's tree, from the column of their parents. No I/O.

A column of places towards the top, made when it is first asked for, paths halved as they are walked.
"""

from __future__ import annotations

from array import array


class Tops:
    """`parents[place]` is the place of its parent, or negative."""

    def __init__(self, parents: array[int]) -> None:
        self._parents = parents
        self._towards: array[int] = array("i")

    def of(self, place: int) -> int:
        """The entry at the top of the tree that this one is in."""
        towards = self._towards
        for at in range(len(towards), len(self._parents)):
            parent = self._parents[at]
            towards.append(parent if parent >= 0 else at)
        while towards[place] != place:
            towards[place] = towards[towards[place]]
            place = towards[place]
        return place

    def hang(self, place: int, top: int) -> None:
        """What was a top, as was asked before, hangs under this one now."""
        self._towards[place] = top

    def forget(self) -> None:
        """Somebody has no parent any more."""
        self._towards = array("i")
