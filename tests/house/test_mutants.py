"""Breaking a core turns its own test file red."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.layout import ROOT, is_pure, name_of, sources
from tests.house.mutants import mutants

A_CORE = 3
"""Mutants a core: enough to see that a test file looks at its source, few enough to run in every full suite."""

QUICK = ["-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=quick"]

EQUIVALENT: dict[str, str] = {}
"""What a mutant says of itself, and why no test can tell it from the source."""


def cores() -> list[str]:
    names = [name_of(ROOT, path) for path in sources(ROOT)]
    return [
        name
        for name in names
        if is_pure(name) and (ROOT / "tests" / Path(name).parent / f"test_{Path(name).name}").exists()
    ]


def copied(folder: Path) -> Path:
    """The rooms, the tests and the settings, links kept."""
    for name in ("actors", "events", "store", "sapwood", "tests", "scenarios"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def turns_red(tree: Path, source: str) -> bool:
    test = tree / "tests" / Path(source).parent / f"test_{Path(source).name}"
    done = subprocess.run(
        [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "--hypothesis-profile=quick",
            str(test),
        ],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode != 0


@pytest.mark.full
@pytest.mark.parametrize("name", cores())
def test_breaking_a_core_turns_its_tests_red(name: str, tmp_path: Path) -> None:
    faults = mutants((ROOT / name).read_text(encoding="utf-8"), A_CORE)
    if not faults:
        pytest.skip(f"{name} only declares: there is no behaviour to break")
    tree = copied(tmp_path)
    survivors: list[str] = []
    for faulty, what in faults:
        (tree / name).write_text(faulty, encoding="utf-8")
        if f"{name} {what}" not in EQUIVALENT and not turns_red(tree, name):
            survivors.append(what)
    assert survivors == []


SOURCE = '''
def f(a: int, b: int) -> bool:
    """Whether a == b."""
    if not a:
        raise ValueError("a == 0")
    return a == b and a > 0
'''


def test_every_mutant_differs_and_leaves_docstrings_and_messages_alone() -> None:
    made = mutants(SOURCE, 10)

    assert len({text for text, _ in made}) == len(made) == 5
    for text, _ in made:
        assert '"""Whether a == b."""' in text
        assert "ValueError('a == 0')" in text


def test_the_choice_is_the_same_each_time_and_as_large_as_asked_for() -> None:
    assert mutants(SOURCE, 2) == mutants(SOURCE, 2)
    assert len(mutants(SOURCE, 2)) == 2
    assert mutants("x = 1", 3) == []
