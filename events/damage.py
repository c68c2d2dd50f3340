"""What is wrong with a session's file, place by place (S7). Nothing of it is ever changed in the file.

Each byte of a file is part of an entry or of the header, ends a line of one, or lies in a `Damage`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from sapwood.events.base import Wire

DamageKind = Literal[
    "torn_tail",
    "cut_line",
    "doubled_start",
    "garbage",
    "nul_run",
    "lost_newline",
    "invalid_utf8",
    "bom",
    "crlf",
    "blank_line",
    "not_an_object",
    "bad_envelope",
    "duplicate_id",
    "repeated_entry",
    "second_header",
    "odd_version",
    "self_parent",
    "cycle",
    "missing_parent",
    "later_parent",
    "several_roots",
]
Severity = Literal["note", "mended", "lost"]
"""`note`: it may be so. `mended`: all of it is read. `lost`: some bytes are no entry, or a chain ends at a gap."""

SEVERITY: Final[Mapping[DamageKind, Severity]] = {
    "torn_tail": "lost",
    "cut_line": "lost",
    "doubled_start": "mended",
    "garbage": "lost",
    "nul_run": "lost",
    "lost_newline": "mended",
    "invalid_utf8": "mended",
    "bom": "mended",
    "crlf": "mended",
    "blank_line": "note",
    "not_an_object": "lost",
    "bad_envelope": "lost",
    "duplicate_id": "lost",
    "repeated_entry": "mended",
    "second_header": "lost",
    "odd_version": "mended",
    "self_parent": "lost",
    "cycle": "lost",
    "missing_parent": "lost",
    "later_parent": "mended",
    "several_roots": "note",
}


class Damage(Wire, frozen=True, kw_only=True):
    """One place of a file, and what is wrong there."""

    kind: DamageKind
    line: int
    """Counted from 1, at every LF."""
    offset: int
    """In bytes. Of what is wrong with an entry's place in the tree: where the entry begins."""
    length: int
    """In bytes; 0 where nothing is there that should be (a lost newline, a header's version), where a CR is part of a line's end, and
    where an entry is whole but stands wrongly."""
    entry_id: str | None = None
    """The entry that it is about: the one that was lost if its bytes still show its id, or the one that stands wrongly."""
    parent_id: str | None = None
    """That entry's parent, if it names one."""
    bridged: bool = False
    """The entry is lost, and entries that hung under it hang under its parent now."""
    count: int = 1
    """How many such places there are: of `crlf` and `several_roots` the first one stands for all, a `blank_line` for those right behind it
    too, and an `invalid_utf8` for all in its entry."""

    @property
    def is_note(self) -> bool:
        """Whether nothing is wrong there."""
        return self.severity == "note"

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return SEVERITY[self.kind]
