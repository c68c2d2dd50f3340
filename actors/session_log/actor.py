"""The shell of the log: decide, write, commit, announce."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from sapwood.actors.kernel import Actor, Refuse, Reply
from sapwood.actors.session_log.appending import AlreadyDone, Go, decide
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.entries import KnownEntry, Unknown, kind_of
from sapwood.events.errors import Refused, StaleLeaf, StoreError, Unencodable
from sapwood.events.requests import Append, Appended
from sapwood.events.runtime import EntryAppended, Event, SessionMoved
from sapwood.store.port import Store


class SessionLog(Actor[Append]):
    """Owns the open store. Asked to append; announces what was appended."""

    def __init__(self, store: Store, view: View, publish: Callable[[Event], int]) -> None:
        self._store = store
        self._view = view
        self._publish = publish

    def handle(self, message: Append) -> Reply | Refuse:
        decision = decide(self._store.tree, message.entries, message.expected_leaf, self._view.entry)
        match decision:
            case AlreadyDone(entry_ids):
                return Reply(Appended(entry_ids=entry_ids, leaf=self._view.leaf))
            case Go(entries):
                return self._write(entries)
            case StaleLeaf() | Refused():
                return Refuse(decision)
            case _:
                assert_never(decision)

    def _write(self, entries: tuple[KnownEntry, ...]) -> Reply | Refuse:
        store, before, first = self._store, self._store.where, len(self._view)
        try:
            store.append([encode_entry(entry) for entry in entries])
        except (StoreError, Unencodable) as error:
            return Refuse(error)
        if store.where != before:
            why = "a version 1 file is never written: its entries were copied to a version 3 session beside it"
            self._publish(SessionMoved(old_path=before, new_path=store.where, why=why))
        for index, entry in enumerate(entries, first):
            self._view.remember(index, entry)
        for index in range(first, len(self._view)):  # a store may have added bookkeeping of its own
            committed = self._view.entry(index)
            known = None if isinstance(committed, Unknown) else committed
            self._publish(EntryAppended(entry_id=committed.id, kind=kind_of(committed), entry=known))
        return Reply(Appended(entry_ids=tuple(entry.id for entry in entries), leaf=self._view.leaf))
