"""What a growing selection comes to, at the price of what is new in it (P10). No I/O.

1. The sums of what was counted are kept; a change takes away those from its place on.
2. Where the last usage stands that a provider reported is kept as well: nobody looks for it from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sapwood.actors.projection.tokens import believable
from sapwood.events.context import SelectedEntry


class Gauge:
    """Of one selection; it is told of each entry that comes into it, and of each that changes."""

    def __init__(self) -> None:
        self._sums = [0]
        """Tokens of the first n entries, as far as they were asked for."""
        self.said = 0
        """Messages of all entries."""
        self.report: int | None = None
        """The last entry with a usage that can be believed."""

    @property
    def counted(self) -> int:
        """How many entries, from the first on, are in the sums."""
        return len(self._sums) - 1

    def came(self, selected: Sequence[SelectedEntry]) -> None:
        """The last entry of the selection is new."""
        new = selected[-1]
        self.said += len(new.messages)
        if any(map(believable, new.messages)):
            self.report = len(selected) - 1

    def changed(self, selected: Sequence[SelectedEntry], at: int, before: SelectedEntry) -> None:
        """The entry here was another one before."""
        self.said += len(selected[at].messages) - len(before.messages)
        del self._sums[at + 1 :]
        if self.report is None or at >= self.report:
            places = range(len(selected) - 1, -1, -1)
            self.report = next((place for place in places if any(map(believable, selected[place].messages))), None)

    def total(self, selected: Sequence[SelectedEntry], tokens: Callable[[SelectedEntry], Sequence[int]]) -> int:
        """Tokens of all of it."""
        for at in range(self.counted, len(selected)):
            self._sums.append(self._sums[-1] + sum(tokens(selected[at])))
        return self._sums[-1]
