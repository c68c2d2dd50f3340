"""A walk through a whole log: at each entry it selects what the path to it selects."""

from __future__ import annotations

from hypothesis import given

from sapwood.actors.projection.fold import Fold
from sapwood.actors.projection.walking import Walk
from sapwood.events.ids import EntryId
from tests.actors.projection.logs import KINDS, STEPS, Log, chain, compaction, edit, watched


def test_what_hangs_below_is_a_step_that_reads_one_entry() -> None:
    log = chain("u1", "a1", "u2")
    walk = Walk(log.view)
    decoded = watched(log)

    assert [walk.reach(place) for place in range(3)] == [True, True, True]
    assert decoded == [0, 1, 2]
    assert walk.leaf == 2


def test_a_branch_elsewhere_is_folded_from_its_root() -> None:
    log = chain("u1", "a1", "u2")
    log.say("other", "u1")
    walk = Walk(log.view)
    for place in range(3):
        walk.reach(place)

    assert not walk.reach(3)
    assert [one.entry.id for one in walk.selected] == ["u1", "other"]
    assert walk.leaf == 3


def test_an_entry_whose_parent_is_missing_is_no_step_from_nothing() -> None:
    log = Log()
    log.say("x", "lost")

    assert not Walk(log.view).reach(0)


def test_a_step_tells_what_it_counts() -> None:
    log = chain("four", "word")
    walk = Walk(log.view)
    walk.reach(0)

    assert walk.tokens(walk.selected[-1]) == (1,)


def test_compactions_and_edits_show_where_the_walk_is_behind_them() -> None:
    log = chain("u1", "a1")
    log.add(edit("e1", "a1", "u1", "other"))
    log.add(compaction("c1", "e1", "a1"))
    walk = Walk(log.view)

    assert [walk.reach(place) for place in range(4)] == [True] * 4
    assert [one.entry.id for one in walk.selected] == ["c1", "a1", "e1"]


@given(STEPS)
def test_at_each_entry_it_is_what_is_folded_from_nothing(steps: list[tuple[int, int, int, bool]]) -> None:
    log = Log()
    for n, (kind, back, target_back, _) in enumerate(steps):
        parent = None if n == 0 or back == 30 else EntryId(f"e{n - 1 - (max(0, back - 20) % n)}")
        log.add(KINDS[kind](f"e{n}", parent, EntryId(f"e{max(0, n - target_back)}")), pull=False)
    walk = Walk(log.view)
    for place in range(len(log.view)):
        walk.reach(place)
        scratch = Fold(log.view)
        scratch.select(place)

        assert walk.context() == scratch.context()
