"""Where we cut is where the real Pi cuts, snapped to the turn as C5 says: on whatever anybody may have written."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import pytest

from sapwood import read
from sapwood.actors.compaction.cut import starts_turn
from sapwood.actors.compaction.plan import Plan, plan
from sapwood.actors.projection.fold import Fold
from sapwood.events.context import SelectedEntry, Surveyed
from sapwood.events.entries import BOOKKEEPING, Compaction, kind_of
from sapwood.events.errors import Refused
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message, SystemMessage
from sapwood.events.unknown_fields import split
from sapwood.reading import ReadSession
from tests.interop.trees import lines, tree
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle

pytestmark = pytest.mark.interop

FEW: Final = 40
MANY: Final = 1_000
"""Files; each is planned at its own leaf and at others, for each of `KEEPS`: more than 20,000 plans."""
BATCH: Final = 100
KEEPS: Final = (0, 1, 3, 6, 10, 20, 45, 100)
"""Tokens: what is said in these files has one to twenty a message."""


@pytest.fixture(name="pi", scope="module")
def _pi() -> Generator[Oracle]:
    try:
        with Oracle(patience=120) as oracle:
            yield oracle
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


def sizes_of(surveyed: Surveyed) -> list[int]:
    return [*[0] * (len(surveyed.entries) - len(surveyed.tokens)), *surveyed.tokens]


def snap(entries: Sequence[SelectedEntry], sizes: Sequence[int], cut: int, keep: int) -> int:
    """C5, of the cut that Pi's walk gives: back to the start of the turn in which the budget is reached, if that is no larger than it."""
    turns = [at for at, one in enumerate(entries) if any(map(starts_turn, one.messages))]
    reached = cut if cut < len(entries) and sum(sizes[cut:]) >= keep else cut - 1
    turn = max((at for at in turns if at <= reached), default=cut)
    behind = next((at for at in turns if at > turn), len(entries))
    return turn if turn < cut and sum(sizes[turn:behind]) <= keep else cut


def seen(entries: Sequence[SelectedEntry], cut: int) -> int:
    """The cut, moved to the next entry that the model sees: what it does not see may stand on either side."""
    return next((at for at in range(cut, len(entries)) if entries[at].messages), len(entries))


def said(entries: Sequence[SelectedEntry]) -> list[Any]:
    return [plain(message) for one in entries for message in one.messages if not isinstance(message, SystemMessage)]


def plain(message: Message) -> Any:
    return json.loads(msgspec.json.encode(message))


def is_compacted_already(surveyed: Surveyed) -> bool:
    """By position, not by the last line (S6, C14; unlike Pi)."""
    ordered = sorted(surveyed.entries, key=lambda one: one.place)
    last = next((one for one in reversed(ordered) if kind_of(one.entry) not in BOOKKEEPING), None)
    return surveyed.compacted and last is not None and isinstance(last.entry, Compaction)


def assert_alike(surveyed: Surveyed, keep: int, pi: dict[str, Any] | None) -> str:
    """Our plan is Pi's, snapped. How it came out."""
    ours = plan(surveyed, keep)
    if is_compacted_already(surveyed):
        assert isinstance(ours, Refused)
        assert ours.reason == "already-compacted"
        return "already"
    if pi is None:
        assert isinstance(ours, Refused)
        assert ours.reason == "nothing-to-do"
        return "nothing"
    entries, start = surveyed.entries, int(surveyed.compacted)
    ids = [one.entry.id for one in entries]
    walked = seen(entries, ids.index(EntryId(pi["firstKeptEntryId"])))
    cut = snap(entries, sizes_of(surveyed), walked, keep)
    splits = cut < len(entries) and any(map(starts_turn, entries[cut].messages))
    turns = [at for at in range(start, cut) if any(map(starts_turn, entries[at].messages))]
    turn = cut if splits or not turns else turns[-1]
    history, prefix = said(entries[start:turn]), said(entries[turn:cut])
    if not (history or prefix):
        assert isinstance(ours, Refused)
        return "snapped to nothing"
    assert isinstance(ours, Plan)
    assert seen(entries, ids.index(ours.first_kept)) == cut
    assert [plain(one) for one in ours.history] == history
    assert [plain(one) for one in ours.turn_prefix] == prefix
    assert ours.is_split == (turn < cut)
    assert (None if ours.previous is None else ours.previous.summary) == pi["previousSummary"]
    if cut == walked:
        given = [split(one, Message)[0] for one in (*pi["messagesToSummarize"], *pi["turnPrefixMessages"])]
        assert given == [*history, *prefix]
        return "alike"
    return "snapped"


def surveyed_at(session: ReadSession, leaf: str | None) -> Surveyed:
    fold = Fold(session._view)
    fold.select(None if leaf is None else session.tree().index(EntryId(leaf)))
    return fold.survey(10**9)


def ways(pi: Oracle, folder: Path, seeds: Sequence[int]) -> dict[str, int]:
    """How the plans of all files came out, and how many of each."""
    counted: dict[str, int] = {}
    for first in range(0, len(seeds), BATCH):
        batch = {seed: tree(seed) for seed in seeds[first : first + BATCH]}
        files: list[dict[str, object]] = []
        for seed, (rows, leaves) in batch.items():
            path = folder / f"{seed}.jsonl"
            path.write_bytes(lines(rows))
            files.append({"path": str(path), "at": leaves, "keeps": KEEPS})
        answers = cast("list[list[list[dict[str, Any] | None]]]", pi.ask({"op": "plans", "files": files})["answers"])
        for (_, leaves), file, given in zip(batch.values(), files, answers, strict=True):
            with read(str(file["path"])) as session:
                places = [session.context().leaf, *leaves]
                for leaf, plans in zip(places, given, strict=True):
                    surveyed = surveyed_at(session, leaf)
                    for keep, answer in zip(KEEPS, plans, strict=True):
                        way = assert_alike(surveyed, keep, answer)
                        counted[way] = counted.get(way, 0) + 1
    return counted


WAYS: Final = {"already", "nothing", "snapped to nothing", "alike", "snapped"}


def test_our_cut_is_pis_snapped_to_the_turn(pi: Oracle, tmp_path: Path) -> None:
    assert set(ways(pi, tmp_path, range(FEW))) == WAYS


@pytest.mark.full
def test_our_cut_is_pis_in_very_many_files(pi: Oracle, tmp_path: Path) -> None:
    counted = ways(pi, tmp_path, range(FEW, FEW + MANY))

    assert set(counted) == WAYS
    assert sum(counted.values()) > 5_000
