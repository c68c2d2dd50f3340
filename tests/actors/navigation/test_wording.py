"""What stands in the entry of a branch's summary: who speaks, what was found, and which files."""

from __future__ import annotations

import pytest

from sapwood.actors.navigation.settings import Manner
from sapwood.actors.navigation.wording import PREAMBLE, stored_summary
from sapwood.actors.summaries.contract import lacking
from sapwood.actors.summaries.file_lists import Files

FILES = Files(read=("a.py",), modified=("b.py", "c.py"), both=("c.py",))
LISTS = "<read-files>\na.py\n</read-files>\n\n<modified-files>\nb.py\nc.py\n</modified-files>"
IN_ONE = "<files>\na.py (Read)\nb.py (Write)\nc.py (RW)\n</files>"


@pytest.mark.parametrize(("manner", "lists"), [("pi", LISTS), ("omp", IN_ONE)])
def test_the_summary_stands_between_the_preamble_and_the_files(manner: Manner, lists: str) -> None:
    assert stored_summary("## Goal\nx\n", FILES, manner) == f"{PREAMBLE}\n\n## Goal\nx\n\n{lists}"
    assert stored_summary(" found ", Files(), manner) == f"{PREAMBLE}\n\nfound"


@pytest.mark.parametrize("manner", ["pi", "omp"])
def test_the_preamble_stands_on_lines_of_its_own(manner: Manner) -> None:
    """In omp the first heading stood on the preamble's last line, and was none any more."""
    lines = stored_summary("## Goal\nx", Files(), manner).splitlines()

    assert lines == [*PREAMBLE.splitlines(), "", "## Goal", "x"]
    assert "## Goal" not in lacking("\n".join(lines), "branch")


@pytest.mark.parametrize("old", [LISTS, IN_ONE, f"{IN_ONE}\n\n{LISTS}"])
@pytest.mark.parametrize(("manner", "lists"), [("pi", LISTS), ("omp", IN_ONE)])
def test_lists_that_stand_there_already_are_taken_out(old: str, manner: Manner, lists: str) -> None:
    assert stored_summary(f"found\n\n{old}", FILES, manner) == f"{PREAMBLE}\n\nfound\n\n{lists}"
    assert stored_summary(f"found\n\n{old}", Files(), manner) == f"{PREAMBLE}\n\nfound"
