"""What has the right form and could never be is told with its place, when the story is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.scenario.errors import ENOUGH, Misfit, ScenarioError
from sapwood.scenario.language import Place, Story
from sapwood.scenario.loading import load
from sapwood.scenario.structuring import fit


def fitted(**keys: Any) -> Story:
    return fit({"title": "x", "steps": [], **keys}, lambda _: 1)


def generating(**asked: int) -> dict[str, Any]:
    return {"session": {"generated": asked}}


def answering(**answer: Any) -> dict[str, Any]:
    return {"answers": {"turn": [{"text": "fine"}, answer]}}


AT = ("answers", "turn", 1)

NONSENSE: list[tuple[dict[str, Any], Place, str]] = [
    (answering(ends="pending"), (*AT, "ends"), "no answer ends with pending"),
    (answering(ends="aborted"), (*AT, "ends"), "a step aborts it"),
    (answering(ends="error"), (*AT, "ends"), "add an error"),
    (answering(ends="stop", error="no"), (*AT, "ends"), "leave this out"),
    (answering(usage={"input": -1}), (*AT, "usage", "input"), "from 0 to 999,999,999,999: no call takes -1"),
    (answering(usage={"cacheWrite1h": 10**12}), (*AT, "usage", "cacheWrite1h"), "no call takes 1000000000000"),
    (
        answering(usage={"cost": {"input": 1, "output": -0.5, "cacheRead": 0, "cacheWrite": 0, "total": 1}}),
        (*AT, "usage", "cost", "output"),
        "no call takes -0.5",
    ),
    ({"answers": {"compaction": [{"ends": "pending"}]}}, ("answers", "compaction", 0, "ends"), "pending"),
    ({"tools": {"two words": {}}}, ("tools", "two words"), "a tool is named by letters, digits, _ and -"),
    ({"tools": {"x" * 65: {}}}, ("tools", "x" * 65), "up to 64"),
    ({"tools": {"": {}}}, ("tools", ""), "a tool is named by"),
    *[
        (
            {"tools": {"it": {"takes": {name: "text"}}}},
            ("tools", "it", "takes", name),
            "an argument is named as in Python",
        )
        for name in ("two words", "class", "1st", "", "context_", "__init__")
    ],
    (generating(turns=10_001), ("session", "generated", "turns"), "must be at most 10,000, not 10,001"),
    (generating(turns=1, calls=101), ("session", "generated", "calls"), "must be at most 100, not 101"),
    (generating(turns=1, words=10_001), ("session", "generated", "words"), "must be at most 10,000, not 10,001"),
    (generating(turns=2, branches=3), ("session", "generated", "branches"), "must be at most 2, not 3"),
    (generating(turns=251, words=9_981), ("session", "generated"), "more than 5,000,000 words"),
    ({"expect": {"usage": "half"}}, ("expect", "usage"), "must be such as 41.2%/200000"),
    (
        {"steps": [{"prompt": "hi", "expect": {"usage": "?"}}]},
        ("steps", 0, "expect", "usage"),
        "... for any, not '?'",
    ),
]


@pytest.mark.parametrize(("keys", "place", "message"), NONSENSE)
def test_nonsense_is_told_with_its_place(keys: dict[str, Any], place: Place, message: str) -> None:
    """It used to be played: as expected, or with Python's own words."""
    with pytest.raises(Misfit) as caught:
        fitted(**keys)
    assert caught.value.place == place
    assert message in caught.value.message
    assert caught.value.others == ()


@pytest.mark.parametrize(
    "keys",
    [
        answering(ends="error", error="no"),
        answering(error="no"),
        answering(ends="length", usage={"input": 0, "output": 10**12 - 1}),
        generating(turns=10_000, calls=100, words=0, branches=10_000),
        generating(turns=250, words=10_000),
        {"tools": {"a-tool_1": {"takes": {"größe": "number", "_x": "text"}}}},
        *[{"expect": {"usage": usage}} for usage in ("41.2%/200000", "?/200000", "...", "41...", "5%/1")],
    ],
)
def test_what_may_be_is_taken(keys: dict[str, Any]) -> None:
    fitted(**keys)


def test_no_more_is_told_than_can_be_read() -> None:
    with pytest.raises(Misfit) as caught:
        fitted(answers={"turn": [{"ends": "pending"}] * 1000})
    assert len(caught.value.others) == ENOUGH - 1


def test_it_is_told_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("title: x\nanswers:\n  turn:\n    - text: a\n      usage:\n        input: -1\nsteps: []\n")
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert (caught.value.line, caught.value.others) == (6, ())
