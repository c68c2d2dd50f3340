"""The index over a log: ids, kinds, parents, children, leaf, position. No I/O, no clock, no awaits.

1. An entry goes by its place in the log, counted from 0. Places never change; the tree only grows.
2. Of two entries with one id the first counts. `extend` refuses the second and says so; it has no place.
3. A parent that is missing, or that would close a circle (the entry itself is one), is not followed: the entry is *detached* and stands
   at the top of a tree of its own. So every walk ends, and every entry is below one of `children(None)`.
4. A parent that comes later in the log adopts its detached children when it comes, unless that closes a circle. How a log is cut into
   calls of `extend` makes no difference.
5. Where an entry is lost and its parent is known, `bridge` lets its detached children hang under that one, through several lost ones in a
   row too. What entries say comes first: a bridge goes when the lost one comes, and closes no circle. When it is built makes no difference.
6. Columns, not an object an entry: what opening does not need (children, kinds by place) is made when it is first asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from sapwood.events.codec import Envelope
from sapwood.events.entries import BOOKKEEPING
from sapwood.events.ids import EntryId
from sapwood.store.any_of import AnyOf
from sapwood.store.at_once import MANY, earlier_parents, give_back, take_ids
from sapwood.store.children import Children
from sapwood.store.kinds import Kinds
from sapwood.store.tops import Tops

_ROOT: Final = -1
"""In the column of parents: it has none."""
_DETACHED: Final = -2
"""In the column of parents: it names one that is not followed."""
_NONE: Final = -1
"""Above the top of a tree: no entry."""


class Misplaced(NamedTuple):
    """An entry that does not hang under one that came before it, and the parent that it names."""

    place: int
    how: Literal["self_parent", "cycle", "missing_parent", "later_parent"]
    parent_id: str


class Tree(Container[str]):
    """What stands where in a log. Only a store makes it grow."""

    def __init__(self) -> None:
        self._index: dict[EntryId, int] = {}
        self._ids: list[EntryId] = []
        self._kinds = Kinds()
        self._parent: array[int] = array("i")
        self._tops: dict[int, None] = {}
        """Roots and detached entries, in file order."""
        self._awaited: dict[str, list[int]] = {}
        """Detached entries, and those that hang by a bridge, by the missing parent that they name."""
        self._named: dict[int, str] = {}
        """The parents of those that could not be hung under them when they came, in file order."""
        self._lost: dict[str, str | None] = {}
        """The parents of lost entries."""
        self._ends: dict[str, str | None] = {}
        """The first parents above them that are not lost, as far as they were asked for."""
        self._bridged: list[int] = []
        """Entries that hang by a bridge."""
        self._passed: set[str] | None = None
        """Lost entries that bridges lead over, as long as those stand; None until somebody asks."""
        self._sought: set[str] = set()
        """Lost entries, and where bridges would end, if it were there: with one of them all bridges are built anew."""
        self._stale = False
        """Whether there are children without bridges that may be due one."""
        self._forward = False
        """Whether any parent stands later in the log than its child."""
        self.rehung = 0
        """How often entries that were in the log already got another parent: as long as it stays, so do all paths."""
        self._top = Tops(self._parent)
        self._children = Children(self._parent)
        self.ids: Container[str] = AnyOf(self._index, self._awaited, self._lost)
        """Every id that is not to be made up for a new entry: those in the log, those that it names as missing parents, and lost ones."""

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._index

    def index(self, entry_id: str) -> int | None:
        """The place of the entry with this id."""
        return self._index.get(EntryId(entry_id))

    def id(self, place: int) -> EntryId:
        return self._ids[place]

    def kind(self, place: int) -> str:
        """The entry's `type`."""
        return self._kinds[place]

    def parent(self, place: int) -> int | None:
        """None for a root and for a detached entry; `detached` tells which."""
        parent = self._parent[place]
        return parent if parent >= 0 else None

    def detached(self, place: int) -> bool:
        """Whether the entry names a parent that is missing or would close a circle."""
        return self._parent[place] == _DETACHED

    @property
    def leaf(self) -> int | None:
        """The last entry (S6)."""
        return len(self._ids) - 1 if self._ids else None

    def position(self, place: int | None) -> int | None:
        """The nearest entry at or above `place` that is not bookkeeping (S6); None if all is bookkeeping up to the top."""
        return next((at for at in self.upwards(place) if self.kind(at) not in BOOKKEEPING), None)

    def upwards(self, place: int | None) -> Iterator[int]:
        """`place`, its parent, and so on to the top of its tree. Nothing for None."""
        at = _NONE if place is None else place
        while at >= 0:
            yield at
            at = self._parent[at]

    def path(self, place: int | None) -> list[int]:
        """From the top of its tree to `place`, both included. Nothing for None."""
        return [*self.upwards(place)][::-1]

    def is_ancestor(self, above: int, below: int) -> bool:
        """Whether `above` lies on the path to `below`. An entry lies on its own path."""
        for at in self.upwards(below):
            if at == above or (at < above and not self._forward):
                return at == above
        return False

    def common_ancestor(self, one: int | None, other: int | None) -> int | None:
        """The deepest entry that lies on both paths; None if they share none."""
        walked = set(self.upwards(one))
        return next((at for at in self.upwards(other) if at in walked), None)

    def children(self, place: int | None) -> Sequence[int]:
        """In file order. For None the tops: the roots, and the entries that are detached."""
        return tuple(self._tops) if place is None else self._children.of(place)

    def of_kind(self, kind: str) -> Sequence[int]:
        """The places of all entries of a kind, in file order."""
        return self._kinds.places_of(kind)

    def latest(self, path: Sequence[int], kinds: Iterable[str]) -> Iterator[int]:
        """Which places of a path are of these kinds, the last first; at once where the log has none of them."""
        return self._kinds.latest(path, kinds)

    def tips(self) -> Sequence[int]:
        """The ends of the branches by position, in file order: entries under which there is nothing but bookkeeping (S6)."""
        is_tip = bytearray(len(self._ids))
        below: list[tuple[int, int]] = [(top, _NONE) for top in self._tops]
        while below:
            place, position = below.pop()
            if self.kind(place) not in BOOKKEEPING:
                if position != _NONE:
                    is_tip[position] = 0
                is_tip[place] = 1
                position = place
            below.extend((child, position) for child in self.children(place))
        return tuple(place for place, tip in enumerate(is_tip) if tip)

    def chain(self, kinds: Sequence[str], ids: Sequence[EntryId]) -> None:
        """Take entries in at the end, each under the one before it, whose ids nobody has: as `extend` does, in a third of its time."""
        place = len(self._ids)
        if ids and not place:
            self._tops[0] = None
        self._index.update(zip(ids, range(place, place + len(ids)), strict=True))
        self._ids.extend(ids)
        self._kinds.extend(kinds)
        self._parent.extend(range(place - 1, place - 1 + len(ids)))  # _ROOT for the first of all

    def extend(self, envelopes: Sequence[Envelope]) -> list[int]:
        """Take entries in at the end, in their order. Which of them (counted from 0) were refused, since their id is taken."""
        if len(envelopes) < MANY:
            return self._extend_each(envelopes)
        begun = 0 if self._ids else 1  # the first of all hangs under none, and its id is free
        self._extend_each(envelopes[:begun])
        rest = envelopes[begun:]
        return [] if self._extend_at_once(rest) else [begun + nth for nth in self._extend_each(rest)]

    def _extend_at_once(self, envelopes: Sequence[Envelope]) -> bool:
        """Take in entries that hang under earlier ones and have ids of their own, as nearly all are: all of them, or nothing."""
        ids = [envelope.id for envelope in envelopes]
        waited_for = self._stale or not (self._awaited.keys().isdisjoint(ids) and self._sought.isdisjoint(ids))
        if waited_for or not take_ids(self._index, ids, len(self._ids)):
            return False
        parents = earlier_parents(self._index, self._ids[-1], ids, [envelope.parentId for envelope in envelopes])
        if parents is None:
            give_back(self._index, ids)
            return False
        self._ids += ids
        self._kinds.extend([envelope.type for envelope in envelopes])
        self._parent.extend(parents)
        return True

    def _extend_each(self, envelopes: Sequence[Envelope]) -> list[int]:
        """The same for whatever they say."""
        refused: list[int] = []
        index, awaited = self._index, self._awaited
        add_id, add_kind, add_parent = self._ids.append, self._kinds.append, self._parent.append
        first = place = len(self._ids)
        for nth, envelope in enumerate(envelopes):
            entry_id, kind, named = envelope.id, envelope.type, envelope.parentId
            if index.setdefault(entry_id, place) != place:
                refused.append(nth)
                continue
            add_id(entry_id)
            add_kind(kind)
            if named is None:
                add_parent(_ROOT)
                self._tops[place] = None
            else:
                parent = index.get(named, place)
                if parent != place:
                    add_parent(parent)
                else:
                    add_parent(_DETACHED)
                    self._tops[place] = None
                    self._named[place] = named
                    self._stale = True
                    if named != entry_id:
                        awaited.setdefault(named, []).append(place)
            if awaited and entry_id in awaited:
                self._unbridge()
                self._adopt(place, awaited.pop(entry_id))
            place += 1
        if self._stale or (self._sought and not self._sought.isdisjoint(self._ids[first:])):
            self._bridge_anew()
        return refused

    def bridge(self, lost: Iterable[tuple[str, str | None]]) -> None:
        """Know of lost entries and their parents, for the children that are here and those to come.

        Of two words on one id the first counts. An id that is in the log, now or later, is not lost.
        """
        known = len(self._lost)
        for lost_id, parent_id in lost:
            self._lost.setdefault(lost_id, parent_id)
        if len(self._lost) > known:
            self._bridge_anew()

    def is_bridged(self, lost_id: str, parent_id: str | None) -> bool:
        """Whether an entry that names this lost one, or another one that was under it, hangs under that parent or beyond it."""
        if self._passed is None:
            self._passed = set()
            for place in self._bridged:
                at: str | None = self._named[place]
                while at is not None and at in self._lost and at not in self._passed:
                    self._passed.add(at)
                    at = self._lost[at]
        return lost_id in self._passed and self._lost[lost_id] == parent_id

    def misplaced(self) -> Iterator[Misplaced]:
        """In file order. What hangs by a bridge is not among them: that it is so is told of the lost one."""
        bridged = set(self._bridged)
        for place, named in self._named.items():
            if place in bridged:
                continue
            if self._parent[place] != _DETACHED:
                yield Misplaced(place, "later_parent", named)
            elif named == self._ids[place]:
                yield Misplaced(place, "self_parent", named)
            elif self._beyond(named) in self._index:
                yield Misplaced(place, "cycle", named)
            else:
                yield Misplaced(place, "missing_parent", named)

    def lost_above(self, place: int) -> str | None:
        """The parent that an entry names and does not hang under, since it is lost, missing or would close a circle: a gap (S7)."""
        return self._named.get(place) if self.detached(place) or place in self._bridged else None

    def roots(self) -> Sequence[int]:
        """Entries that name no parent, or whose lost parent named none. In file order."""
        return tuple(top for top in self._tops if self._parent[top] == _ROOT)

    def _adopt(self, place: int, waiting: list[int]) -> None:
        top = self._top.of(place)
        for child in waiting:
            if child != top:  # else `place` hangs under it: a circle
                self._hang(child, place, top)

    def _hang(self, child: int, parent: int, top: int) -> None:
        self._parent[child] = parent
        self._top.hang(child, top)
        self._forward |= parent > child
        self.rehung += 1
        del self._tops[child]
        self._children.forget()

    def _bridge_anew(self) -> None:
        self._unbridge()
        self._passed = None
        for lost_id in self._lost.keys() & self._index.keys():
            del self._lost[lost_id]
        self._sought = set(self._lost)
        self._ends.clear()
        for place in sorted(place for lost_id in self._lost for place in self._awaited.get(lost_id, ())):
            end = self._beyond(self._named[place])
            parent = _ROOT if end is None else self._index.get(EntryId(end), _DETACHED)
            if end is not None and parent == _DETACHED:
                self._sought.add(end)
            elif parent == _ROOT:
                self._parent[place] = _ROOT
                self._bridged.append(place)
                self.rehung += 1
            elif (top := self._top.of(parent)) != place:
                self._hang(place, parent, top)
                self._bridged.append(place)
        self._stale = False

    def _unbridge(self) -> None:
        if self._bridged:
            for place in self._bridged:
                self._parent[place] = _DETACHED
            self._tops = dict.fromkeys(sorted({*self._tops, *self._bridged}))
            self._bridged.clear()
            self._passed = None
            self.rehung += 1
            self._top.forget()
            self._children.forget()
            self._stale = True

    def _beyond(self, name: str) -> str | None:
        """The first parent that is not lost, from `name` on; a lost one if they go round in a circle."""
        ends = self._ends
        walked: list[str] = []
        at: str | None = name
        while at is not None and at in self._lost and at not in ends:
            ends[at] = at
            walked.append(at)
            at = self._lost[at]
        end = None if at is None else ends.get(at, at)
        ends.update(dict.fromkeys(walked, end))
        return end
