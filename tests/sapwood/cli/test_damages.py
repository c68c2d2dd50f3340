"""What is wrong with a file, in words and as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from sapwood import read
from sapwood.cli.damages import SAID, damage_in_short, damage_json, damage_line, is_damaged
from sapwood.events.damage import Damage, DamageKind
from sapwood.words.wording import plain
from tests.build import message_entry, user
from tests.sapwood.cli.sessions import session_file

CUT = Damage(kind="cut_line", line=8, offset=1830, length=585, entry_id="e1", parent_id="e0", bridged=True)
ROOTS = Damage(kind="several_roots", line=4, offset=300, length=0, count=2)


def test_every_kind_has_its_words() -> None:
    assert set(SAID) == set(get_args(DamageKind))
    assert len(set(SAID.values())) == len(SAID)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            CUT,
            (
                "  line 8, byte 1830, 585 bytes: a line that is cut in the middle; entry e1, parent e0; "
                "what hung under it hangs under its parent (lost)"
            ),
        ),
        (ROOTS, "  line 4, byte 300: more than one root, as a reset of the leaf leaves it (2 in all) (note)"),
        (
            Damage(kind="garbage", line=1, offset=0, length=1, entry_id="\x1b[31m", parent_id=None),
            "  line 1, byte 0, 1 byte: bytes that are no entry; entry �[31m (lost)",
        ),
    ],
)
def test_a_place_is_one_line(damage: Damage, said: str) -> None:
    assert plain(damage_line(damage)) == said


def test_a_note_is_no_damage() -> None:
    assert not is_damaged([])
    assert not is_damaged([ROOTS])
    assert is_damaged([ROOTS, CUT])


def test_a_place_is_a_plain_value_with_every_field() -> None:
    assert damage_json([ROOTS]) == [
        {
            "kind": "several_roots",
            "severity": "note",
            "line": 4,
            "offset": 300,
            "length": 0,
            "entryId": None,
            "parentId": None,
            "bridged": False,
            "count": 2,
        }
    ]


def test_a_drawing_tells_in_one_line_that_the_file_is_damaged(tmp_path: Path) -> None:
    path = session_file(tmp_path, message_entry("a", user("hi")))
    with read(path) as session:
        assert list(damage_in_short(session)) == []
    path.write_bytes(path.read_bytes() + b'\0\0\n{"type":"mess')

    with read(path) as session:
        (line,) = damage_in_short(session)

    assert plain(line) == "the file is damaged in 2 places, with something lost in 2: see `sapwood check`"


def test_a_drawing_speaks_of_no_loss_where_nothing_is_lost_and_of_no_damage_where_there_are_but_notes(
    tmp_path: Path,
) -> None:
    """This used to say "with something lost in 0" of a byte order mark."""
    path = session_file(tmp_path, message_entry("a", user("hi")), message_entry("b", user("anew")))
    with read(path) as session:
        assert [one.kind for one in session.damage] == ["several_roots"]
        assert list(damage_in_short(session)) == []
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    with read(path) as session:
        (line,) = damage_in_short(session)

    assert plain(line) == "the file is damaged in 1 place, with nothing lost: see `sapwood check`"
