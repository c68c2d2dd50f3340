"""What it costs to plan a compaction on a long branch: against Pi's `prepareCompaction`, and how long it holds up the loop.

The branch has a hundred thousand entries and no compaction yet, so all of it is in the selection. Ours is what a checkpoint asks for: the
selection, its end counted, and the plan. Pi runs in a Node process of its own and tells its CPU time.

A branch that fills a window of two hundred thousand tokens is what a checkpoint really meets; the same work on it is shown beside that.

    uv run python -m benchmarks planning
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, cast

from benchmarks.harness import Ratio, compare_costs, limit
from benchmarks.opening import HEADER, TIME, opened
from sapwood.actors.compaction.plan import Plan, plan
from sapwood.actors.projection.counts import Counts
from sapwood.actors.projection.fold import Fold
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.content import TextContent
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import NO_USAGE, AssistantMessage, UserMessage
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle

ENTRIES: Final = 100_000
WINDOW: Final = 2_600
"""Entries of this size that come to some 200,000 tokens."""
KEEP: Final = 20_000
TEXT: Final = "where a compaction cuts goes by what its end counts, " * 6
TIMES: Final = 3

PI_BOUND: Final = 0.2
STRETCH_BOUND: Final = 0.05
"""Seconds: so long nobody else gets his turn."""
CHECKPOINT_BOUND: Final = 0.01
"""Seconds: as little as this is not worth preparing (docs/decisions.md)."""


def line(number: int) -> bytes:
    content, parent = (TextContent(text=TEXT),), EntryId(f"{number - 1:08x}") if number else None
    said = (
        AssistantMessage(
            content=content, api="x", provider="p", model="m", usage=NO_USAGE, stop_reason="stop", timestamp=number
        )
        if number % 2
        else UserMessage(content=content, timestamp=number)
    )
    return encode_entry(MessageEntry(id=EntryId(f"{number:08x}"), parent_id=parent, timestamp=TIME, message=said))


def planned(fold: Fold) -> None:
    surveyed = fold.survey(2 * KEEP)
    made = plan(surveyed, KEEP)
    if not isinstance(made, Plan) or len(made.history) < len(surveyed.entries) // 2:
        raise AssertionError(f"this is no plan of the whole branch: {made!s:.200}")


def several(fold: Fold) -> float:
    started = time.process_time()
    for _ in range(TIMES):
        planned(fold)
    return time.process_time() - started


def stretch(fold: Fold) -> float:
    """Seconds of CPU of one plan: the best of some, for a neighbour is no fault of ours."""
    return min(several(fold) / TIMES for _ in range(5))


def pis(path: Path) -> float:
    with Oracle(patience=120) as pi:
        asked = {"op": "planning", "path": str(path), "keep": KEEP, "times": TIMES}
        return cast("float", pi.ask(asked)["seconds"])


@contextmanager
def branch(path: Path, entries: int) -> Generator[Fold]:
    """A branch of so many entries, folded."""
    path.write_bytes(b"\n".join([encode_header(HEADER), *map(line, range(entries)), b""]))
    store = opened(path, read_only=True)
    try:
        fold = Fold(View(store), Counts())
        fold.pull()
        yield fold
    finally:
        store.close()


def run() -> Iterator[Ratio]:
    """Ours over Pi's, on one branch; and the longest stretch of ours."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.jsonl"
        with branch(Path(folder) / "window.jsonl", WINDOW) as fold:
            yield limit("seconds of the loop that a plan on a full window takes", stretch(fold), CHECKPOINT_BOUND)
        with branch(path, ENTRIES) as fold:
            yield limit(f"seconds of the loop that a plan on {ENTRIES:,} entries takes", stretch(fold), STRETCH_BOUND)
            try:
                yield compare_costs(
                    f"plan on {ENTRIES:,} entries / Pi's",
                    partial(several, fold),
                    partial(pis, path),
                    bound=PI_BOUND,
                    rounds=2,
                )
            except PiUnavailable as unavailable:
                print(f"skipped: {unavailable.reason}")


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
