"""What stands in a copy of a session, and what the copy says of itself (S15, S3). No I/O.

1. A copy has one header, which names the parent, and one marker (`sapwood.fork`) behind all that was copied. The marker counts it: what
   comes before was paid for in the parent, what comes behind is the copy's own.
2. Entries keep their bytes. One that hangs by a bridge names the parent that it hangs under: the lost line that shows it is not copied.
3. A path takes along what is said of it elsewhere: the present labels of its entries, and the session's name. They keep their ids and
   times, and hang under its end.
4. The end of the copy is where the parent stood: behind it comes bookkeeping alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, Protocol

import attrs
import msgspec

from sapwood.events.base import Json, is_object
from sapwood.events.codec import decode_entry, encode_entry, encode_header
from sapwood.events.entries import FORK_MARKER, Custom, Entry, Header, Label, SessionInfo
from sapwood.events.ids import EntryId
from sapwood.events.unknown_fields import without_line
from sapwood.store.tree import Tree
from sapwood.store.upcast import with_parent

BLOCK: Final = 1 << 18
"""Bytes that are written at a time, or one line: read in a millisecond, so that whoever shares the loop does not notice."""

Extent = Literal["path", "tree"]
"""What was copied: the path to one entry, or all there is."""


class Lines(Protocol):
    """What is asked of whoever holds the session that is copied. A `Store` is one."""

    @property
    def header(self) -> Header: ...
    @property
    def tree(self) -> Tree: ...
    def line(self, index: int) -> bytes: ...


@attrs.frozen(kw_only=True)
class Copy:
    """A session that is to be written."""

    source: Lines
    header: Header
    places: Sequence[int]
    """Of the entries that keep their parents, in the order in which they are to stand."""
    moved: Sequence[bytes]
    """Lines of those that hang elsewhere in the copy."""
    marker: Custom

    @property
    def entries(self) -> int:
        """How many are copied; the marker is not one of them."""
        return len(self.places) + len(self.moved)

    def blocks(self) -> Iterator[bytes]:
        """The whole file, piece by piece."""
        piece, size = [encode_header(self.header)], 0
        for one in self._lines():
            piece.append(one)
            size += len(one)
            if size >= BLOCK:
                yield b"\n".join([*piece, b""])
                piece, size = [], 0
        yield b"\n".join([*piece, b""])

    def _lines(self) -> Iterator[bytes]:
        tree, read = self.source.tree, self.source.line
        for place in self.places:
            yield as_copied(tree, place, read(place))
        yield from self.moved
        yield encode_entry(self.marker)


def copy_of_tree(source: Lines, header: Header, marker_id: EntryId, path: str | None) -> Copy:
    """All entries, as they stand. Whoever appends to the copy stands where the parent stood."""
    tree = source.tree
    places = range(len(tree))
    leaf = None if tree.leaf is None else tree.id(tree.leaf)
    marker = marker_of(source.header, path, len(places), "tree", marker_id, leaf, header.timestamp)
    return Copy(source=source, header=header, places=places, moved=(), marker=marker)


def copy_of_path(source: Lines, place: int, header: Header, marker_id: EntryId, path: str | None) -> Copy:
    """The entries on the path to `place`, their labels and the session's name."""
    tree = source.tree
    places = tree.path(place)
    parent, moved = tree.id(place), list[bytes]()
    for one in _said_elsewhere(source, places):
        moved.append(with_parent(source.line(one), tree.id(one), parent))
        parent = tree.id(one)
    entries = len(places) + len(moved)
    marker = marker_of(source.header, path, entries, "path", marker_id, parent, header.timestamp)
    return Copy(source=source, header=header, places=places, moved=moved, marker=marker)


def as_text(path: str) -> str:
    """A path as JSON can hold it."""
    return os.fsencode(path).decode("utf-8", "replace")


def header_of(old: Header, new: Header, path: str | None) -> Header:
    """The header of a copy: `new`, with the parent's path, and what other writers put into the parent's."""
    return msgspec.structs.replace(new, parent_session=path, extra=without_line(old.extra))


def marker_of(  # noqa: PLR0917 - what it says, in its order
    old: Header, path: str | None, entries: int, extent: Extent, entry_id: EntryId, parent: EntryId | None, now: str
) -> Custom:
    """The entry that says what was copied: the first `entries` of the file."""
    data = {"parentId": old.id, "parentPath": path, "entries": entries, "copied": extent}
    return Custom(id=entry_id, parent_id=parent, timestamp=now, custom_type=FORK_MARKER, data=data)


def copied_by(data: Json, place: int) -> int | None:
    """How many entries were copied, from the first on, as a marker's data at `place` says; None if that cannot be.

    A marker that was itself copied may count what is not here: what it says never reaches beyond its own place.
    """
    entries = data.get("entries") if is_object(data) else None
    return entries if type(entries) is int and 0 <= entries <= place else None


def as_copied(tree: Tree, place: int, line: bytes) -> bytes:
    """An entry's line as it stands in a copy: the same, but for the parent of one that hangs by a bridge."""
    if tree.lost_above(place) is None or tree.detached(place):
        return line
    parent = tree.parent(place)
    return with_parent(line, tree.id(place), None if parent is None else tree.id(parent))


def _said_elsewhere(source: Lines, path: Sequence[int]) -> list[int]:
    """The places of labels and of a name that are in force, and that the path alone would not show. In file order."""
    tree = source.tree
    on_path = set(path)
    labels = {place: entry for place, entry in _read(source, "label") if isinstance(entry, Label)}
    in_force = {entry.target_id: place for place, entry in labels.items()}
    shown = {labels[place].target_id: labels[place].label or None for place in path if place in labels}
    found = [
        place
        for target, place in in_force.items()
        if tree.index(target) in on_path and (labels[place].label or None) != shown.get(target)
    ]
    names = {
        place: entry.name or None for place, entry in _read(source, "session_info") if isinstance(entry, SessionInfo)
    }
    last = max(names, default=None)
    last_shown = next((names[place] for place in reversed(path) if place in names), None)
    if last is not None and names[last] != last_shown:
        found.append(last)
    return sorted(found)


def _read(source: Lines, kind: str) -> Iterable[tuple[int, Entry]]:
    return ((place, decode_entry(source.line(place))) for place in source.tree.of_kind(kind))
