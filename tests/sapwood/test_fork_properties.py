"""Whatever a tree looks like, a fork of it is what S15 says, and so is a fork of that fork."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import Context, EntryId, ReadSession, SessionStats, fork, read
from sapwood.actors.projection.fold import Fold
from sapwood.events.stats import NO_BILL
from tests.interop.trees import USAGE, Row, line, lines, tree

SEEDS: Final = st.integers(0, 2**20)
PLACES: Final = st.lists(st.none() | st.integers(0, 10**6), min_size=1, max_size=3)
"""For each fork in a row the entry it stands at, counted around; None: the whole tree."""


def forked(folder: Path, seed: int, places: Sequence[int | None]) -> Iterator[tuple[Path, Path, str | None]]:
    """Forks in a row, each with its parent, and the entry at which it stands. What is spent between two forks is the parent's own."""
    parent = folder / f"{seed}-0.jsonl"
    parent.write_bytes(lines(tree(seed)[0]))
    for nth, chosen in enumerate(places, 1):
        path = folder / f"{seed}-{nth}.jsonl"
        with read(parent) as session:
            ids = [entry.id for entry in session.entries()]
        at = None if chosen is None else ids[chosen % len(ids)]
        fork(parent, at, whole_tree=at is None, to=path)
        yield parent, path, at
        spend(path, nth)
        parent = path


def spend(path: Path, nth: int) -> None:
    """Go on with a session, and pay for it."""
    with path.open("ab") as file:
        last = rows(path)[-1]["id"]
        own = {"type": "usage", "id": f"own-{nth}", "parentId": last, "timestamp": "2027-01-01T00:00:00.000Z"}
        file.write(line({**own, "kind": "cache_warm", "provider": "story", "model": "small", "usage": USAGE}) + b"\n")


def rows(path: Path) -> list[Row]:
    return [json.loads(one) for one in path.read_bytes().split(b"\n")[:-1]]


def at_entry(session: ReadSession, entry_id: str | None) -> Context:
    fold = Fold(session._view)
    index = session.tree().leaf if entry_id is None else session.tree().index(EntryId(entry_id))
    fold.select(index)
    return fold.context()


def position(session: ReadSession, entry_id: str | None) -> str | None:
    held = session.tree()
    place = held.position(held.leaf if entry_id is None else held.index(EntryId(entry_id)))
    return None if place is None else held.id(place)


@pytest.mark.slow
@given(seed=SEEDS, places=PLACES)
def test_a_fork_is_its_parent_as_far_as_it_goes(seed: int, places: list[int | None], tmp_path: Path) -> None:
    clear(tmp_path)
    for parent, path, at in forked(tmp_path, seed, places):
        before, (header, *entries, marker) = parent.read_bytes(), rows(path)
        with read(parent) as old, read(path) as new:
            kept = {entry.id for entry in new.entries()} - {marker["id"]}
            lost = {old.tree().id(place) for place in range(len(old.tree())) if old.tree().detached(place)}

            assert header["parentSession"] == str(parent)
            assert header["id"] != old.header.id
            assert [row["type"] for row in entries].count("session") == 0
            assert marker["data"]["entries"] == len(entries) == len(kept)
            assert_parents_stand_above([*entries, marker], lost)
            assert_bytes_are_kept(parent, path, old.tree().path(old.tree().index(EntryId(at))) if at else None)
            assert new.labels() == {one: text for one, text in old.labels().items() if one in kept}
            assert new.name == old.name
            assert position(new, None) == position(old, at)
            assert new.context().messages == at_entry(old, at).messages
            stats = new.stats()
            assert (stats.own, stats.inherited.spent) == (NO_BILL, stats.spent)
        assert parent.read_bytes() == before


@pytest.mark.slow
@given(seed=SEEDS, places=PLACES)
def test_sums_of_what_is_own_are_what_was_paid(seed: int, places: list[int | None], tmp_path: Path) -> None:
    clear(tmp_path)
    files = [path for _, path, _ in forked(tmp_path, seed, places)]
    first = tmp_path / f"{seed}-0.jsonl"
    sums = [stats_of(path) for path in (first, *files)]

    assert sum(one.own.spent.calls for one in sums) == sums[0].spent.calls + len(files)
    assert sum(one.own.spent.input for one in sums) == sums[0].spent.input + len(files) * USAGE["input"]
    assert all(one.own.spent + one.inherited.spent == one.spent for one in sums)


def stats_of(path: Path) -> SessionStats:
    with read(path) as session:
        return session.stats()


def assert_parents_stand_above(entries: Sequence[Row], lost: set[EntryId]) -> None:
    """But for those whose parents were nowhere in the first place, and in a file that had them in another order."""
    there = {row["id"] for row in entries}
    for row in entries:
        assert row["parentId"] is None or row["parentId"] in there or row["id"] in lost


def assert_bytes_are_kept(parent: Path, path: Path, kept: Sequence[int] | None) -> None:
    old, new = parent.read_bytes().split(b"\n")[1:-1], path.read_bytes().split(b"\n")[1:-2]
    expected = old if kept is None else [old[place] for place in kept]
    assert new[: len(expected)] == expected
    assert {json.loads(one)["type"] for one in new[len(expected) :]} <= {"label", "session_info"}


def clear(folder: Path) -> None:
    """One folder serves all examples."""
    for one in folder.iterdir():
        one.unlink()
