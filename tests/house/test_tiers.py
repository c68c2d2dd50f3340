"""The ordinary run is the same each time; the full one leaves nothing out, draws anew, and can be repeated from the seed that it names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.layout import ROOT

pytestmark = pytest.mark.slow

TESTS = """
import pytest
from hypothesis import given, strategies

drawn = []

@given(strategies.integers())
def test_draw(number):
    drawn.append(number)

@pytest.mark.full
def test_of_the_full_run():
    pass

def test_tell():
    print("drew", len(drawn), hash(tuple(drawn)))
"""
SETTINGS = "[pytest]\nmarkers =\n full\n live"
WITHOUT_A_MODEL = """
import sys

import pytest

sys.modules["xllamacpp"] = None

@pytest.mark.live
def test_of_a_real_model():
    raise AssertionError
"""


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    return tmp_path


def run(place: Path, *options: str, ci: bool = False) -> str:
    """What a run says. Hypothesis has ideas of its own where CI is set."""
    environment = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:xdist", *options],
        cwd=place,
        env={**environment, "CI": "true"} if ci else environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def drew(said: str) -> tuple[int, int]:
    """How many were drawn, and a number that stands for all of them."""
    [(count, digest)] = re.findall(r"drew (\d+) (-?\d+)", said)
    return int(count), int(digest)


def test_the_ordinary_run_leaves_out_the_full_tests_and_draws_the_same_each_time(place: Path) -> None:
    first, second = run(place), run(place, ci=True)

    assert drew(first) == drew(second)
    assert "2 passed, 1 deselected" in first
    assert "seed" not in first


@pytest.mark.full
def test_the_full_run_draws_more_and_anew_and_is_repeated_from_its_seed_on_any_machine(place: Path) -> None:
    first, second = run(place, "--full"), run(place, "--full", ci=True)
    [seed] = re.findall(r"--hypothesis-seed=\d+", first)
    again = run(place, "--full", seed, ci=True)

    assert drew(first) != drew(second)
    assert drew(first) == drew(again)
    assert drew(first)[0] > drew(run(place))[0]
    assert first.splitlines()[-1].startswith("3 passed")


def test_without_the_extra_what_asks_a_real_model_is_skipped_and_the_reason_names_it(place: Path) -> None:
    (place / "test_live.py").write_text(WITHOUT_A_MODEL, encoding="utf-8")

    said = run(place, "-ra")

    assert "2 passed, 1 skipped, 1 deselected" in said
    assert "needs the extra `local`: uv sync --extra local" in said
