"""What an expectation means."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.scenario.matching import GAP, MISSING, Difference, Mismatch, compare, matches, mismatches

TEXTS = st.text(max_size=6).filter(lambda text: not text.endswith(GAP))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ITEMS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({"type": st.sampled_from("abc"), "body": VALUES})
LISTS = st.lists(ITEMS, max_size=7)


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 2}),
        ({"a": None}, {"a": 1}),
        ({"a": {"b": 1}}, {"a": 1}),
        ({"a": 1}, [1]),
        ({}, None),
        ([1], [1, 2]),
        ([1, 2], [1]),
        ([], {}),
        ([GAP, 1], [1, 2]),
        ("a", "b"),
        ("a...", "b"),
        ("ab...", "a"),
        ("1", 1),
        (1, True),
        (0, False),
        (True, 1),
        (1, None),
        (1, MISSING),
        (GAP, MISSING),
    ],
)
def test_what_is_not_as_expected_does_not_match(expected: Any, seen: Any) -> None:
    assert not matches(expected, seen)


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ({}, {"a": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": None}, {}),
        ({"a": None}, {"a": None}),
        ({"a": GAP}, {"a": None}),
        ({"a": GAP}, {"a": [1]}),
        ([{"a": 1}], [{"a": 1, "b": 2}]),
        ([GAP], []),
        ([GAP, 3], [1, 2, 3]),
        ([1, GAP, 4], [1, 2, 3, 4]),
        ("a...", "abc"),
        ("a...", "a"),
        (1, 1.0),
        (None, MISSING),
    ],
)
def test_what_is_as_expected_matches(expected: Any, seen: Any) -> None:
    assert matches(expected, seen)


def test_a_mismatch_tells_the_part_that_differs() -> None:
    expected = {"message": {"role": "user", "content": [{"text": "a"}]}}
    seen = {"message": {"role": "assistant", "content": [{"text": "b"}]}}

    assert list(mismatches(expected, seen)) == [
        Mismatch(("message", "role"), "user", "assistant"),
        Mismatch(("message", "content", 0, "text"), "a", "b"),
    ]
    assert list(mismatches({"a": 1}, {})) == [Mismatch(("a",), 1, MISSING)]
    assert list(mismatches({"a": [1, 2]}, {"a": [1]})) == [Mismatch(("a",), [1, 2], [1])]
    assert list(mismatches({"a": [1, GAP]}, {"a": [2, 3]})) == [Mismatch(("a",), [1, GAP], [2, 3])]


@pytest.mark.slow
@given(VALUES)
def test_anything_matches_itself(value: Any) -> None:
    assert matches(value, value)


@pytest.mark.slow
@given(LISTS)
def test_any_list_is_no_different_from_itself(items: list[Any]) -> None:
    assert compare(items, items, key="type") == ()


@pytest.mark.slow
@given(LISTS, ITEMS, st.data())
def test_an_item_more_or_less_is_the_one_difference(items: list[Any], item: Any, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(items)))
    more = [*items[:at], item, *items[at:]]

    (missing,) = compare(more, items, key="type")
    (surplus,) = compare(items, more, key="type")

    assert (missing.kind, surplus.kind) == ("not seen", "not expected")
    assert missing.expected_at is not None
    assert surplus.seen_at is not None
    assert (missing.expected, surplus.seen) == (more[missing.expected_at], more[surplus.seen_at])
    assert (missing.seen_at, surplus.expected_at) == (None, None)


@pytest.mark.slow
@given(LISTS.filter(bool), VALUES, st.data())
def test_a_changed_item_is_the_one_difference_and_tells_what_changed(
    items: list[Any], body: Any, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(items) - 1))
    changed = [*items[:at], {**items[at], "body": body}, *items[at + 1 :]]
    if matches(items[at], changed[at]):
        return

    differences = compare(items, changed, key="type")

    assert differences
    if len(items) == 1:
        assert differences == (
            Difference(
                kind="unlike",
                expected_at=0,
                seen_at=0,
                expected=items[0],
                seen=changed[0],
                fields=tuple(mismatches(items[0], changed[0])),
            ),
        )


@pytest.mark.slow
@given(LISTS, st.data())
def test_a_gap_stands_for_any_run(items: list[Any], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(items)))
    end = data.draw(st.integers(start, len(items)))

    assert compare([*items[:start], GAP, *items[end:]], items, key="type") == ()


@pytest.mark.slow
@given(st.lists(st.sampled_from(["a", "b", GAP]), max_size=6), st.lists(st.sampled_from("ab"), max_size=6))
def test_there_is_a_difference_exactly_if_no_way_to_fill_the_gaps_gives_what_was_seen(
    expected: list[str], seen: list[str]
) -> None:
    gaps = expected.count(GAP)
    room = len(seen) - (len(expected) - gaps)

    def filled(lengths: tuple[int, ...]) -> bool:
        rest, lengths_left = list(seen), list(lengths)
        for item in expected:
            if item == GAP:
                del rest[: lengths_left.pop(0)]
            elif not rest or rest.pop(0) != item:
                return False
        return not rest

    possible = room >= 0 and any(
        filled(lengths) for lengths in itertools.product(range(room + 1), repeat=gaps) if sum(lengths) == room
    )

    assert (compare(expected, seen, key="type") == ()) == (possible or (gaps == 0 and expected == seen))


def test_likes_are_shown_side_by_side_and_unlikes_apart() -> None:
    expected = [{"type": "a"}, {"type": "b", "n": 1}, {"type": "c"}]
    seen = [{"type": "a"}, {"type": "x"}, {"type": "b", "n": 2}, {"type": "c"}]

    differences = compare(expected, seen, key="type")

    assert [(one.kind, one.expected_at, one.seen_at) for one in differences] == [
        ("not expected", None, 1),
        ("unlike", 1, 2),
    ]
    assert differences[1].fields == (Mismatch(("n",), 1, 2),)
    assert [one.kind for one in compare([{"type": "a"}], [{"type": "b"}], key="type")] == ["not seen", "not expected"]
    assert [one.kind for one in compare([{"n": 1}], [{"type": "b"}], key="type")] == ["unlike"]
    assert [one.kind for one in compare([{"type": "a"}], [5], key="type")] == ["not seen", "not expected"]


def said(role: str, text: str) -> dict[str, Any]:
    return {"type": "message_end", "message": {"role": role, "content": text}}


@pytest.mark.parametrize("gaps", [[], [GAP]])
def test_an_answer_is_held_against_an_answer_and_not_against_what_the_user_said(gaps: list[Any]) -> None:
    seen = [said("user", "which?"), said("assistant", "an elm")]

    found = compare([*gaps, said("assistant", "an oak"), *gaps], seen, key="type")

    unlike = [one for one in found if one.kind == "unlike"]
    assert [(one.seen_at, one.fields) for one in unlike] == [
        (1, (Mismatch(("message", "content"), "an oak", "an elm"),))
    ]
    assert [one.kind for one in found if one.kind != "unlike"] == ([] if gaps else ["not expected"])


def test_where_nothing_is_nearer_a_message_of_another_role_is_held_against_it() -> None:
    [one] = compare([said("assistant", "an oak")], [said("user", "which?")], key="type")

    assert (one.kind, one.seen_at) == ("unlike", 0)


def test_what_was_not_seen_in_its_place_is_looked_for_in_others() -> None:
    a, b, c = {"type": "a"}, {"type": "b"}, {"type": "c"}

    def where(expected: list[Any], seen: list[Any]) -> list[tuple[int | None, int | None]]:
        return [(one.later, one.before) for one in compare(expected, seen, key="type") if one.kind == "not seen"]

    assert where([c, a, b], [a, b, c]) == [(2, None)]
    assert where([a, GAP, c, b], [a, c, c, c]) == [(None, None)]
    assert where([c, GAP, b], [a, c, b]) == [(1, None)], "a gap took it"
    assert where([GAP, b, c, GAP, c], [c, b, c]) == [(None, 0)]
    assert where([a, a], [a]) == [(None, None)], "that one is the other's"


@pytest.mark.slow
def test_thousands_that_all_differ_are_compared_in_bounded_time() -> None:
    """1,500 against 1,500 used to hang."""
    expected = [{"type": "s", "n": n} for n in range(1500)]
    started = time.process_time()

    unlike = compare(expected, [{"type": "s", "n": -1} for _ in range(1500)], key="type")
    strange = compare(expected[:500], [{"type": "t"} for _ in range(500)], key="type")
    gaps = compare([one for item in expected[:200] for one in (GAP, item)], expected[1000:], key="type")

    assert time.process_time() - started < 30, "about four seconds where it was written"
    assert {one.kind for one in unlike} == {"unlike"}
    assert sum(one.kind == "not seen" for one in strange) == sum(one.kind == "not expected" for one in strange) == 500
    assert {one.kind for one in gaps} <= {"unlike", "not seen", "not expected"}


def test_gaps_within_gaps_are_matched_in_bounded_time() -> None:
    """Each level used to double the work."""
    expected: Any = 1
    seen: Any = 2
    for _ in range(55):
        expected, seen = [GAP, expected], [0, seen]

    assert not matches(expected, seen)
    assert len(compare([GAP, expected], [seen, seen], key="type")) > 0


def test_places_are_counted_behind_what_is_common() -> None:
    same = [{"type": "s", "n": n} for n in range(50)]

    (one,) = compare([*same, {"type": "a"}, *same], [*same, *same], key="type")

    assert (one.kind, one.expected_at) == ("not seen", 50)


def test_a_long_run_behind_a_gap_is_compared_without_recursion() -> None:
    seen = [{"type": "s", "n": n} for n in range(3000)]

    assert compare([GAP, {"type": "s", "n": 2999}], seen, key="type") == ()
    assert len(compare([{"type": "s", "n": 0}, GAP, {"type": "t"}], seen, key="type")) == 1
