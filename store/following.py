"""A file that somebody else writes, followed: what came since the last look. Blocks for as long as it takes to read that.

1. What was read is not read again, however long the file is.
2. A last line that has no end yet is not told of: it is an entry once it is whole, and damaged once something stands behind it. A writer
   that takes it back (S3) has said nothing.
3. When the path stands for another file, or the file has lost or changed what was in it, that is told last: its entries are others now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from sapwood.events.damage import Damage
from sapwood.events.errors import CannotOpen, Interference, NotASession, StoreConflict
from sapwood.store.jsonl import JsonlStore
from sapwood.store.telling import new_damage


@attrs.frozen
class Looked:
    """What a look has found; entries that came are in the store's tree."""

    damage: Sequence[Damage] = ()
    """What is wrong with what came; at the first look, with all of the file."""
    lost: Interference | None = None
    """What became of the file, if nothing more is to be seen of it."""


class Follower:
    """Looks at one file. `opened` opens it for reading: anew, where it had only just begun."""

    def __init__(self, opened: Callable[[], JsonlStore]) -> None:
        self._opened = opened
        self.store = opened()
        """The file as it was last looked at; another one where it was opened anew."""
        self._half: Sequence[Damage] = ()
        """What is wrong with a last line that may yet be gone on with."""
        self._told = 0
        self._untold = self._begun()

    def look(self, told: int) -> Looked:
        """What came since the last look, for somebody who was told of so many entries. Raises `CannotOpen` and `StoreClosed`."""
        store, entries, damaged = self.store, len(self.store.tree), self.store.damage
        try:
            store.refresh()
        except StoreConflict as conflict:
            return self._anew(conflict.what, told)
        came = new_damage(damaged, store.damage)
        untold, self._untold = (*self._untold, *self._judged(came, entries), *came), ()
        self._told += len(untold)
        return Looked(untold)

    def _begun(self) -> Sequence[Damage]:
        """What is wrong with the file as it is opened, but for a half line at its end."""
        start, damage = self.store.unfinished, self.store.damage
        self._half = [one for one in damage if start is not None and one.length and one.offset >= start]
        return [one for one in damage if one not in self._half]

    def _judged(self, damage: Sequence[Damage], entries: int) -> Sequence[Damage]:
        """What was wrong with the half line, if it was left as it was: one that was gone on with was read again, and told by that."""
        store, half = self.store, self._half
        came = [one.offset for one in damage]
        came += [store.offset(place) for place in range(entries, len(store.tree))]
        if not half or not came:
            return ()
        self._half = ()
        return half if min(came) > half[-1].offset else ()

    def _anew(self, what: Interference, told: int) -> Looked:
        """Go on with a file that has begun, or from which a half line was taken back; else it is lost."""
        old = self.store
        if what == "begun" or (what == "shortened" and self._half):
            try:
                store = self._opened()
            except (NotASession, CannotOpen):
                return Looked() if what == "begun" else Looked(lost=what)
            if what == "begun" or _goes_on(old, store, told):
                self.store = store
                old.close()
                self._untold = self._begun()[self._told :]
                return self.look(told)
            store.close()
        return Looked(lost=what)


def _goes_on(old: JsonlStore, new: JsonlStore, told: int) -> bool:
    """Whether what was told is in the file still."""
    if new.header.id != old.header.id or len(new.tree) < told:
        return False
    return told == 0 or new.tree.id(told - 1) == old.tree.id(told - 1)
