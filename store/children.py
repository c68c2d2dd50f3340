"""The children of entries, from the column of their parents. No I/O.

Columns of places, made when they are first asked for and as far as the parents go then; `forget` when a parent changes.
"""

from __future__ import annotations

from array import array
from typing import Final

_NONE: Final = -1
"""No such child."""


class Children:
    """`parents[place]` is the place of its parent, or negative."""

    def __init__(self, parents: array[int]) -> None:
        self._parents = parents
        self._first: array[int] = array("i")
        self._last: array[int] = array("i")
        self._next: array[int] = array("i")

    def of(self, place: int) -> tuple[int, ...]:
        """In file order."""
        self._link()
        found: list[int] = []
        child = self._first[place]
        while child != _NONE:
            found.append(child)
            child = self._next[child]
        return tuple(found)

    def forget(self) -> None:
        """Somebody has another parent."""
        self._first, self._last, self._next = array("i"), array("i"), array("i")

    def _link(self) -> None:
        known = len(self._next)
        missing = len(self._parents) - known
        if not missing:
            return
        for column in (self._first, self._last, self._next):
            column.extend([_NONE] * missing)
        for place in range(known, known + missing):
            parent = self._parents[place]
            if parent < 0:
                continue
            if self._first[parent] == _NONE:
                self._first[parent] = place
            else:
                self._next[self._last[parent]] = place
            self._last[parent] = place
