"""What it costs to fork a session file, beside Pi's own copies of it: of the whole file, and of the path to an entry.

A session of 14 MB, twenty thousand entries on one branch. Both open the file for it. Pi runs in a Node process of its own and tells its
CPU time.

    uv run python -m benchmarks forking
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, cast

from benchmarks.harness import Ratio, compare_costs, measure
from benchmarks.opening import HEADER
from benchmarks.projecting import name, written
from sapwood import EntryId, fork
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle

ENTRIES: Final = 20_000
LEAF: Final = name(ENTRIES - 2)
BOUND: Final = 0.6
"""0.5 is the goal. 0.34 for a whole session and 0.42 to 0.49 for a path is measured; a guard on the goal would break by its neighbours."""
ROUNDS: Final = 4


def ours(path: Path, entry_id: EntryId | None) -> None:
    """A fork, which is removed again."""
    made = fork(path, entry_id, whole_tree=entry_id is None)
    Path(made.path).unlink()


def pis(pi: Oracle, path: Path, entry_id: EntryId | None) -> float:
    """Pi's CPU seconds for the same."""
    question = {"op": "forking", "path": str(path), "dir": str(path.parent), "cwd": HEADER.cwd, "leaf": entry_id}
    return cast("float", pi.ask(question)["seconds"])


def run() -> Iterator[Ratio]:
    """Our forks over Pi's."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "long.jsonl", ENTRIES)
        try:
            with Oracle(patience=120) as pi:
                for what, entry_id in (("a whole session", None), ("the path to an entry", LEAF)):
                    yield compare_costs(
                        f"fork {what} of {ENTRIES:,} entries / Pi's fork of it",
                        partial(measure, partial(ours, path, entry_id)),
                        partial(pis, pi, path, entry_id),
                        bound=BOUND,
                        rounds=ROUNDS,
                    )
        except PiUnavailable as why:
            print(f"skipped: {why.reason}")


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
