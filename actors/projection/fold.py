"""What the model sees at a leaf: the selection of P1 to P3, folded entry by entry. No I/O.

1. It depends on the path from the leaf to the root and on nothing else (P2).
2. An entry that comes under the leaf costs what it adds, a compaction what it keeps, and a move the new path (P10).
3. It never raises for what a log holds; what it could not follow is a `Note`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Final, assert_never

import attrs

from sapwood.actors.projection.counter import heuristic
from sapwood.actors.projection.counts import Counts, Key, Uncounted
from sapwood.actors.projection.explaining import explanation
from sapwood.actors.projection.gauge import Gauge
from sapwood.actors.projection.last_chosen import last_model, last_thinking_level
from sapwood.actors.projection.selection import Messages, apply_edit, messages_of, without_prompt
from sapwood.actors.projection.tokens import Basis, basis_of, is_of_another_request, measured
from sapwood.actors.readable import Readable
from sapwood.events.context import (
    Context,
    ContextItem,
    ContextUsage,
    Measured,
    SelectedEntry,
    Selection,
    Surveyed,
)
from sapwood.events.entries import (
    Compaction,
    ContextEdit,
    Entry,
    MessageEntry,
    ModelChange,
    ThinkingLevelChange,
    Unknown,
)
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.events.models import Model
from sapwood.events.requests import Measure, Project, Survey
from sapwood.store.tree import Tree

_MESSAGES: Final = attrgetter("messages")


@attrs.frozen
class Note:
    """Something that the fold could not follow, and what it did instead."""

    code: str
    message: str
    entry_id: EntryId


class Fold:
    """The selection at the leaf of a growing log, kept up to date by pulling. Counts are made when they are asked for."""

    def __init__(self, view: Readable, counts: Counts | None = None) -> None:
        self._view = view
        self._counts = Counts() if counts is None else counts
        self._seen = 0
        self._leaf: int | None = None
        self._length = 0
        """Of the path to the leaf. An entry's place is counted on it: the order of the file may be another one."""
        self._rehung = 0
        """How often the tree had re-hung old entries when the path was folded."""
        self._selected: list[SelectedEntry] = []
        self._at: dict[EntryId, int] = {}
        """Where in the selection an entry is."""
        self._latest: dict[EntryId, ContextEdit] = {}
        """The latest edit of each target, one that has not come yet included: it is edited when it comes."""
        self._edits: list[tuple[int, int]] = []
        self._compaction: int | None = None
        self._model: tuple[str, str] | None = None
        self._thinking = "off"
        self._gauge = Gauge()
        self.notes: list[Note] = []

    def pull(self) -> None:
        """Take in what was committed since the last pull: the selection is that at the leaf again."""
        if not self._follow():
            self.select(self._view.tree.leaf)

    def select(self, leaf: int | None) -> None:
        """Fold the path to `leaf` from nothing."""
        self._forget()
        try:
            self._rehung = self._view.tree.rehung
            path = self._view.tree.path(leaf)
            self._model, self._thinking = last_model(self._view, path), last_thinking_level(self._view, path)
            for place in self._choose(path):
                self._take(place, self._view.entry(path[place]))
            self._length = len(path)
        except BaseException:
            self._forget()  # a disk that fails in between leaves nothing half folded
            raise
        self._leaf, self._seen = leaf, len(self._view)

    def _forget(self) -> None:
        self._clear()
        self._compaction, self._model, self._thinking = None, None, "off"
        self._leaf, self._seen, self._length = None, 0, 0

    def _clear(self) -> None:
        self._selected, self._at, self._latest, self._edits, self.notes = [], {}, {}, [], []
        self._gauge = Gauge()

    def context(self, *, explained: bool = False) -> Context:
        """The selection, each message with its entry; `explained`: also why an entry of the path gives none, and where history is lost."""
        leaf = None if self._leaf is None else self._view.tree.id(self._leaf)
        items = tuple(self._items())
        absent, gaps = explanation(self._view.tree, self._leaf, self._selected) if explained else ({}, {})
        return Context(
            leaf=leaf,
            items=items,
            absent=absent,
            gaps=gaps,
            thinking_level=self._thinking,
            model=self._model,
            counter=self._counts.name() if items else None,
        )

    def selection(self) -> Selection:
        """The selected messages alone. Counts nothing."""
        messages = tuple(chain.from_iterable(map(_MESSAGES, self._selected)))
        return Selection(messages=messages, thinking_level=self._thinking)

    @property
    def counter_trouble(self) -> str | None:
        """Why another counter counts than was wanted; known when something was counted."""
        return self._counts.trouble

    def measure(self) -> Measured:
        """How full the context is (T5)."""
        basis = self._basis()
        total = partial(self._gauge.total, self._selected, self._tokens)
        counted = self._gauge.behind(self._selected, self._tokens) if basis.source == "reported" else total()
        least = total() if self._is_of_another_request() else 0
        return measured(basis, counted, self._counts.name() if basis.following else None, least=least)

    def survey(self, tokens: int) -> Surveyed:
        """The selection itself, and what its newest entries count: so many that they come to more than `tokens`, or all of them."""
        counted: list[int] = []
        total = 0
        for selected in reversed(self._selected):
            if total > tokens:
                break
            counted.append(sum(self._tokens(selected)))
            total += counted[-1]
        return Surveyed(
            leaf=None if self._leaf is None else self._view.tree.id(self._leaf),
            entries=tuple(self._selected),
            tokens=tuple(reversed(counted)),
            measured=self.measure(),
            compacted=self._compaction is not None,
            thinking_level=self._thinking,
        )

    def _newest(self, tokens: int) -> Iterator[SelectedEntry]:
        """The entries that a survey looks at, as far as that can be known before they are counted: by the heuristic, where they are not."""
        total = 0
        for selected in reversed(self._selected):
            if total > tokens:
                return
            yield selected
            known = self._counts.known(_key(selected))
            total += sum(map(heuristic, selected.messages)) if known is None else sum(known)

    def counted_for(self, question: Project | Measure | Survey) -> Iterator[Uncounted]:
        """What has to be counted before that is answered, or was."""
        match question:
            case Project():
                wanted: Sequence[SelectedEntry] = self._selected
            case Measure():
                wanted = self._measured_for()
            case Survey(tokens=tokens):
                wanted = [*self._newest(tokens), *self._measured_for()]
            case _:
                assert_never(question)
        return (Uncounted(_key(selected), selected.messages) for selected in wanted if selected.messages)

    def uncounted(self, entry_id: EntryId) -> Uncounted | None:
        """What an entry says here, to be counted; None for one that says nothing."""
        at = self._at.get(entry_id)
        if at is None or not (selected := self._selected[at]).messages:
            return None
        return Uncounted(_key(selected), selected.messages)

    def usage(self, model: Model) -> ContextUsage:
        """How full the window of `model` is; unknown after a compaction until an answer came (T5)."""
        measured = self.measure()
        return ContextUsage(tokens=measured.tokens if measured.known else None, window=model.window)

    def _follow(self) -> bool:
        """Go on to the leaf entry by entry. False where that is not how it goes on, and the path is to be folded."""
        tree, fresh = self._view.tree, range(self._seen, len(self._view))
        if tree.rehung != self._rehung or not self._continues(tree, fresh):
            return False
        for index in fresh:
            if not self._extend(index):
                return False
            self._leaf, self._seen = index, index + 1  # a disk that fails in between leaves what is folded whole
        return True

    def _continues(self, tree: Tree, fresh: Sequence[int]) -> bool:
        """Whether all that is new hangs in one line under what is folded, down to the leaf, and is to be folded step by step."""
        parent = self._leaf
        if parent is None and len(tree) > 0:
            return False  # what stands above a compaction need not even be read
        for index in fresh:
            if tree.parent(index) != parent or tree.detached(index):
                return False
            parent = index
        return parent == tree.leaf

    def _extend(self, index: int) -> bool:
        """Take in the next entry of the path. False for a compaction that only the whole path can tell more of."""
        entry = self._view.entry(index)
        match entry:
            case Compaction():
                return self._compact(entry)
            case Unknown(type="compaction"):
                return False
            case ModelChange(provider=provider, model_id=model_id):
                self._model = (provider, model_id)
            case ThinkingLevelChange(thinking_level=level):
                self._thinking = level
            case MessageEntry(message=AssistantMessage(provider=provider, model=model)):
                self._model = (provider, model)
            case _:
                pass
        self._take(self._length, entry)
        self._length += 1
        return True

    def _compact(self, compaction: Compaction) -> bool:
        """Select anew what a compaction keeps, if all of that is selected now: so it costs the new selection, and not the path."""
        at = self._at.get(compaction.first_kept_entry_id)
        first = None if at is None else self._selected[at]
        if first is None and compaction.first_kept_entry_id != compaction.id:
            return False
        kept = [] if first is None else [one for one in self._selected if one.place >= first.place]
        kept.sort(key=lambda one: one.place)  # the compaction at the head has its place among them
        self._clear()
        self._compaction = self._length
        self._take(self._length, compaction)
        for one in kept:
            self._take(one.place, one.entry)
        self._length += 1
        return True

    def _choose(self, path: Sequence[int]) -> Sequence[int]:
        """The places on the path that are selected (P1); sets where the compaction at the head stands."""
        for place in self._view.tree.latest(path, ("compaction",)):
            compaction = self._view.entry(place)
            if isinstance(compaction, Compaction):
                return self._behind(compaction, path.index(place), path)
            message = "this compaction cannot be read: the one before it speaks"
            self.notes.append(Note("compaction_unreadable", message, compaction.id))
        return range(len(path))

    def _behind(self, compaction: Compaction, at: int, path: Sequence[int]) -> Sequence[int]:
        self._compaction = at
        kept = self._view.tree.index(compaction.first_kept_entry_id)
        start = at
        if kept is not None:
            with suppress(ValueError):
                start = path.index(kept, 0, at)
        if start == at and compaction.first_kept_entry_id != compaction.id:
            message = "the first kept entry is not before the compaction on this path: nothing is kept"
            self.notes.append(Note("first_kept_missing", message, compaction.id))
        return [at, *range(start, at), *range(at + 1, len(path))]

    def _take(self, place: int, entry: Entry) -> None:
        if isinstance(entry, ContextEdit):
            self._edit(place, entry)
        edit = self._latest.get(entry.id)
        messages = messages_of(entry) if edit is None else apply_edit(entry, edit.replacement)
        self._at[entry.id] = len(self._selected)
        self._selected.append(SelectedEntry(place, entry, self._kept(place, entry, messages), edit))
        self._gauge.came(self._selected)

    def _edit(self, place: int, edit: ContextEdit) -> None:
        self._latest[edit.target_id] = edit
        at = self._at.get(edit.target_id)
        if at is None:
            return
        target = self._selected[at]
        messages = self._kept(target.place, target.entry, apply_edit(target.entry, edit.replacement))
        self._selected[at] = SelectedEntry(target.place, target.entry, messages, edit)
        self._gauge.changed(self._selected, at, target)
        self._edits.append((target.place, place))

    def _kept(self, place: int, entry: Entry, messages: Messages) -> Messages:
        if self._compaction is None or place >= self._compaction:
            return messages
        # what a compaction keeps comes without its prompt, and an older compaction in it says nothing (P1)
        return () if isinstance(entry, Compaction) else without_prompt(messages)

    def _items(self) -> Iterator[ContextItem]:
        for selected in self._selected:
            for message, tokens in zip(selected.messages, self._tokens(selected), strict=True):
                yield ContextItem(entry_id=selected.entry.id, message=message, tokens=tokens)

    def _tokens(self, selected: SelectedEntry) -> tuple[int, ...]:
        return self._counts.of(_key(selected), selected.messages) if selected.messages else ()

    def _basis(self) -> Basis:
        report = self._gauge.report(self._selected)
        return basis_of(report, self._gauge.said, compaction=self._compaction, edits=self._edits)

    def _is_of_another_request(self) -> bool:
        """Whether the report is of a request that extensions had changed (T3)."""
        at = self._gauge.reporting
        return at is not None and any(map(is_of_another_request, self._selected[at].messages))

    def _measured_for(self) -> Sequence[SelectedEntry]:
        """The entries that have to be counted for the measure, but for those that are in the sums already."""
        if self._basis().source != "reported" or self._is_of_another_request():
            return self._selected[self._gauge.counted :]
        return self._gauge.uncounted_behind(self._selected)


def _key(selected: SelectedEntry) -> Key:
    """Under which its messages are counted: all of them, or it has none here."""
    return selected.entry.id, None if selected.edit is None else selected.edit.id
