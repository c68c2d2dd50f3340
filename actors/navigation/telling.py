"""What is told of one move: once extensions were asked, exactly one of `session_tree` and `session_tree_failed`, however it ends (N6)."""

from __future__ import annotations

from collections.abc import Callable

from sapwood.events.entries import BranchSummary
from sapwood.events.errors import NavigationFailed
from sapwood.events.ids import EntryId
from sapwood.events.requests import NavigateTo
from sapwood.events.runtime import Event, SessionTree, SessionTreeFailed


class Telling:
    """The news of one move."""

    def __init__(self, asked: NavigateTo, publish: Callable[[Event], int]) -> None:
        self._asked = asked
        self._publish = publish
        self.due = False
        """Whether its end is still to be told."""
        self.from_extension = False
        """Whether an extension gave the summary, or stopped the move."""

    def attempt(self) -> None:
        """From now on extensions or a model are asked."""
        self.due = True

    def done(self, left: EntryId | None, leaf: EntryId | None, summary: BranchSummary | None) -> None:
        """It is in the log."""
        self.due = False
        from_extension = None if summary is None else self.from_extension
        self._publish(
            SessionTree(new_leaf_id=leaf, old_leaf_id=left, summary_entry=summary, from_extension=from_extension)
        )

    def failed(self, why: Exception | None) -> None:
        """It came to nothing. None, or a `NavigationFailed` that is an abort: somebody stopped it."""
        if not self.due:
            return
        self.due = False
        aborted = why is None or (isinstance(why, NavigationFailed) and why.aborted)
        self._publish(
            SessionTreeFailed(
                target_id=self._asked.target,
                error_message=None if aborted else str(why),
                aborted=aborted,
                from_extension=self.from_extension,
            )
        )
