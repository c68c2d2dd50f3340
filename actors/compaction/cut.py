"""Where a compaction cuts (C5). No I/O.

1. The walk goes back from the end until what it passed comes to the budget; the cut is the first legal place at or behind that point, or
   the last one of all: a call is never parted from its results, and the newest answer stays whole, however large.
2. If the turn in which the budget is reached is no larger than the budget, the cut snaps back to that turn's start; else it stays inside.
3. A turn starts where somebody speaks to the model. What the model does not see makes no turn and splits none.
4. An input that fills the budget alone, with nothing behind it but an attempt that was hidden, is not kept: it goes into the summary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import attrs

from sapwood.events.context import SelectedEntry
from sapwood.events.entries import Compaction, ContextEdit, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CustomMessage,
    Message,
    UserMessage,
)


@attrs.frozen
class Cut:
    """Places in the selection."""

    at: int
    """The first entry that is kept."""
    turn_start: int | None = None
    """Where the turn that the cut falls into starts; None for a cut between turns."""


def starts_turn(message: Message) -> bool:
    """Whether somebody speaks to the model: a turn begins."""
    return isinstance(message, UserMessage | BashExecutionMessage | CustomMessage | BranchSummaryMessage)


def find_cut(entries: Sequence[SelectedEntry], tokens: Sequence[int], *, start: int, keep: int) -> Cut | None:
    """The cut in `entries[start:]`; None where there is nothing that may be cut at.

    Args:
        entries: the selection (P1), edits applied.
        tokens: of its last entries, oldest first: so many that they come to more than twice `keep`, or all of them.
        start: the first entry behind the compaction that speaks for what came before.
        keep: tokens that are to be kept.
    """
    return _Walk(entries, tokens, start, keep).cut()


class _Walk:
    """One search."""

    def __init__(self, entries: Sequence[SelectedEntry], tokens: Sequence[int], start: int, keep: int) -> None:
        self._entries = entries
        self._start = start
        self._keep = keep
        self._counted_from = max(len(entries) - len(tokens), start)
        counted = tokens[len(tokens) - (len(entries) - self._counted_from) :]
        self._behind = [*reversed([*accumulate(reversed(counted), initial=0)])]
        """Tokens from each counted place to the end."""

    def cut(self) -> Cut | None:
        found = self._walked()
        if found is None:
            return None
        turn = self._turn_of(self._reached(found))
        if turn is not None and turn < found and self._size(turn) <= self._keep:
            return Cut(turn)
        if self._any(found, starts_turn):
            return Cut(found)
        return Cut(found, self._turn_of(found - 1))

    def _walked(self) -> int | None:
        """The cut before it snaps: a visible entry, or the place behind an input that nothing answered."""
        point = self._budget_point()
        if point is None:
            return self._next_legal(self._start)
        found = self._next_legal(point)
        if found is None:
            return self._last_legal()
        return found + 1 if self._is_unanswered(found) else found

    def _budget_point(self) -> int | None:
        """The newest entry from which on the messages come to the budget."""
        for at in range(len(self._entries) - 1, self._counted_from - 1, -1):
            if self._from(at) >= self._keep and self._from(at) > self._from(at + 1):
                return at
        return None

    def _reached(self, found: int) -> int:
        """An entry of the turn in which the budget is reached: the cut itself, or what is seen before it."""
        if self._from(found) >= self._keep and self._entries[found].messages:
            return found
        return found - 1

    def _turn_of(self, at: int) -> int | None:
        """Where the turn that an entry belongs to starts; None if it began before what is cut."""
        for place in range(at, self._start - 1, -1):
            if self._any(place, starts_turn):
                return place
        return None

    def _size(self, turn: int) -> int:
        """Tokens of the turn that starts here; more than the budget, if nobody counted as far."""
        if turn < self._counted_from:
            return self._keep + 1
        behind = (place for place in range(turn + 1, len(self._entries)) if self._any(place, starts_turn))
        return self._from(turn) - self._from(next(behind, len(self._entries)))

    def _is_unanswered(self, at: int) -> bool:
        """Whether everything behind an input is invisible, and an attempt to answer it that was hidden is among that."""
        behind = self._entries[at + 1 :]
        hidden = {one.entry.id for one in behind if _is_hidden(one)}
        return any(_is_hidden(one) and _is_answer(one) for one in behind) and all(
            not one.messages and not isinstance(one.entry, Compaction) and not _edits_another(one, hidden)
            for one in behind
        )

    def _next_legal(self, at: int) -> int | None:
        return next((place for place in range(at, len(self._entries)) if self._any(place, _may_be_cut_at)), None)

    def _last_legal(self) -> int | None:
        places = range(len(self._entries) - 1, self._start - 1, -1)
        return next((place for place in places if self._any(place, _may_be_cut_at)), None)

    def _any(self, at: int, is_so: Callable[[Message], bool]) -> bool:
        return any(map(is_so, self._entries[at].messages))

    def _from(self, at: int) -> int:
        """Tokens from a place to the end; of one that nobody counted as far as, those that were: more than twice the budget."""
        return self._behind[max(at - self._counted_from, 0)]


def _may_be_cut_at(message: Message) -> bool:
    return isinstance(message, AssistantMessage) or starts_turn(message)


def _is_hidden(selected: SelectedEntry) -> bool:
    return selected.edit is not None and selected.edit.replacement is None and not selected.messages


def _is_answer(selected: SelectedEntry) -> bool:
    return isinstance(selected.entry, MessageEntry) and isinstance(selected.entry.message, AssistantMessage)


def _edits_another(selected: SelectedEntry, hidden: set[EntryId]) -> bool:
    """Whether an entry gives something other content that is still seen."""
    entry = selected.entry
    return isinstance(entry, ContextEdit) and entry.replacement is not None and entry.target_id not in hidden
