"""What is made of a branch's summary before it is stored."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.actors.navigation.branch import Prepared
from sapwood.actors.navigation.finishing import finish
from sapwood.actors.navigation.settings import Manner
from sapwood.actors.navigation.wording import PREAMBLE
from sapwood.actors.summaries.file_lists import Files
from sapwood.actors.summaries.steps import Written
from tests.build import result

FILES = Files(read=("a.md",), modified=("b.md",))


def written(text: str = "Found.", lacking: tuple[str, ...] = ()) -> Written:
    return Written(text=text, usage=None, lacking=lacking, shortened=False, calls=1)


def prepared(**more: Any) -> Prepared:
    given: dict[str, Any] = {"messages": (), "files": FILES, "tokens": 1, "dropped": 0, **more}
    return Prepared(**given)


@pytest.mark.parametrize(
    ("manner", "end"),
    [
        ("pi", "<read-files>\na.md\n</read-files>\n\n<modified-files>\nb.md\n</modified-files>"),
        ("omp", "<files>\na.md (Read)\nb.md (Write)\n</files>"),
    ],
)
def test_it_begins_with_the_preamble_and_ends_with_the_files(manner: Manner, end: str) -> None:
    text, details = finish(written(), prepared(), ["Found."], manner)

    assert text == f"{PREAMBLE}\n\nFound.\n\n{end}"
    assert details == {
        "readFiles": ["a.md"],
        "modifiedFiles": ["b.md"],
        "fidelity": {"score": 1.0, "madeUp": []},
    }


def test_what_it_lacks_makes_up_or_left_out_is_in_the_details() -> None:
    text, details = finish(
        written("It broke src/made_up.py.", lacking=("## Goal",)),
        prepared(messages=(result("c1", "E1: no such wood", error=True),), dropped=4),
        ["The wood is gone."],
        "omp",
    )

    assert "E1: no such wood" in text
    assert details["lacking"] == ["## Goal"]
    assert details["leftOut"] == 4
    assert details["fidelity"] == {"score": 0.0, "madeUp": ["src/made_up.py"]}
