"""Parts are the whole, in order, and none is too large."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.projection.counter import units
from sapwood.actors.summaries.parts import Count, Text, beginning, grouped, next_part, shortened, size_of


def in_bytes(text: str) -> int:
    return len(text.encode())


def by_four(text: str) -> int:
    return -(-units(text) // 4)


COUNTS: st.SearchStrategy[Count] = st.sampled_from([len, in_bytes, by_four])
TEXTS = st.lists(st.text(st.sampled_from("ab\n 漢😀"), max_size=40), max_size=8)


def parts(texts: list[str], room: int, *, count: Count = len, seam: int = 0) -> list[tuple[str, ...]]:
    return grouped(texts, map(count, texts), room, count, seam=seam)


@pytest.mark.parametrize(
    ("texts", "room", "expected"),
    [
        ([], 5, []),
        (["aa", "bbb"], 5, [("aa", "bbb")]),
        (["aa", "bbb", "c"], 4, [("aa",), ("bbb", "c")]),
        (["a", "bbbbb", "c"], 3, [("a",), ("bbb",), ("bb", "c")]),
        (["aaaa"], 4, [("aaaa",)]),
        (["aaaaa"], 4, [("aaaa",), ("a",)]),
        (["", ""], 1, [("", "")]),
    ],
)
def test_texts_are_grouped_in_order(texts: list[str], room: int, expected: list[tuple[str, ...]]) -> None:
    assert parts(texts, room) == expected


def test_what_is_spent_between_two_texts_counts() -> None:
    assert parts(["aa", "bb", "c"], 5, seam=1) == [("aa", "bb"), ("c",)]
    assert parts(["aa", "bb", "c"], 7, seam=1) == [("aa", "bb", "c")]
    assert parts(["aa", "bb", "c"], 6, seam=1) == [("aa", "bb"), ("c",)]
    assert size_of((Text("aa", 2), Text("bb", 2), Text("c", 1)), 1) == 7
    assert size_of((), 1) == 0


@given(TEXTS, st.integers(1, 60), COUNTS, st.integers(0, 3))
def test_all_parts_are_the_whole_and_each_fits(texts: list[str], room: int, count: Count, seam: int) -> None:
    made = parts(texts, room, count=count, seam=seam)

    assert "".join(text for part in made for text in part) == "".join(texts)
    for part in made:
        assert sum(map(count, part)) + seam * (len(part) - 1) <= room or len("".join(part)) == 1
    assert all(part for part in made)


@given(TEXTS, st.integers(4, 60), COUNTS)
def test_a_part_takes_what_fits(texts: list[str], room: int, count: Count) -> None:
    """Of texts that fit each by itself: one that does not is cut, and its pieces are shared out anew."""
    made = parts([text for text in texts if count(text) <= room], room, count=count)

    for part, after in pairwise(made):
        assert sum(map(count, part)) + count(after[0]) > room


def test_what_is_left_of_a_text_is_counted_when_it_may_fit() -> None:
    """Pieces may have more tokens than the whole."""
    text = "x" * 44 + "\n" + "y" * 47

    assert next_part((Text(text, by_four(text)),), 12, by_four) == ((Text(text[:45], 12),), (Text("y" * 47, 12),))


def test_what_is_left_of_a_long_one_is_not_counted_until_then() -> None:
    assert next_part((Text("x" * 40, 12), Text("z", 1)), 4, len)[1] == (Text("x" * 36, 36), Text("z", 1))
    assert next_part((Text("x" * 40, 13), Text("z", 1)), 4, len)[1] == (Text("x" * 36, 9), Text("z", 1))


def test_a_room_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="one token at least, not 0"):
        next_part((Text("a", 1),), 0, len)


@pytest.mark.parametrize("room", [0, -1])
def test_nothing_needs_no_room_but_is_asked_for_one(room: int) -> None:
    with pytest.raises(ValueError, match=str(room)):
        next_part((), room, len)


@pytest.mark.parametrize(
    ("text", "room", "head"),
    [
        ("aaaa", 3, "aaa"),
        ("a", 9, "a"),
        ("漢字", 2, "漢"),
        ("漢字", 3, "漢"),
        ("漢字", 6, "漢字"),
        ("😀", 1, "😀"),
        ("", 1, ""),
        ("a" * 40 + "\n" + "b" * 40, 42, "a" * 40 + "\n"),
        ("a" * 40 + "\n" + "b" * 40, 45, "a" * 40 + "\n"),
        ("a" * 40 + "\n" + "b" * 40, 46, "a" * 40 + "\n" + "b" * 5),
        ("a\n" + "b" * 40, 20, "a\n" + "b" * 18),
    ],
)
def test_a_beginning_is_as_long_as_it_may_be(text: str, room: int, head: str) -> None:
    assert beginning(text, room, in_bytes) == head


@given(st.text(st.sampled_from("ab漢😀"), min_size=1, max_size=60), st.integers(4, 60), COUNTS)
def test_no_longer_beginning_would_fit(text: str, room: int, count: Count) -> None:
    head = beginning(text, room, count)

    assert text.startswith(head)
    assert count(head) <= room
    assert head == text or count(text[: len(head) + 1]) > room


def test_a_large_text_is_counted_a_few_times() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text) // 4

    made = grouped(["x" * 1_000_000], [250_000], 25_000, count)

    assert len(made) == 10
    assert sum(counted) < 20_000_000
    assert min(len(part[0]) for part in made[:-1]) > 98_000


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (50, "x" * 50),
        (49, "x" * 13 + "\n\n[... 37 more characters truncated]"),
        (37, "x" + "\n\n[... 49 more characters truncated]"),
        (36, ""),
        (0, ""),
    ],
)
def test_what_is_too_long_says_what_is_missing(room: int, expected: str) -> None:
    assert shortened("x" * 50, room, len) == expected


@given(st.text(st.sampled_from("ab\n漢"), max_size=99), st.integers(0, 99), COUNTS)
def test_what_is_shortened_fits(text: str, room: int, count: Count) -> None:
    short = shortened(text, room, count)

    assert count(short) <= room
    assert short == text or not short or text.startswith(short.rpartition("\n\n[... ")[0])
