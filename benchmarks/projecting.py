"""What a turn costs at the projection: append, count, decide. Against itself in a longer session; and against Pi, which builds it all anew.

Tokens are counted by the counter that a host has by default, in place. The sessions have a compaction in each hundred entries, as long
ones have, and so have the turns that are measured. Pi runs in a Node process of its own and tells its CPU time. A move costs the path that
it comes to, however long the session is.

    uv run python -m benchmarks projecting
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, cast

from benchmarks.harness import Ratio, compare, compare_costs
from benchmarks.opening import HEADER, TIME, opened
from sapwood.actors.projection.counts import CounterSource, Counts
from sapwood.actors.projection.fold import Fold
from sapwood.actors.projection.tokenizer import counter_source
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.content import TextContent
from sapwood.events.entries import Compaction, KnownEntry, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, Usage, UserMessage
from sapwood.store.jsonl import JsonlStore
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle

SIZES: Final = (100, 10_000, 100_000)
EVERY: Final = 100
"""Entries from one compaction to the next."""
KEPT: Final = 20
TEXT: Final = "the compaction of a session keeps what it can of the tree, " * 10
TIMES: Final = 100
"""Turns a round: one compaction among them."""

FLAT_BOUND: Final = 1.5
PI_BOUND: Final = 0.03
"""Of what Pi pays for one context in a session of ten thousand entries. It is 0.01 by the rule of thumb, which is how Pi counts; to count
exactly costs as much again."""
MOVE_BOUND: Final = 1.5
PLACE: Final = 5_000
"""Where a move goes."""
MOVES: Final = 10
"""One is as short as the clock's own grain."""
ROUNDS: Final = 5
"""The best of five: each round has a hundred turns."""


def name(number: int) -> EntryId:
    """As long as Pi's."""
    return EntryId(f"{number:08x}")


def entry(number: int) -> KnownEntry:
    """The nth entry: questions and answers by turns, and in the middle of each hundred a compaction."""
    parent = name(number - 1) if number else None
    if number % EVERY == EVERY // 2:
        return Compaction(
            id=name(number),
            parent_id=parent,
            timestamp=TIME,
            summary=TEXT,
            first_kept_entry_id=name(number - KEPT),
            tokens_before=100_000,
        )
    content = (TextContent(text=TEXT),)
    if number % 2:
        message = AssistantMessage(
            content=content,
            api="x",
            provider="p",
            model="m",
            usage=Usage.of(input=10_000 + number % EVERY, output=50),
            stop_reason="stop",
            timestamp=number,
        )
        return MessageEntry(id=name(number), parent_id=parent, timestamp=TIME, message=message)
    return MessageEntry(
        id=name(number), parent_id=parent, timestamp=TIME, message=UserMessage(content=content, timestamp=number)
    )


def written(path: Path, entries: int) -> Path:
    """A session of so many entries."""
    path.write_bytes(b"\n".join([encode_header(HEADER), *(encode_entry(entry(nth)) for nth in range(entries)), b""]))
    return path


class Turns:
    """A session that is open, and goes on where the last round ended."""

    def __init__(self, path: Path, source: CounterSource) -> None:
        self.store: JsonlStore = opened(path, read_only=False)
        self.view = View(self.store)
        self.fold = Fold(self.view, Counts(source))
        self.fold.pull()

    def append(self) -> None:
        """The next entry, as the log's actor appends one."""
        number = len(self.view)
        new = entry(number)
        self.store.append([encode_entry(new)])
        self.view.remember(number, new)

    def turns(self) -> None:
        """Append, count, decide, an entry at a time."""
        for _ in range(TIMES):
            self.append()
            self.fold.pull()
            self.fold.measure()

    def decide(self) -> float:
        """Seconds of CPU of the same turns without the appends, which Pi's figure leaves out as well."""
        cost = 0.0
        for _ in range(TIMES):
            self.append()
            started = time.process_time()
            self.fold.pull()
            self.fold.measure()
            cost += time.process_time() - started
        return cost

    def move(self, place: int) -> None:
        """To an entry far above, over and over: each makes the selection there anew."""
        for _ in range(MOVES):
            self.fold.select(place)
            self.fold.measure()


def pis(path: Path) -> float:
    """Seconds of CPU for as many contexts, by Pi, in a process of its own: as long as a session is, its compiler is still at work."""
    with Oracle() as pi:
        return cast("float", pi.ask({"op": "rebuilding", "path": str(path), "times": TIMES})["seconds"])


def run() -> Iterator[Ratio]:
    """Turns late over turns early, twice; ours over Pi's; a move in a long session over the same in a short one."""
    with tempfile.TemporaryDirectory() as folder:
        counter = counter_source()
        few, many, most = (Turns(written(Path(folder) / f"{size}.jsonl", size), counter) for size in SIZES)
        for size, late in ((SIZES[1], many), (SIZES[2], most)):
            name = f"append, count, decide behind {size:,} entries / behind {SIZES[0]}"
            yield compare(name, late.turns, few.turns, bound=FLAT_BOUND, rounds=ROUNDS)
        yield compare(
            f"move in {SIZES[2]:,} entries / the same in {SIZES[1]:,}",
            partial(most.move, PLACE),
            partial(many.move, PLACE),
            bound=MOVE_BOUND,
            rounds=ROUNDS,
        )
        try:
            original = written(Path(folder) / "pi.jsonl", SIZES[1])
            yield compare_costs(
                f"count and decide behind {SIZES[1]:,} entries / Pi builds its context",
                many.decide,
                partial(pis, original),
                bound=PI_BOUND,
                rounds=2,
            )
        except PiUnavailable as unavailable:
            print(f"skipped: {unavailable.reason}")
        for one in (few, many, most):
            one.store.close()


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
