"""A session's tree as lines. No I/O, and no recursion: a session is one long chain, as deep as it is long.

1. Every entry of every branch is one line, a parent above its children.
2. Only a branch is set in: of several entries with one parent, one goes on in its column and the others stand set in before it.
   The one that goes on is on the way to the leaf, or else the latest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Final

import attrs

from sapwood.cli.damages import damage_in_short, damage_json, version_in_short
from sapwood.events.base import Json
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import EntryId
from sapwood.reading import Reading
from sapwood.store.tree import Tree
from sapwood.words.describing import entry_in_words, kind_in_words
from sapwood.words.wording import Line, Piece, counted, cut, line, named

DEEPEST: Final = 30
"""Branches within branches that are still set in further: beyond it a line would be all indentation."""
SHORT: Final = 8
"""Characters of an id: the length of most; a longer one is cut if that leaves no two alike."""


@attrs.frozen
class Placed:
    """An entry, and where it stands in the drawing."""

    index: int
    depth: int = 0
    """How many branches it is within."""
    before: str = ""
    """What is drawn in front of the branch that it is on."""
    begins: bool = False
    """Whether a branch that is set in begins here."""

    @property
    def front(self) -> str:
        """What is drawn in front of it."""
        return f"{self.before[:-3]}├─ " if self.begins else self.before


def placed(tree: Tree, first: int = 0) -> Iterator[Placed]:
    """Every entry from the place `first` on, in the order of drawing: what hangs under an earlier one stands at the top."""
    on_path = _on_path(tree, first)
    todo = list(_hung(_tops(tree, first), on_path, Placed(-1)))
    while todo:
        one = todo.pop()
        yield one
        todo.extend(_hung([child for child in tree.children(one.index) if child >= first], on_path, one))


def draw(session: Reading, *, last: int | None = None) -> Iterator[Line]:
    """The session in a line, then its tree, or what of it is in its `last` entries."""
    tree, labels = session.tree(), session.labels()
    first = first_of(tree, last)
    on_path = _on_path(tree, first)
    short = short_ids(tree)
    marks = _marks(tree)
    yield line(Piece(short(session.header.id), "name"), f"  {_about(session)}")
    if first:
        yield line(Piece(f"({counted(first, 'entry', 'entries')} before these)", "dim"))
    for one in placed(tree, first):
        entry_id = tree.id(one.index)
        entry = session.entry(entry_id)
        if entry is None:
            continue
        here = one.index in on_path
        yield line(
            Piece(one.front, "dim"),
            Piece("● " if here else "○ ", "good" if here else "dim"),
            Piece(f"{short(entry_id)}  ", "name"),
            Piece(f"{kind_in_words(entry):12} ", "accent"),
            cut(entry_in_words(entry)) or Piece("(nothing)", "dim"),
            Piece(f"  [{cut(labels[entry_id], 40)}]" if entry_id in labels else "", "bold"),
            Piece(_gap(tree, one.index), "bad"),
            Piece(f"  <- {marks[one.index]}" if one.index in marks else "", "bold"),
        )
    yield from version_in_short(session)
    yield from damage_in_short(session)


def first_of(tree: Tree, last: int | None) -> int:
    """The place from which on there are so many entries; 0 for all of them."""
    return 0 if last is None else max(0, len(tree) - last)


def to_json(session: Reading, *, last: int | None = None) -> Json:
    """The tree, or its `last` entries, as plain values, in the order of drawing."""
    tree, labels = session.tree(), session.labels()
    first = first_of(tree, last)
    on_path = _on_path(tree, first)
    position = tree.position(tree.leaf)
    return {
        "session": session_json(session),
        "leaf": None if tree.leaf is None else tree.id(tree.leaf),
        "position": None if position is None else tree.id(position),
        "entries": [_entry_json(session, one, labels, on_path=one.index in on_path) for one in placed(tree, first)],
        "damage": damage_json(session.damage),
    }


def session_json(session: Reading) -> Json:
    """What a session's header says, and its name."""
    header = session.header
    return {
        "id": header.id or None,  # none has begun in an empty file
        "path": session.path,
        "version": header.version,
        "cwd": header.cwd,
        "name": session.name,
        "parentSession": header.parent_session,
    }


def short_ids(tree: Tree) -> Callable[[str], str]:
    """Cuts ids to what a person needs of them. They are looked at when the first long one comes: in most sessions none does."""
    taken = Counter[str]()

    def short(entry_id: str) -> str:
        if len(entry_id) > SHORT and not taken:
            taken.update(tree.id(index)[:SHORT] for index in range(len(tree)))
        return entry_id if taken[entry_id[:SHORT]] > 1 else entry_id[:SHORT]

    return short


def _on_path(tree: Tree, first: int) -> Container[int]:
    """What the leaf hangs under, from a place on."""
    return frozenset(place for place in tree.upwards(tree.leaf) if place >= first)


def _tops(tree: Tree, first: int) -> Sequence[int]:
    """What hangs under nothing from a place on."""
    if first == 0:
        return tree.children(None)
    parents = ((place, tree.parent(place)) for place in range(first, len(tree)))
    return [place for place, parent in parents if parent is None or parent < first]


def _hung(children: Sequence[int], on_path: Container[int], parent: Placed) -> Iterator[Placed]:
    """The children as they go on a pile, the one that is drawn last at its bottom."""
    if not children:
        return
    goes_on = next((child for child in children if child in on_path), children[-1])
    yield Placed(goes_on, parent.depth, parent.before)
    before = f"{parent.before}│  " if parent.depth < DEEPEST else parent.before
    for child in reversed(children):
        if child != goes_on:
            yield Placed(child, parent.depth + 1, before, begins=True)


def _marks(tree: Tree) -> dict[int, str]:
    """What is written behind the leaf and the position."""
    leaf, position = tree.leaf, tree.position(tree.leaf)
    if leaf is None:
        return {}
    if leaf == position:
        return {leaf: "leaf, position"}
    return {leaf: "leaf"} | ({} if position is None else {position: "position"})


def _gap(tree: Tree, index: int) -> str:
    """What is said of an entry above which history is lost."""
    lost = tree.lost_above(index)
    if lost is None:
        return ""
    if lost == tree.id(index):
        return "  (names itself as its parent)"
    how = "it stands at the top" if tree.detached(index) else "bridged to the one above it"
    return f"  (gap: its parent {cut(lost, 40)} is {'above it in a circle' if lost in tree else 'lost'}; {how})"


def _about(session: Reading) -> str:
    tree = session.tree()
    tips = len(tree.tips())
    name = f"{cut(session.name)}: " if session.name else ""
    return (
        f"{name}{counted(len(tree), 'entry', 'entries')}, {counted(tips, 'branch', 'branches')}, {named(session.path)}"
    )


def _entry_json(session: Reading, one: Placed, labels: Mapping[EntryId, str], *, on_path: bool) -> Json:
    tree = session.tree()
    entry_id, parent = tree.id(one.index), tree.parent(one.index)
    entry = session.entry(entry_id)
    return {
        "id": entry_id,
        "parentId": None if parent is None else tree.id(parent),
        "kind": tree.kind(one.index),
        "role": entry.message.role if isinstance(entry, MessageEntry) else None,
        "timestamp": None if entry is None else entry.timestamp,
        "text": "" if entry is None else entry_in_words(entry),
        "label": labels.get(entry_id),
        "depth": one.depth,
        "onPath": on_path,
        "detached": tree.detached(one.index),
        "lostParentId": tree.lost_above(one.index),
    }
