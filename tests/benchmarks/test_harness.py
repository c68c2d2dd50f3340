"""Comparing is fair: in turn, by CPU time, as a ratio, and a broken bound is told."""

from __future__ import annotations

import gc
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from benchmarks import harness
from benchmarks.harness import Ratio, command, compare, compare_costs, elapsed, limit, measure

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_two_run_in_turn_and_once_before_it_counts() -> None:
    ran: list[str] = []

    def work(name: str) -> None:
        ran.append(name)
        sum(range(500_000))  # enough to be seen by a clock of the CPU

    compare("a / b", partial(work, "a"), partial(work, "b"), bound=100, rounds=3)

    assert "".join(ran) == "ab" * 4


def test_the_ratio_is_of_the_best_and_the_spread_of_the_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 4.0, 4.0, 6.0, 6.0, 9.0, 9.0, 10.0])  # a: 4 and 3, b: 2 and 1
    monkeypatch.setattr(harness, "cpu_seconds", lambda: next(clock))

    ratio = compare("a / b", lambda: None, lambda: None, bound=3.0, rounds=2)

    assert ratio == Ratio("a / b", value=3.0, lowest=2.0, highest=3.0, bound=3.0)
    assert ratio.holds
    assert str(ratio).split() == [
        "a",
        "/",
        "b",
        "3.00",
        "(pairs",
        "2.00",
        "to",
        "3.00)",
        "at",
        "most",
        "3.00:",
        "holds",
    ]


def test_a_spoilt_round_is_measured_again_and_a_broken_bound_stays_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = iter([9.0, 1.0, 2.0, 1.0, *[9.0, 1.0] * harness.MOST])

    def measured(_work: Callable[[], object]) -> float:
        return next(costs)

    monkeypatch.setattr(harness, "measure", measured)

    mended = compare("a / b", lambda: None, lambda: None, bound=3.0, rounds=1)
    broken = compare("a / b", lambda: None, lambda: None, bound=3.0, rounds=1)

    assert (mended.value, mended.holds) == (2.0, True)
    assert (broken.value, broken.holds) == (9.0, False)


def test_what_two_say_of_themselves_is_compared_in_turn() -> None:
    costs = iter([4.0, 2.0, 3.0, 1.0])

    ratio = compare_costs("a / b", lambda: next(costs), lambda: next(costs), bound=3.0, rounds=2)

    assert ratio == Ratio("a / b", value=3.0, lowest=2.0, highest=3.0, bound=3.0)


def test_waiting_counts_where_the_clock_does(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([5.0, 7.5])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))

    assert elapsed(lambda: None) == 2.5


def test_a_bound_that_is_broken_is_told() -> None:
    assert limit("megabytes", 41.0, 40.0).holds is False
    assert str(limit("megabytes", 41.0, 40.0)).endswith("BROKEN")


def test_no_garbage_is_collected_while_it_counts_and_all_is_as_before() -> None:
    seen: list[bool] = []

    measure(lambda: seen.append(gc.isenabled()))

    assert (seen, gc.isenabled()) == ([False], True)


def test_a_collector_that_was_off_stays_off_and_a_failure_leaves_all_as_it_was() -> None:
    gc.disable()
    try:
        measure(lambda: None)
        assert not gc.isenabled()
    finally:
        gc.enable()
    with pytest.raises(ZeroDivisionError):
        measure(lambda: 1 / 0)
    assert gc.isenabled()


def test_waiting_does_not_count() -> None:
    assert measure(lambda: time.sleep(0.1)) < 0.05  # a clock on the wall would say 0.1


@pytest.mark.slow
def test_what_a_process_uses_counts() -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass"

    assert measure(command(sys.executable, "-I", "-c", busy)) >= 0.19
