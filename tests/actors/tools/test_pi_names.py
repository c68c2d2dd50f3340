"""What Pi's `edit` takes is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.actors.tools.builtin import builtin_tools
from sapwood.actors.tools.pi_names import edit_as_ours
from sapwood.actors.tools.tool import BadArguments
from tests.actors.tools.calling import called, refusal, text
from tests.build import call

OURS = {"path": "a", "edits": [{"old_text": "b", "new_text": "c"}]}
[EDIT] = [one for one in builtin_tools() if one.name == "edit"]


@pytest.mark.parametrize(
    "given",
    [
        OURS,
        {"path": "a", "edits": [{"oldText": "b", "newText": "c"}]},
        {"path": "a", "edits": [{"oldText": "b", "new_text": "c"}]},
        {"path": "a", "oldText": "b", "newText": "c"},
    ],
)
def test_both_names_are_taken_and_what_was_given_stays_as_it_was(given: dict[str, Any], tmp_path: Path) -> None:
    assert edit_as_ours(given) == OURS
    one = call("c1", "edit", **given)
    before = str(one.arguments)
    EDIT.read(one)
    assert str(one.arguments) == before
    (tmp_path / "a").write_text("abc")
    assert text(called(EDIT, tmp_path, **given)).startswith("Replaced text in ")
    assert (tmp_path / "a").read_text() == "acc"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"edits": None},
        {"edits": "oldText"},
        {"edits": [None, 5, ["oldText"]]},
        {"oldText": "b"},
        {"edits": [{"oldText": "x", "old_text": "b", "new_text": "c"}]},
        {"edits": [], "oldText": "b", "newText": "c"},
    ],
)
def test_what_fits_nothing_stays_as_it_is(given: dict[str, Any]) -> None:
    assert edit_as_ours(given) == given


def test_the_model_is_told_of_one_name_alone(tmp_path: Path) -> None:
    assert "oldText" not in str(EDIT.parameters)
    with pytest.raises(BadArguments, match="missing required field `old_text`"):
        EDIT.read(call("c1", "edit", path="a", edits=[{"new_text": "c"}]))
    (tmp_path / "a").write_text("abc")
    assert "x" in refusal(called(EDIT, tmp_path, path="a", edits=[{"oldText": "x", "newText": "c"}]))
