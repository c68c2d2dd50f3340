"""Which sessions are looked for, without trio."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sapwood import Environment, Refused
from sapwood.events.catalog import ListedSession
from sapwood.listing import SessionsWanted, listing, looked_for, scanned
from tests.build import message_entry, user
from tests.sapwood.cli.sessions import session_file


def test_named_folders_are_looked_into_and_no_other() -> None:
    assert looked_for([Path("a"), "b"], None, None) == SessionsWanted(folders=("a", "b"), cwd=None, needle=None)


def test_a_default_folder_that_is_not_there_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    want = looked_for([], "/home/dev", "ash")

    assert (want.folders, want.cwd, want.needle is not None) == ((), "/home/dev", True)


@pytest.mark.parametrize("search", ["", " \n", 7, "\ud800"])
def test_what_cannot_be_searched_for_is_refused(search: object) -> None:
    with pytest.raises(Refused, match="what is searched for"):
        looked_for(["a"], None, search)


def test_a_look_and_a_scan_need_no_trio(tmp_path: Path) -> None:
    path = session_file(tmp_path, message_entry("a", user("one")))
    probe = f"""
import sys
from sapwood import Environment
from sapwood.listing import listing, looked_for, scanned
list(listing(looked_for([{str(tmp_path)!r}], None, "one"), Environment()))
scanned({str(path)!r}, Environment())
print("trio" in sys.modules)
"""

    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_look_tells_what_a_scan_tells(tmp_path: Path) -> None:
    path = session_file(tmp_path, message_entry("a", user("one")))

    (one,) = [one for one in listing(looked_for([tmp_path], None, None), Environment()) if one is not None]
    whole = scanned(str(path), Environment())

    assert isinstance(one, ListedSession)
    assert (one.id, one.path, one.name) == (whole.id, whole.path, whole.name)
    assert (whole.stats.entries, whole.damage) == (1, ())
