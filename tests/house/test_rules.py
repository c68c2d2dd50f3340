"""A rule that the code names has a line in docs/rules.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.layout import ROOT, name_of, sources

PAGE = ROOT / "docs" / "rules.md"
NAME = re.compile(r"\b[A-Z][0-9]{1,2}\b")
LINE = re.compile(r"^\| ([A-Z][0-9]{1,2}) \| \S.*\|$", re.MULTILINE)


def told() -> list[str]:
    return LINE.findall(PAGE.read_text(encoding="utf-8"))


def unknown(root: Path, rules: set[str]) -> list[str]:
    """Each place that names a rule without a line, as a sentence."""
    pages = [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))]
    return [
        f"{name_of(root, path)}:{number} names {rule}, which docs/rules.md does not tell"
        for path in [*sources(root), *pages]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for rule in NAME.findall(line)
        if rule not in rules
    ]


def test_every_rule_that_is_named_is_told_once() -> None:
    assert unknown(ROOT, set(told())) == []
    assert len(told()) == len(set(told()))


@pytest.mark.parametrize("path", ["events/a.py", "docs/a.md"])
def test_a_rule_that_is_told_nowhere_is_noticed(path: str, tmp_path: Path) -> None:
    file = tmp_path / path
    file.parent.mkdir()
    file.write_text("# as it must (S4, Q7)\n", encoding="utf-8")

    assert unknown(tmp_path, {"S4"}) == [f"{path}:1 names Q7, which docs/rules.md does not tell"]
