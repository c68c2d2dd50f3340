"""A fault that a test names has a line in tests/faults/README.md."""

from __future__ import annotations

import re
from pathlib import Path

from tests.house.layout import ROOT, name_of

PAGE = ROOT / "tests" / "faults" / "README.md"
CODE = re.compile(r"\b[ABDEFGHIJKLMNO][0-9]{2}\b|(?<=\bdef test_)[abdefghijklmno][0-9]{2}(?=_)")
AMONG_FAULTS = re.compile(r"\bC[0-9]{2}\b|(?<=\bdef test_)c[0-9]{2}(?=_)")
"""Elsewhere this is the name of a rule of compaction (docs/rules.md)."""
LINE = re.compile(r"^\| ([ABCDEFGHIJKLMNO][0-9]{2}) \| \S.*\|$", re.MULTILINE)


def used(root: Path) -> dict[str, str]:
    """Each code that the tests name, and one place where."""
    return {
        code.upper(): f"{name_of(root, path)}:{number}"
        for path in sorted((root / "tests").rglob("*.py"))
        if path.relative_to(root).parts[1] != "house"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for pattern in ([CODE, AMONG_FAULTS] if path.parent.name == "faults" else [CODE])
        for code in pattern.findall(line)
    }


def test_every_fault_that_is_named_is_told_once() -> None:
    told = LINE.findall(PAGE.read_text(encoding="utf-8"))

    assert {code: where for code, where in used(ROOT).items() if code not in told} == {}
    assert len(told) == len(set(told))


def test_a_rule_of_compaction_is_no_fault(tmp_path: Path) -> None:
    for folder in ("faults", "actors"):
        file = tmp_path / "tests" / folder / "test_a.py"
        file.parent.mkdir(parents=True)
        file.write_text("def test_c97_and_b96() -> None: ...  # C98\n", encoding="utf-8")

    assert used(tmp_path) == {"C97": "tests/faults/test_a.py:1", "C98": "tests/faults/test_a.py:1"}


def test_a_fault_is_named_in_words_and_in_the_names_of_tests(tmp_path: Path) -> None:
    file = tmp_path / "tests" / "faults" / "test_a.py"
    file.parent.mkdir(parents=True)
    file.write_text('"""As it must (D99)."""\nasync def test_n98_it_does() -> None: ...\nid = "E9"\n', encoding="utf-8")

    assert used(tmp_path) == {"D99": "tests/faults/test_a.py:1", "N98": "tests/faults/test_a.py:2"}
