"""What is committed: a growing sequence that anybody may read, and nobody but the log may make longer.

1. Its length is its version; an index, once valid, means the same entry for ever.
2. Entries are decoded when they are asked for; the last few that were appended are kept decoded, since whoever follows wants them.
3. Of several labels, names or models the last one in file order counts.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from sapwood.events.codec import decode_entry
from sapwood.events.damage import Damage
from sapwood.events.entries import Entry, Header, Label, SessionInfo
from sapwood.events.errors import NotAnEntry, StoreConflict
from sapwood.events.ids import EntryId
from sapwood.store.port import Store
from sapwood.store.tree import Tree

_LINE_BREAKS: Final = re.compile(r"[\r\n]+")
RECENT: Final = 64
"""Entries kept decoded: more than one turn appends, so that a fold that pulls after each event never decodes one again."""


class View:
    """The committed entries of one session."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recent: deque[tuple[int, Entry]] = deque(maxlen=RECENT)

    def __len__(self) -> int:
        return len(self._store.tree)

    @property
    def tree(self) -> Tree:
        """The index: parents, children, paths, the leaf."""
        return self._store.tree

    @property
    def header(self) -> Header:
        return self._store.header

    @property
    def where(self) -> str:
        """The file's path, or `:memory:`."""
        return self._store.where

    @property
    def read_only(self) -> bool:
        """Whether nothing can be appended."""
        return self._store.read_only

    @property
    def damage(self) -> Sequence[Damage]:
        """What is wrong with the file, in order (S7)."""
        return self._store.damage

    @property
    def leaf(self) -> EntryId | None:
        """The last entry (S6)."""
        index = self.tree.leaf
        return None if index is None else self.tree.id(index)

    def line(self, index: int) -> bytes:
        """The entry at `index` as it is stored; the errors of `Store.line`."""
        return self._store.line(index)

    def entry(self, index: int) -> Entry:
        """The entry at `index`, counted from 0 in file order. `StoreConflict` if somebody else has changed it in the file since."""
        for at, entry in reversed(self._recent):
            if at == index:
                return entry
        try:
            return decode_entry(self._store.line(index))
        except NotAnEntry as error:  # it was one when it was taken in
            raise StoreConflict(self.where, "changed") from error

    def find(self, entry_id: EntryId) -> Entry | None:
        """The entry with this id."""
        index = self.tree.index(entry_id)
        return None if index is None else self.entry(index)

    def entries(self) -> Iterator[Entry]:
        """All entries, in file order."""
        return (self.entry(index) for index in range(len(self)))

    def labels(self) -> dict[EntryId, str]:
        """Each entry's present label. One of an entry that is not here says nothing: a fork has labels of what it left behind."""
        labels: dict[EntryId, str] = {}
        for index in self.tree.of_kind("label"):
            match self.entry(index):
                case Label(target_id=target) if target not in self.tree:
                    pass
                case Label(target_id=target, label=str(text)) if text:
                    labels[target] = text
                case Label(target_id=target):
                    labels.pop(target, None)
                case _:
                    pass
        return labels

    def name(self) -> str | None:
        """The session's name: line breaks are blanks, and an empty one is none."""
        for index in reversed(self.tree.of_kind("session_info")):
            match self.entry(index):
                case SessionInfo(name=name):
                    return _LINE_BREAKS.sub(" ", name or "").strip() or None
                case _:
                    pass
        return None

    def remember(self, index: int, entry: Entry) -> None:
        """For the log alone: this entry has just been appended at `index`."""
        self._recent.append((index, entry))
