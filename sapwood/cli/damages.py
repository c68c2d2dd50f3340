"""What is wrong with a session's file, and that it can be read only: in words and as plain values. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from sapwood.events.base import Json
from sapwood.events.damage import Damage, DamageKind, Severity
from sapwood.events.entries import SESSION_VERSION
from sapwood.reading import Reading
from sapwood.words.wording import Line, Piece, Style, counted, cut, line

SAID: Final[Mapping[DamageKind, str]] = {
    "torn_tail": "the last line was not finished",
    "cut_line": "a line that is cut in the middle",
    "doubled_start": "the beginning of a line, and then the whole of it",
    "garbage": "bytes that are no entry",
    "nul_run": "zero bytes, as a power cut leaves them",
    "lost_newline": "two entries on one line",
    "invalid_utf8": "bytes that are no text, in an entry that is read all the same",
    "bom": "a byte order mark at the head",
    "crlf": "lines that end as an editor on Windows ends them",
    "blank_line": "an empty line",
    "not_an_object": "a line that is JSON and no entry",
    "bad_envelope": "an entry without a type, an id or a parent that can be read",
    "duplicate_id": "an entry whose id is taken: the first one counts",
    "repeated_entry": "an entry that is there already, byte for byte",
    "second_header": "another header: the first one counts",
    "odd_version": "the header's version is contradicted by the entries, which name their parents",
    "self_parent": "an entry that names itself as its parent",
    "cycle": "an entry whose parent hangs under it",
    "missing_parent": "an entry whose parent is not in the file",
    "later_parent": "an entry that stands before its parent",
    "several_roots": "more than one root, as a reset of the leaf leaves it",
}
_FIELDS: Final[Mapping[str, Json]] = {field.encode_name: field.default for field in msgspec.structs.fields(Damage)}
"""Every field, for what is left out on the wire."""
_STYLES: Final[Mapping[Severity, Style]] = {"note": "dim", "mended": "", "lost": "bad"}


def is_damaged(damage: Sequence[Damage]) -> bool:
    """Whether any of it is more than a note."""
    return not all(one.is_note for one in damage)


def damage_line(damage: Damage) -> Line:
    """One place, and what is wrong there."""
    where = f"line {damage.line}, byte {damage.offset}" + (
        f", {counted(damage.length, 'byte')}" if damage.length else ""
    )
    return line(Piece(f"  {where}: ", "dim"), Piece(f"{_said(damage)} ({damage.severity})", _STYLES[damage.severity]))


def damage_in_short(session: Reading) -> Iterator[Line]:
    """One line below a drawing, if something is wrong with the file."""
    wrong = [one for one in session.damage if not one.is_note]
    lost = sum(one.severity == "lost" for one in wrong)
    if wrong:
        what = f"something lost in {lost}" if lost else "nothing lost"
        told = f"the file is damaged in {counted(len(wrong), 'place')}, with {what}: see `sapwood check`"
        yield line(Piece(told, "bad"))


def version_in_short(session: Reading) -> Iterator[Line]:
    """One line below a drawing, if a later version wrote the file."""
    if session.header.is_later:
        told = f"format version {session.header.version}: this release writes up to {SESSION_VERSION}, so it can be read only"
        yield line(Piece(told, "bold"))


def damage_json(damage: Sequence[Damage]) -> Json:
    """Each place as a plain value."""
    return [{**_FIELDS, **msgspec.to_builtins(one), "severity": one.severity} for one in damage]


def _said(damage: Damage) -> str:
    many = f" ({damage.count} in all)" if damage.count > 1 else ""
    entry = "" if damage.entry_id is None else f"; entry {cut(damage.entry_id, 40)}"
    parent = "" if damage.parent_id is None else f", parent {cut(damage.parent_id, 40)}"
    bridged = "; what hung under it hangs under its parent" if damage.bridged else ""
    return f"{SAID[damage.kind]}{many}{entry}{parent}{bridged}"
