"""Sweeps, shared out and told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.sweeps import SHOWN_FAULTS, Sweep, SweptStory, sweep_all, to_json, told
from sapwood.scenario.sweeping import Fault, Swept
from sapwood.words.wording import plain
from tests.sapwood.scenario.stories import TALK, written


def sweep(path: Path, *, seeds: int = 2, crash: bool = False) -> Sweep:
    return Sweep(path=str(path), store="memory", seeds=seeds, crash=crash)


@pytest.mark.slow
def test_what_is_shared_out_comes_back_in_its_order(tmp_path: Path) -> None:
    sweeps = [
        sweep(written(tmp_path, TALK, "a.yaml")),
        sweep(written(tmp_path, "titel: x\n", "b.yaml")),
        sweep(written(tmp_path, TALK + "expect: {state: run}\n", "c.yaml")),
    ]

    alone, shared = list(sweep_all(sweeps, 1)), list(sweep_all(sweeps, 2))

    assert [to_json(done) for done in alone] == [to_json(done) for done in shared]
    good, wrong, bad = alone
    assert (good.swept.orders, good.swept.faults, good.error) == (2, (), ())
    assert "did you mean 'title'?" in wrong.error[0]
    assert len(bad.swept.faults) == 2
    assert [done.case().error is None for done in shared] == [True, False, True]


def test_a_fault_of_ours_is_told_and_the_others_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Swept:
        raise KeyError("oops")

    monkeypatch.setattr("sapwood.cli.sweeps.orders", broken)

    [done] = sweep_all([sweep(written(tmp_path, TALK))], 1)

    assert "by a fault of sapwood's own: please report it (KeyError: 'oops')" in done.error[0]
    assert list(told(done)) == [], "it is told on the standard error"


def test_a_story_is_a_line_and_so_is_each_fault(tmp_path: Path) -> None:
    many = tuple(Fault(f"seed {n}", "another log") for n in range(SHOWN_FAULTS + 3))
    one = Sweep(path="a.yaml", store=None, seeds=20, crash=True)

    good = SweptStory(sweep=one, swept=Swept(orders=20, crashes=9, same=7, deaths=1), seconds=1.25)
    bad = SweptStory(sweep=one, swept=Swept(orders=20, faults=many), seconds=1.25)

    assert [plain(line) for line in told(good)] == [
        "a.yaml: as expected: 20 orders, 9 crashes (2 left another log), 1 death  1.2 s"
    ]
    lines = [plain(line) for line in told(bad)]
    assert lines[0].startswith(f"a.yaml: {len(many)} faults: ")
    assert lines[1] == "    seed 0: another log"
    assert lines[-1] == "    and 3 more"
    assert len(lines) == SHOWN_FAULTS + 2
