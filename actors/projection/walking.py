"""A fold that goes through a log entry by entry, and not only along its leaf. No I/O of its own.

What hangs under the entry before costs what it adds; a branch that begins elsewhere costs its path (P10).
"""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.actors.projection.fold import Fold
from sapwood.events.context import SelectedEntry


class Walk(Fold):
    """The selection at any entry, and what each part of it counts."""

    @property
    def leaf(self) -> int | None:
        """The entry where it stands; None above the first."""
        return self._leaf

    @property
    def selected(self) -> Sequence[SelectedEntry]:
        """The selection where it stands, oldest first."""
        return self._selected

    def reach(self, place: int) -> bool:
        """Stand at this entry. Whether that was a step, by which the entry itself came, and all else stayed but for what it changes."""
        tree = self._view.tree
        follows = tree.rehung == self._rehung and tree.parent(place) == self._leaf and not tree.detached(place)
        if not follows or not self._extend(place):
            self.select(place)
            return False
        self._leaf = place
        return True

    def tokens(self, selected: SelectedEntry) -> tuple[int, ...]:
        """What each message of one of them counts: counted now, if it never was."""
        return self._tokens(selected)
