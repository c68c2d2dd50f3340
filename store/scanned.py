"""What a session's bytes hold: the header, the index, and where each entry stands. No I/O."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import attrs

from sapwood.events.damage import Damage
from sapwood.events.entries import Header
from sapwood.store.tree import Tree


@attrs.define
class Scanned:
    """What a file holds."""

    header: Header
    tree: Tree = attrs.field(factory=Tree)
    offsets: array[int] = attrs.field(factory=lambda: array("Q"))
    """Where each entry begins, in bytes."""
    lengths: array[int] = attrs.field(factory=lambda: array("Q"))
    """Without the line's end."""
    damage: Sequence[Damage] = ()
    """In file order."""
    lines: int = 0
    """How many have begun; 0 if not even the header is written."""
    unfinished: int | None = None
    """Where the last line begins, if the file as it was read ends without ending it."""
    goes_on_beside: bool = False
    """Whether what is added goes to a session beside it: the file's header does not say that its entries name their parents."""

    def placed(self, lengths: Iterable[int], offset: int) -> None:
        """More lines, that were written from `offset` on, each with its LF; the header's before the first, if it was not there."""
        add_offset, add_length, lines = self.offsets.append, self.lengths.append, self.lines or 1
        for length in lengths:
            add_offset(offset)
            add_length(length)
            offset += length + 1
            lines += 1
        self.lines = lines

    def goes_on_from(self, offset: int) -> None:
        """The unfinished line, which begins there, was gone on with: it is read again, and what was wrong with it says nothing now."""
        if offset == self.unfinished:
            self.lines -= 1
            self.damage = tuple(one for one in self.damage if not (one.length and one.offset >= offset))

    def unplaced(self, at: int) -> None:
        """Of the lines that were placed, this one (counted from the end) is no entry."""
        del self.offsets[at], self.lengths[at]
