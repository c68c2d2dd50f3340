"""How two pieces of work are compared: in one run, in turn, by CPU time, as a ratio.

1. A and B run in turn, A B A B …, so that a machine that slows down slows both.
2. What counts is CPU time of the process, its children's included; wall time says more about the neighbours.
3. The ratio is of the best of each; the spread is of the pairs. A time alone means nothing and is not printed as a result.
"""

from __future__ import annotations

import gc
import resource
import subprocess
import time
from collections.abc import Callable
from typing import Final

import attrs

ROUNDS: Final = 7
"""The best of seven: a single round is off by a third where others are at work."""

MOST: Final = 8
"""How often seven rounds are measured before a bound counts as broken."""


@attrs.frozen
class Ratio:
    """What came of a comparison."""

    name: str
    value: float
    """Best of A over best of B."""
    lowest: float
    highest: float
    """Of the pairs."""
    bound: float

    @property
    def holds(self) -> bool:
        return self.value <= self.bound

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "BROKEN"
        spread = f"{self.lowest:.2f} to {self.highest:.2f}"
        return f"{self.name:<58} {self.value:6.2f}  (pairs {spread})  at most {self.bound:.2f}: {verdict}"


def cpu_seconds() -> float:
    """CPU time of this process and of its children that ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def measure(work: Callable[[], object]) -> float:
    """CPU seconds of one call, with the garbage of others swept first and none collected in between."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        started = cpu_seconds()
        work()
        return cpu_seconds() - started
    finally:
        if collecting:
            gc.enable()


def compare(
    name: str, a: Callable[[], object], b: Callable[[], object], *, bound: float, rounds: int = ROUNDS
) -> Ratio:
    """A over B by CPU time: at most `bound`, or the benchmark is broken."""
    a()
    b()
    return compare_costs(name, lambda: measure(a), lambda: measure(b), bound=bound, rounds=rounds)


def compare_costs(
    name: str, a: Callable[[], float], b: Callable[[], float], *, bound: float, rounds: int = ROUNDS
) -> Ratio:
    """A over B by what each says that it has cost."""
    pairs: list[tuple[float, float]] = []
    for _ in range(MOST):  # a neighbour may spoil a round of seven; a bound that is really broken stays broken
        pairs += [(a(), b()) for _ in range(rounds)]
        if min(one for one, _ in pairs) <= bound * min(other for _, other in pairs):
            break
    ratios = [one / other for one, other in pairs]
    best = min(one for one, _ in pairs) / min(other for _, other in pairs)
    return Ratio(name, best, min(ratios), max(ratios), bound)


def elapsed(work: Callable[[], object]) -> float:
    """Seconds of one call, waiting included: for work that waits for a disk."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def command(*words: str) -> Callable[[], object]:
    """A process as a piece of work: what it uses counts when it has ended."""
    return lambda: subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def limit(name: str, value: float, bound: float) -> Ratio:
    """A figure that has a limit of its own (megabytes, seconds of CPU), in the same table."""
    return Ratio(name, value, value, value, bound)
