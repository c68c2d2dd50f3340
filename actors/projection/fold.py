"""What the model sees at a leaf: the selection of P1 to P3, folded entry by entry. No I/O.

1. It depends on the path from the leaf to the root and on nothing else (P2).
2. An entry that comes under the leaf costs what it adds, a compaction what it keeps, and a move the new path (P10).
3. It never raises for what a log holds; what it could not follow is a `Note`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

import attrs

from sapwood.actors.projection.counts import Counts, Key, Uncounted
from sapwood.actors.projection.selection import Messages, apply_edit, messages_of, without_prompt
from sapwood.actors.projection.tokens import Basis, Placed, basis_of, measured
from sapwood.actors.readable import Readable
from sapwood.events.context import Absent, Context, ContextItem, ContextUsage, Measured, Selection
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
from sapwood.events.requests import Measure, Project
from sapwood.store.tree import Tree

SPEAKING: Final = frozenset({"message", "custom_message", "branch_summary", "compaction"})
"""Kinds that have something to say to the model."""


@attrs.define
class _Selected:
    """An entry of the selection and the messages that it gives."""

    place: int
    """On the path, from the root."""
    entry: Entry
    messages: Messages
    edit: ContextEdit | None = None
    """The latest of the edits that came for it."""

    @property
    def key(self) -> Key:
        """Under which its messages are counted: all of them, or it has none here."""
        return self.entry.id, None if self.edit is None else self.edit.id


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
        self._selected: list[_Selected] = []
        self._at: dict[EntryId, _Selected] = {}
        self._latest: dict[EntryId, ContextEdit] = {}
        """The latest edit of each target, one that has not come yet included: it is edited when it comes."""
        self._edits: list[tuple[int, int]] = []
        self._compaction: int | None = None
        self._model: tuple[str, str] | None = None
        self._thinking = "off"
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
            self._model, self._thinking = self._last_model(path), self._last_thinking(path)
            for place in self._choose(path):
                self._take(place, self._view.entry(path[place]))
            self._length = len(path)
        except BaseException:
            self._forget()  # a disk that fails in between leaves nothing half folded
            raise
        self._leaf, self._seen = leaf, len(self._view)

    def _forget(self) -> None:
        self._selected, self._at, self._latest, self._edits, self.notes = [], {}, {}, [], []
        self._compaction, self._model, self._thinking = None, None, "off"
        self._leaf, self._seen, self._length = None, 0, 0

    def context(self, *, explained: bool = False) -> Context:
        """The selection, each message with its entry; `explained`: also why an entry of the path gives none, and where history is lost."""
        leaf = None if self._leaf is None else self._view.tree.id(self._leaf)
        items = tuple(self._items())
        absent, gaps = (self._absent(), self._gaps()) if explained else ({}, {})
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
        messages = tuple(message for selected in self._selected for message in selected.messages)
        return Selection(messages=messages, thinking_level=self._thinking)

    @property
    def counter_trouble(self) -> str | None:
        """Why another counter counts than was wanted; known when something was counted."""
        return self._counts.trouble

    def measure(self) -> Measured:
        """How full the context is (T5)."""
        basis = self._basis()
        tokens = [count for selected, before in self._behind_report(basis) for count in self._tokens(selected)[before:]]
        return measured(basis, tokens, self._counts.name() if tokens else None)

    def counted_for(self, question: Project | Measure) -> Iterator[Uncounted]:
        """What has to be counted before that is answered, or was."""
        match question:
            case Project():
                wanted: Sequence[_Selected] = self._selected
            case Measure():
                wanted = [selected for selected, _ in self._behind_report(self._basis())]
            case _:
                assert_never(question)
        return (Uncounted(selected.key, selected.messages) for selected in wanted if selected.messages)

    def uncounted(self, entry_id: EntryId) -> Uncounted | None:
        """What an entry says here, to be counted; None for one that says nothing."""
        selected = self._at.get(entry_id)
        return None if selected is None or not selected.messages else Uncounted(selected.key, selected.messages)

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
        if parent is None and self._seen > 0:
            return False
        for index in fresh:
            if tree.parent(index) != parent or tree.detached(index):
                return False
            if self._seen == 0 and tree.kind(index) == "compaction":
                return False  # what stands above it need not even be read
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
        first = self._at.get(compaction.first_kept_entry_id)
        if first is None and compaction.first_kept_entry_id != compaction.id:
            return False
        kept = [] if first is None else [one for one in self._selected if one.place >= first.place]
        kept.sort(key=lambda one: one.place)  # the compaction at the head has its place among them
        self._selected, self._at, self._latest, self._edits, self.notes = [], {}, {}, [], []
        self._compaction = self._length
        self._take(self._length, compaction)
        for one in kept:
            self._take(one.place, one.entry)
        self._length += 1
        return True

    def _choose(self, path: Sequence[int]) -> Sequence[int]:
        """The places on the path that are selected (P1); sets where the compaction at the head stands."""
        tree = self._view.tree
        for at in range(len(path) - 1, -1, -1):
            if tree.kind(path[at]) == "compaction":
                compaction = self._view.entry(path[at])
                if isinstance(compaction, Compaction):
                    return self._behind(compaction, at, path)
                message = "this compaction cannot be read: the one before it speaks"
                self.notes.append(Note("compaction_unreadable", message, compaction.id))
        return range(len(path))

    def _behind(self, compaction: Compaction, at: int, path: Sequence[int]) -> Sequence[int]:
        self._compaction = at
        kept = self._view.tree.index(compaction.first_kept_entry_id)
        start = next((place for place in range(at) if path[place] == kept), at)
        if start == at and compaction.first_kept_entry_id != compaction.id:
            message = "the first kept entry is not before the compaction on this path: nothing is kept"
            self.notes.append(Note("first_kept_missing", message, compaction.id))
        return [at, *range(start, at), *range(at + 1, len(path))]

    def _take(self, place: int, entry: Entry) -> None:
        if isinstance(entry, ContextEdit):
            self._edit(place, entry)
        edit = self._latest.get(entry.id)
        messages = messages_of(entry) if edit is None else apply_edit(entry, edit.replacement)
        selected = _Selected(place, entry, self._kept(place, entry, messages), edit)
        self._selected.append(selected)
        self._at[entry.id] = selected

    def _edit(self, place: int, edit: ContextEdit) -> None:
        self._latest[edit.target_id] = edit
        target = self._at.get(edit.target_id)
        if target is None:
            return
        target.edit = edit
        target.messages = self._kept(target.place, target.entry, apply_edit(target.entry, edit.replacement))
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

    def _tokens(self, selected: _Selected) -> tuple[int, ...]:
        return self._counts.of(selected.key, selected.messages) if selected.messages else ()

    def _basis(self) -> Basis:
        newest = (
            Placed(selected.place, message)
            for selected in reversed(self._selected)
            for message in reversed(selected.messages)
        )
        return basis_of(newest, compaction=self._compaction, edits=self._edits)

    def _behind_report(self, basis: Basis) -> Iterator[tuple[_Selected, int]]:
        """Each entry that our own counter must count for the measure, newest first, and how many of its messages the report has already."""
        left = basis.following
        for selected in reversed(self._selected):
            if left <= 0:
                return
            if selected.messages:
                yield selected, max(len(selected.messages) - left, 0)
            left -= len(selected.messages)

    def _last_model(self, path: Sequence[int]) -> tuple[str, str] | None:
        tree = self._view.tree
        for index in reversed(path):
            if tree.kind(index) in {"model_change", "message"}:
                match self._view.entry(index):
                    case ModelChange(provider=provider, model_id=model):
                        return provider, model
                    case MessageEntry(message=AssistantMessage(provider=provider, model=model)):
                        return provider, model
                    case _:
                        pass
        return None

    def _last_thinking(self, path: Sequence[int]) -> str:
        tree = self._view.tree
        for index in reversed(path):
            if tree.kind(index) == "thinking_level_change":
                match self._view.entry(index):
                    case ThinkingLevelChange(thinking_level=level):
                        return level
                    case _:
                        pass
        return "off"

    def _gaps(self) -> dict[EntryId, str]:
        """Entries of the path above which something is lost, and what."""
        tree = self._view.tree
        lost = {tree.id(index): tree.lost_above(index) for index in tree.path(self._leaf)}
        return {entry_id: parent for entry_id, parent in lost.items() if parent is not None}

    def _absent(self) -> dict[EntryId, Absent]:
        """Entries of the path that give no message, and why."""
        tree = self._view.tree
        absent: dict[EntryId, Absent] = {}
        for index in tree.path(self._leaf):
            selected = self._at.get(tree.id(index))
            if selected is None:
                absent[tree.id(index)] = "compacted"
            elif not selected.messages:
                absent[tree.id(index)] = _why_absent(selected)
        return absent


def _why_absent(selected: _Selected) -> Absent:
    if selected.edit is not None and selected.edit.replacement is None:
        return "hidden"
    return "unreadable" if isinstance(selected.entry, Unknown) and selected.entry.type in SPEAKING else "silent"
