"""A suite of a host's own, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.sapwood.scenario.stories import TALK, written

ROOT = Path(__file__).parents[2]
PROBE = """
import sys

def test_nothing_heavy_was_imported():
    assert "sapwood.pytest_plugin" in sys.modules
    assert not {"trio", "msgspec", "httpx", "sapwood.scenario"} & sys.modules.keys()
"""


def suite(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "sapwood.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-q",
        str(folder),
    ]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_each_story_is_a_test_and_its_differences_are_told(tmp_path: Path) -> None:
    written(tmp_path, TALK, "good.scenario.yaml")
    written(tmp_path, TALK + "expect: {state: run}\n", "bad.scenario.yaml")
    written(tmp_path, "titel: x\n", "wrong.scenario.yaml")
    written(tmp_path, "no: story\n", "other.yaml")

    done = suite(tmp_path)

    assert done.returncode == 1
    assert "2 failed, 1 passed" in done.stdout
    assert "bad.scenario.yaml:6: state at the end: not as expected" in done.stdout
    assert "wrong.scenario.yaml:1: titel: unknown key 'titel': did you mean 'title'?" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.slow
def test_a_suite_without_stories_imports_nothing_for_them(tmp_path: Path) -> None:
    (tmp_path / "test_probe.py").write_text(PROBE)

    done = suite(tmp_path)

    assert done.returncode == 0, done.stdout


def test_pytest_finds_it_by_itself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["entry-points"]["pytest11"] == {"sapwood": "sapwood.pytest_plugin"}
