"""D14 and G: what goes wrong when a session is forked. Codes as in README.md.

That a fork is its parent as far as it goes, over random trees, is in `tests/sapwood/test_fork_properties.py`. What is exported is not
read in again, so of G14 what stands here is of the copies that there are: forks of forks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood import EntryId, Environment, Runtime, Scripted, ScriptedAnswer, fork, read
from sapwood.events.entries import FORK_MARKER
from tests.build import MODEL
from tests.faults.history import Log
from tests.faults.logs import rows, said


def branched(path: Path) -> Path:
    """Two questions and their answers, 0 to 3; from 1 on two others, 5 and 6, behind the marker that is 4."""
    log = Log()
    log.turns(2)
    log.at(EntryId("00000001"))
    log.turns(1)
    return log.write(path)


@pytest.mark.parametrize(
    ("at", "whole_tree"),
    [(None, True), (None, False), ("00000000", False), ("00000002", False), ("00000005", False), ("00000006", False)],
)
def test_d14_a_fork_has_one_header_and_every_parent(at: str | None, tmp_path: Path, *, whole_tree: bool) -> None:
    """D14: at the first message, in the middle, at a tip, and of all there is."""
    parent = branched(tmp_path / "s.jsonl")

    made = fork(parent, None if at is None else EntryId(at), whole_tree=whole_tree, to=tmp_path / "f.jsonl")

    header, *entries = rows(Path(made.path))
    assert header["type"] == "session"
    assert "session" not in [one["type"] for one in entries]
    above: set[str | None] = {None}
    for entry in entries:
        assert entry["parentId"] in above
        above.add(entry["id"])
    with read(made.path) as session:
        assert session.damage == ()


@pytest.mark.parametrize("at", ["00000000", "00000003"])
async def test_g04_what_is_said_in_a_fork_is_written_into_the_fork(at: str, tmp_path: Path) -> None:
    """G04: at the first message too. Three turns change no byte of the parent, whose id the fork's header has by its path."""
    parent = branched(tmp_path / "s.jsonl")
    before = parent.read_bytes()
    provider = Scripted({"turn": [ScriptedAnswer(text=f"answer {nth}") for nth in range(3)]})
    made = fork(parent, EntryId(at), to=tmp_path / "f.jsonl")
    copied = Path(made.path).read_bytes()

    async with (
        Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic") as runtime,
        runtime.open_session(made.path, model=MODEL) as session,
    ):
        kept = said(session)
        for nth in range(3):
            await session.prompt(f"more {nth}")
        new = [text for nth in range(3) for text in (f"more {nth}", f"answer {nth}")]
        assert said(session) == kept + new

    assert parent.read_bytes() == before
    assert Path(made.path).read_bytes().startswith(copied)
    [marker] = [one for one in rows(Path(made.path)) if one.get("customType") == FORK_MARKER]
    assert rows(Path(made.path))[0]["parentSession"] == str(parent)
    assert marker["data"]["parentId"] == rows(parent)[0]["id"]


@pytest.mark.parametrize("whole_tree", [False, True])
def test_g05_a_fork_stands_where_its_parent_does_and_brings_nothing_back(tmp_path: Path, *, whole_tree: bool) -> None:
    """G05: what was left is not on the fork's path; of a whole tree it is beside it."""
    parent = branched(tmp_path / "s.jsonl")
    with read(parent) as session:
        there = said(session)

    made = fork(parent, whole_tree=whole_tree, to=tmp_path / "f.jsonl")

    with read(made.path) as session:
        tree = session.tree()
        path = {tree.id(place) for place in tree.path(tree.leaf)}
        assert said(session) == there
        assert {EntryId("00000000"), EntryId("00000001"), EntryId("00000005"), EntryId("00000006")} <= path
        assert path.isdisjoint({"00000002", "00000003"})
        assert ("00000003" in tree) is whole_tree


def test_g14_a_fork_of_a_fork_has_the_same_entries_under_the_same_parents(tmp_path: Path) -> None:
    """G14: branches, two compactions and the link to a parent, copied whole twice."""
    log = Log()
    asked = log.turns(2)
    log.compact(asked[1])
    log.at(asked[0])
    asked = log.turns(2)
    log.compact(asked[1])
    parent = log.write(tmp_path / "s.jsonl")

    first = fork(parent, whole_tree=True, to=tmp_path / "f.jsonl")
    second = fork(first.path, whole_tree=True, to=tmp_path / "g.jsonl")

    theirs = rows(parent)[1:]
    for made, above in ((first, parent), (second, Path(first.path))):
        header, *entries = rows(Path(made.path))
        assert header["parentSession"] == str(above)
        assert entries[: len(theirs)] == theirs
        with read(parent) as old, read(made.path) as new:
            assert new.context().messages == old.context().messages
            assert [one.tip for one in new.branches()] == [one.tip for one in old.branches()]
