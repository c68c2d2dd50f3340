"""All edits of a text are made as they were asked for, or none is and it is told why."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.tools import edits
from sapwood.actors.tools.edits import Edit, applied, line_of, planned
from sapwood.actors.tools.files import Unfit


def edit(old: str, new: str, *, everywhere: bool = False) -> Edit:
    return Edit(old_text=old, new_text=new, replace_all=everywhere)


def edited(text: str, *edits: Edit) -> str:
    return applied(text, planned(text, edits))


def why_refused(text: str, *edits: Edit) -> str:
    with pytest.raises(Unfit) as caught:
        planned(text, edits)
    return str(caught.value)


def test_what_is_not_there_is_refused() -> None:
    assert why_refused("a\nb\n", edit("c", "d")) == (
        "Nothing was changed: old_text was not found. Read the file again: it may have changed."
    )
    assert "not found" in why_refused("", edit("c", "d"))
    assert "not found" in why_refused("a", edit(" ", "d"))
    assert "not found" in why_refused("a", edit("c", "d", everywhere=True))


def test_what_is_there_but_for_its_white_space_is_named() -> None:
    assert why_refused("x\n\tif a:\n\t\tb()\n", edit("if a:\n    b()", "c")) == (
        "Nothing was changed: old_text was not found. In line 2 is the same but for its white space."
    )


def test_what_is_there_more_than_once_is_refused_with_where() -> None:
    assert why_refused("a\na b\n" * 4, edit("a", "d")) == (
        "Nothing was changed: old_text was found 8 times, in the lines 1, 2, 3, 4, 5, .... "
        "Take more of what stands around it, or set replace_all."
    )
    assert "was found 2 times, in the lines 1, 3." in why_refused("a\n\na", edit("a", "d"))


@pytest.mark.parametrize(
    ("times", "told"), [(999, "999 times"), (1000, "at least 1,000 times"), (5000, "at least 1,000 times")]
)
def test_places_are_counted_up_to_a_thousand(times: int, told: str) -> None:
    assert f"was found {told}, in the lines 1, 2, 3, 4, 5, ...." in why_refused("a\n" * times, edit("a", "d"))


@pytest.mark.slow
def test_counting_keeps_nothing_of_what_it_does_not_tell() -> None:
    """Every place used to be kept to be counted: one letter in 16 MiB took 1.1 GB."""
    text = "a" * (1 << 20)
    tracemalloc.start()
    try:
        for everywhere, told in ((False, "at least 1,000 times"), (True, "more than 100,000 times")):
            tracemalloc.reset_peak()
            assert told in why_refused(text, edit("a", "d", everywhere=everywhere))
            assert tracemalloc.get_traced_memory()[1] < (40e6 if everywhere else 1e6)
    finally:
        tracemalloc.stop()


def test_all_places_are_replaced_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "MOST_REPLACED", 3)

    assert edited("a\n" * 3, edit("a", "b", everywhere=True)) == "b\n" * 3
    assert why_refused("a\n" * 4, edit("a", "b", everywhere=True)) == (
        "Nothing was changed: old_text was found more than 3 times, which is too often. Use a command, such as sed."
    )


def test_places_that_overlap_are_two() -> None:
    assert "was found 2 times" in why_refused("aaa", edit("aa", "b"))
    assert "was found 2 times" in why_refused("x\n\r\n\n", edit("\n\n", "b"))
    assert edited("aaa", edit("aa", "b", everywhere=True)) == "ba"


def test_what_changes_nothing_is_refused() -> None:
    assert why_refused("a", edit("", "b")) == (
        "Nothing was changed: old_text is empty. To add something, replace what stands beside it."
    )
    assert why_refused("a\r\nb", edit("a\nb", "a\r\nb")) == "Nothing was changed: old_text and new_text are the same."


def test_of_several_the_one_that_cannot_be_made_is_named() -> None:
    assert "old_text of edit 2 was not found" in why_refused("a b", edit("a", "b"), edit("c", "d"))


def test_edits_that_touch_the_same_text_are_refused() -> None:
    assert why_refused("x\na b c\n", edit("b c", "1"), edit("a b", "2")) == (
        "Nothing was changed: the edits 2 and 1 touch the same text in line 2. Make them one."
    )
    assert "touch the same text" in why_refused("abc", edit("abc", "1"), edit("b", "2"))
    assert edited("ab", edit("a", "1"), edit("b", "2")) == "12"


def test_all_are_of_the_text_as_it_was() -> None:
    assert edited("a b", edit("a", "b"), edit("b", "a")) == "b a"


def test_what_a_pattern_or_a_template_would_mean_is_taken_as_it_stands() -> None:
    assert edited(r"a.*(b)\1", edit(r".*(b)\1", r"\g<0>$1")) == r"a\g<0>$1"


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
        ("a\r\nb\r\n", "a\r\n", "x\r\n", "x\r\nb\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\nb\r\nc\n", "b\nc", "x\ny", "a\nx\r\ny\n"),
        ("a\nb\r\nc\r\n", "b", "x\ny", "a\nx\ny\r\nc\r\n"),
        ("a\r\nb", "\nb", "", "a"),
        ("a", "a", "x\ny", "x\ny"),
        ("a\rb\r\n", "a\rb", "c", "c\r\n"),
    ],
)
def test_ends_of_lines_are_those_that_were_there(text: str, old: str, new: str, after: str) -> None:
    assert edited(text, edit(old, new)) == after


def test_a_place_is_told_by_its_line() -> None:
    assert [line_of("a\nb\n", place) for place in range(5)] == [1, 1, 2, 2, 3]


TEXTS = st.text(alphabet="ab\n ", max_size=12)


@pytest.mark.slow
@given(TEXTS, st.text(alphabet="ab\n ", min_size=1, max_size=3), TEXTS)
def test_one_edit_is_what_replacing_is(text: str, old: str, new: str) -> None:
    places = sum(text.startswith(old, place) for place in range(len(text)))
    for everywhere in (False, True):
        try:
            after = edited(text, edit(old, new, everywhere=everywhere))
        except Unfit:
            assert old == new or places == 0 or (places > 1 and not everywhere)
        else:
            assert after == text.replace(old, new)
            assert places == 1 or everywhere
