"""The kinds of entries, by their places. No I/O.

A column of numbers, one a kind; the places of each kind are found when they are first asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence


class Kinds:
    """What kind of entry stands where. It only grows."""

    def __init__(self) -> None:
        self._column: array[int] = array("I")
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._places: dict[int, array[int]] = {}
        self._sorted = 0

    def append(self, kind: str) -> None:
        """Of the next entry."""
        number = self._numbers.get(kind)
        self._column.append(self._new(kind) if number is None else number)

    def extend(self, kinds: Sequence[str]) -> None:
        """Of the next entries."""
        try:
            column = array("I", map(self._numbers.__getitem__, kinds))
        except KeyError:  # a kind that is seen for the first time
            for one in dict.fromkeys(kinds):
                if one not in self._numbers:
                    self._new(one)
            column = array("I", map(self._numbers.__getitem__, kinds))
        self._column.extend(column)

    def __getitem__(self, place: int) -> str:
        return self._names[self._column[place]]

    def places_of(self, kind: str) -> Sequence[int]:
        """All of a kind, in their order."""
        for place in range(self._sorted, len(self._column)):
            self._places.setdefault(self._column[place], array("I")).append(place)
        self._sorted = len(self._column)
        number = self._numbers.get(kind)
        return tuple(self._places[number]) if number is not None else ()

    def latest(self, path: Sequence[int], kinds: Iterable[str]) -> Iterator[int]:
        """Which places of a path are of these kinds, the last first. Where there are none of them, it is not walked."""
        column, wanted = self._column, {self._numbers[kind] for kind in kinds if kind in self._numbers}
        return (place for place in reversed(path) if column[place] in wanted) if wanted else iter(())

    def _new(self, kind: str) -> int:
        number = self._numbers[kind] = len(self._names)
        self._names.append(kind)
        return number
