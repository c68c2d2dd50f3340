"""Pairing two lists at the least cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.scenario import aligning
from sapwood.scenario.aligning import ONE_SIDED, PAIRED, UNLIKE, Likeness, Lists, Move, Spot, align

GAP = "."
EXPECTED = st.text("abABá.", max_size=9)
SEEN = st.text("abABá", max_size=9)


def alike(one: str, other: str) -> Likeness:
    if one == other:
        return "match"
    if one.lower() == other.lower():
        return "unlike"
    return "far" if plain(one) == plain(other) else "strange"


def plain(letter: str) -> str:
    return letter.lower().replace("á", "a")


def lists(expected: str, seen: str) -> Lists:
    """A letter matches itself, is like itself in the other case, and with or without an accent like itself from afar."""

    def likeness(e: int, s: int) -> Likeness:
        return alike(expected[e], seen[s])

    return Lists(expected=len(expected), seen=len(seen), is_gap=lambda at: expected[at] == GAP, likeness=likeness)


def cheapest(expected: str, seen: str) -> int:
    """The least cost, by trying everything."""
    if not expected:
        return ONE_SIDED * len(seen)
    if expected[0] == GAP:
        return min(cheapest(expected[1:], seen[at:]) for at in range(len(seen) + 1))
    costs = [ONE_SIDED + cheapest(expected[1:], seen)]
    if seen:
        costs.append(ONE_SIDED + cheapest(expected, seen[1:]))
        if alike(expected[0], seen[0]) != "strange":
            costs.append(PAIRED[alike(expected[0], seen[0])] + cheapest(expected[1:], seen[1:]))
    return min(costs)


def check_way(way: list[tuple[Spot, Move]], expected: str, seen: str) -> None:
    """It leads from the start to the end, and each move is one that may be made there."""
    here = (0, 0)
    for place, (cost, de, ds) in way:
        assert place == here
        e, s = place
        if e < len(expected) and expected[e] == GAP:
            assert (cost, de + ds) == (0, 1)
        elif de and ds:
            assert cost == PAIRED[alike(expected[e], seen[s])]
        else:
            assert (cost, de + ds) == (ONE_SIDED, 1)
        here = (e + de, s + ds)
    assert here == (len(expected), len(seen))


@pytest.mark.slow
@given(EXPECTED.filter(lambda text: len(text) < 7), SEEN.filter(lambda text: len(text) < 7))
def test_the_way_costs_the_least(expected: str, seen: str) -> None:
    way = list(align(lists(expected, seen)))

    check_way(way, expected, seen)
    assert sum(cost for _, (cost, _, _) in way) == cheapest(expected, seen)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 5, 12])
@given(expected=EXPECTED, seen=SEEN)
def test_a_way_that_was_settled_piece_by_piece_is_one_all_the_same(most: int, expected: str, seen: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aligning, "MOST_PLACES", most)

        check_way(list(align(lists(expected, seen))), expected, seen)


@pytest.mark.parametrize(
    ("expected", "seen"), [("a" * 4000 + "b" + "a" * 4000, "a" * 8000), ("abab" * 900 + "B", "abab" * 900 + "b")]
)
def test_long_lists_that_differ_little_are_paired_exactly_and_in_little_work(expected: str, seen: str) -> None:
    asked: list[int] = []
    both = lists(expected, seen)

    def likeness(e: int, s: int) -> Likeness:
        asked.append(e)
        return both.likeness(e, s)

    way = list(align(Lists(expected=both.expected, seen=both.seen, is_gap=both.is_gap, likeness=likeness)))

    assert sum(cost for _, (cost, _, _) in way) in {ONE_SIDED, UNLIKE}
    assert len(asked) < 20 * len(expected)


def test_nothing_is_on_the_way_between_two_empty_lists() -> None:
    assert list(align(lists("", ""))) == []


@pytest.mark.slow
@pytest.mark.parametrize(("likeness", "cost"), [("strange", 2 * ONE_SIDED), ("unlike", UNLIKE)])
def test_long_lists_that_differ_everywhere_are_not_held_against_each_other_item_by_item(
    likeness: Likeness, cost: int
) -> None:
    asked: list[int] = []

    def asking(e: int, s: int) -> Likeness:
        asked.append(e)
        return likeness

    way = list(align(Lists(expected=1500, seen=1500, is_gap=lambda _: False, likeness=asking)))

    assert sum(cost for _, (cost, _, _) in way) == 1500 * cost
    assert len(asked) < 1500 * 300, "every pair would be five times as many"
