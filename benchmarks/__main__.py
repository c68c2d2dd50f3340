"""Run every benchmark there is; exit 1 if one is over its bound."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.harness import Ratio

NOT_BENCHMARKS = {"__init__", "__main__", "harness"}


def main() -> int:
    """Print a line a figure; a module's `run()` gives its figures."""
    return report(
        figure for name in sys.argv[1:] or found() for figure in importlib.import_module(f"benchmarks.{name}").run()
    )


def found() -> list[str]:
    """Every module here that is a benchmark."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NOT_BENCHMARKS)


def report(figures: Iterable[Ratio]) -> int:
    """Print them as they come; 1 if one is over its bound, or there is none."""
    holds: list[bool] = []
    for figure in figures:
        print(figure, flush=True)
        holds.append(figure.holds)
    return 0 if holds and all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
