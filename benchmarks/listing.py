"""What it costs to list a thousand sessions, beside Pi's own list of the same folder.

The sessions are of 140 kB, two hundred entries each; a real one has more, and costs us no more than these. Pi reads each whole, in a Node
process of its own that tells its CPU time. What both are asked for is the list from the first to the last, sorted.

    uv run python -m benchmarks listing
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, cast

import msgspec

from benchmarks.harness import Ratio, compare_costs, measure
from benchmarks.opening import HEADER
from benchmarks.projecting import entry
from sapwood import Environment, ListedSession
from sapwood.events.codec import encode_entry, encode_header
from sapwood.events.ids import SessionId
from sapwood.listing import listing, looked_for
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle

SESSIONS: Final = 1_000
ENTRIES: Final = 200
BOUND: Final = 0.1
"""Asked for."""
ROUNDS: Final = 2
"""Pi takes seconds for each."""


def written(folder: Path) -> Path:
    """A folder of sessions."""
    lines = b"\n".join([*(encode_entry(entry(nth)) for nth in range(ENTRIES)), b""])
    for number in range(SESSIONS):
        header = msgspec.structs.replace(HEADER, id=SessionId(f"s{number}"))
        (folder / f"{number}.jsonl").write_bytes(encode_header(header) + b"\n" + lines)
    return folder


def ours(folder: Path) -> None:
    """The list from the first to the last."""
    found = [one for one in listing(looked_for([folder], None, None), Environment()) if isinstance(one, ListedSession)]
    assert len(found) == SESSIONS  # noqa: S101 - a list that lacks some would be cheap


def pis(pi: Oracle, folder: Path) -> float:
    """Pi's CPU seconds for the same."""
    answer = pi.ask({"op": "listing", "dir": str(folder), "cwd": HEADER.cwd})
    assert answer["sessions"] == SESSIONS  # noqa: S101 - as above
    return cast("float", answer["seconds"])


def run() -> Iterator[Ratio]:
    """Our list over Pi's."""
    with tempfile.TemporaryDirectory() as name:
        folder = written(Path(name))
        try:
            with Oracle(patience=120) as pi:
                yield compare_costs(
                    f"list {SESSIONS:,} sessions / Pi's list of them",
                    partial(measure, partial(ours, folder)),
                    partial(pis, pi, folder),
                    bound=BOUND,
                    rounds=ROUNDS,
                )
        except PiUnavailable as why:
            print(f"skipped: {why.reason}")


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
