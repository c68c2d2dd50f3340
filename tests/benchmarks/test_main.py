"""Every benchmark is found, and one broken bound fails the run."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from benchmarks.__main__ import NOT_BENCHMARKS, found, report
from benchmarks.harness import limit
from tests.house.layout import ROOT


def test_every_module_is_a_benchmark_or_known_not_to_be() -> None:
    modules = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}

    assert set(found()) == modules - NOT_BENCHMARKS
    assert modules >= NOT_BENCHMARKS
    for name in found():
        assert callable(importlib.import_module(f"benchmarks.{name}").run), Path(name)


def test_a_table_of_what_holds_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([limit("speed", 1.0, 2.0), limit("size", 2.0, 2.0)]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["speed", "size"]


def test_one_broken_bound_fails_it_and_the_others_are_still_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([limit("speed", 3.0, 2.0), limit("size", 1.0, 2.0)]) == 1
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["BROKEN", "holds"]


def test_nothing_measured_is_no_pass() -> None:
    assert report([]) == 1
