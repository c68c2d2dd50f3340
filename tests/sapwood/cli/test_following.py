"""An entry in a line."""

from __future__ import annotations

from sapwood.cli.following import entry_line
from sapwood.words.wording import plain
from tests.build import message_entry, user


def test_an_entry_is_its_id_its_role_and_how_it_begins() -> None:
    assert plain(entry_line(message_entry("a1b2c3d4", user("one\ntwo")))) == "a1b2c3d4  user         one …"
    assert plain(entry_line(message_entry("a", user("\x1b[31m")))) == "a  user         �[31m"
    assert plain(entry_line(message_entry("a", user("")))) == "a  user         (nothing)"
