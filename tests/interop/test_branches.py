"""What a move leaves behind is what the real Pi collects, and what a summary is made of is what Pi prepares, but for the departures.

1. `Walk` is the walk with departures to choose from. With none of them it gives what Pi gives, and with all of them what we give.
2. Each of them is seen: without it, in some file, we would not be where we are.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, cast

import msgspec
import pytest

from sapwood import read
from sapwood.actors.navigation.branch import left
from sapwood.events.ids import EntryId
from sapwood.events.messages import (
    Message,
)
from sapwood.events.unknown_fields import split
from sapwood.reading import ReadSession
from tests.interop.trees import KINDS, Row, lines, tree
from tests.interop.walking import EVERY, Departure, Walk, assert_ours
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle

pytestmark = pytest.mark.interop

FEW: Final = 60
MANY: Final = 3_000
"""Files; in each several moves, and each of them prepared for each of `BUDGETS`: more than 200,000 times."""
BATCH: Final = 100
BUDGETS: Final = (-16_384, -1, 0, 1, 2, 5, 10, 16, 25, 50, 10**9)
"""Tokens: what is said in these files has one to twenty a message."""


def with_files(seed: int, rows: list[Row]) -> list[Row]:
    """The rows with other calls, with lists in summaries, more edits of these, and without content that is null: Pi raises for that."""
    chance = Random(seed)  # noqa: S311 - the same file for the same seed is the point

    def paths() -> list[str]:
        return chance.choices("abcdef", k=chance.randrange(3))

    summaries = [row["id"] for row in rows if row["type"] in {"compaction", "branch_summary"}]
    for row in rows:
        if row["type"] == "context_edit" and summaries and chance.random() < 0.3:
            row["targetId"] = chance.choice(summaries)
        message = row.get("message", {})
        if "content" in message and message["content"] is None:
            message["content"] = []
        content = message.get("content")
        for block in cast("list[Row]", content) if isinstance(content, list) else ():
            if block["type"] == "toolCall":
                block["name"] = chance.choice(["read", "write", "edit", "other"])
                block["arguments"] = {"path": chance.choice("abcdef")}
        if row["type"] in {"compaction", "branch_summary"} and chance.random() < 0.7:
            row["details"] = {"readFiles": paths(), "modifiedFiles": paths()}
            row["fromHook"] = chance.random() < 0.3
    return rows


Move = tuple[str | None, str | None]


def moves_in(seed: int, rows: Sequence[Row], leaves: Sequence[str | None]) -> list[Move]:
    """From the end of the file to an entry of two kinds, to itself, to nothing; and between the other leaves."""
    chance = Random(seed + 1)  # noqa: S311 - the same moves for the same seed are the point
    end = str(rows[-1]["id"])
    kinds = sorted({str(row["type"]) for row in rows})
    targets = [chance.choice([str(row["id"]) for row in rows if row["type"] == kind]) for kind in kinds]
    first, other = leaves[0], leaves[1]
    drawn = chance.sample(targets, k=min(3, len(targets)))
    return [*((end, target) for target in drawn), (end, None), (first, other), (other, first), (None, end)]


def plain(message: Message) -> Any:
    return json.loads(msgspec.json.encode(message))


@pytest.fixture(name="pi", scope="module")
def _pi() -> Generator[Oracle]:
    try:
        with Oracle(patience=120) as oracle:
            yield oracle
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


def assert_alike(session: ReadSession, move: Move, pi: dict[str, Any], seen: set[Departure]) -> None:
    """What we collect and prepare is what Pi does, but for the departures. Those that made a difference are added to what is seen."""
    found = session.tree()
    leaf, target = (None if name is None else found.index(EntryId(name)) for name in move)
    was_left = left(found, leaf, target)
    assert [found.id(place) for place in was_left.entries] == pi["entries"]
    assert (None if was_left.common is None else found.id(was_left.common)) == pi["common"]
    entries = [session._view.entry(place) for place in was_left.entries]
    given = [split(one, Message)[0] for one in pi["messages"]]
    as_pi_walks, as_we_walk = Walk(entries, frozenset()), Walk(entries, EVERY)
    otherwise: dict[Departure, Walk] = {one: Walk(entries, EVERY - {one}) for one in EVERY - seen}
    whole = [plain(message) for message in as_pi_walks.within(0).messages]  # there is no limit then
    for budget, answer in zip(BUDGETS, pi["prepared"], strict=True):
        as_pi = as_pi_walks.within(budget)
        assert whole[len(whole) - len(as_pi.messages) :] == given[len(given) - answer["taken"] :]
        assert as_pi.tokens == answer["tokens"]
        assert [*as_pi.files.read] == answer["readFiles"]
        assert [*as_pi.files.modified] == answer["modifiedFiles"]
        as_ours = as_we_walk.within(budget)
        assert_ours(entries, budget, as_ours)
        seen |= {one for one, walk in otherwise.items() if walk.within(budget) != as_ours}


def departures_seen(pi: Oracle, folder: Path, seeds: Sequence[int]) -> tuple[set[Departure], set[str], int]:
    """Which departures made a difference somewhere, which kinds were moved to, and how many moves there were that left something."""
    seen: set[Departure] = set()
    kinds: set[str] = set()
    counted = 0
    for first in range(0, len(seeds), BATCH):
        files: list[dict[str, Any]] = []
        for seed in seeds[first : first + BATCH]:
            rows, leaves = tree(seed)
            path = folder / f"{seed}.jsonl"
            path.write_bytes(lines(with_files(seed, rows)))
            moves = moves_in(seed, rows, leaves)
            kinds |= {str(row["type"]) for row in rows if row["id"] in {target for _, target in moves}}
            files.append({"path": str(path), "moves": moves, "budgets": BUDGETS})
        answers = cast("list[list[dict[str, Any]]]", pi.ask({"op": "branches", "files": files})["answers"])
        for file, given in zip(files, answers, strict=True):
            assert isinstance(given, list), given
            with read(str(file["path"])) as session:
                for move, answer in zip(file["moves"], given, strict=True):
                    assert_alike(session, move, answer, seen)
                    counted += bool(answer["entries"])
    return seen, kinds, counted


@pytest.mark.slow
def test_what_is_left_and_prepared_is_pis_but_for_the_departures(pi: Oracle, tmp_path: Path) -> None:
    seen, kinds, counted = departures_seen(pi, tmp_path, range(FEW))

    assert seen == EVERY
    assert kinds == set(KINDS)
    assert counted > FEW


@pytest.mark.full
def test_what_is_left_and_prepared_is_pis_in_very_many_files(pi: Oracle, tmp_path: Path) -> None:
    seen, kinds, counted = departures_seen(pi, tmp_path, range(FEW, FEW + MANY))

    assert seen == EVERY
    assert kinds == set(KINDS)
    assert counted * len(BUDGETS) > 50_000
