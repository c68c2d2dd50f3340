"""Run every benchmark there is; exit 1 if one is over its bound."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.harness import Ratio

NOT_BENCHMARKS = {"__init__", "__main__", "harness"}


def main() -> int:
    """Print a line a figure; a module's `run()` gives its figures."""
    wanted = sys.argv[1:] or sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NOT_BENCHMARKS
    )
    ratios: list[Ratio] = []
    for name in wanted:
        for ratio in importlib.import_module(f"benchmarks.{name}").run():
            print(ratio, flush=True)
            ratios.append(ratio)
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
