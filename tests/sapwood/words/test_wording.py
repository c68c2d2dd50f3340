"""Text for a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.words.wording import (
    LONGEST_LINE,
    LONGEST_VALUE,
    MARK,
    Piece,
    counted,
    cut,
    line,
    named,
    one_line,
    plain,
    quoted,
    visible,
)


@pytest.mark.parametrize("bad", ["\x1b[31mred", "bell\x07", "back\x08", "\ud800", "\u202eevil", "\x9b", "a\rb", "\x00"])
def test_no_control_character_reaches_the_terminal(bad: str) -> None:
    assert visible(bad).replace("�", "").isprintable()
    assert "�" in visible(bad)
    assert len(visible(bad)) == len(bad)


def test_what_is_for_the_eye_stays() -> None:
    assert visible("Færder 🐦\n\ttab\r\nend") == "Færder 🐦\n\ttab\nend"


@given(st.text(), st.integers(5, 50))
def test_a_cut_text_is_one_short_visible_line(text: str, width: int) -> None:
    short = cut(text, width)

    assert short.isprintable()
    assert len(short) <= width + 2


def test_a_text_is_cut_at_its_first_line_or_at_the_width_and_says_so() -> None:
    assert cut("\n\n  one\ntwo") == f"one {MARK}"
    assert cut("one\n\n") == "one"
    assert cut("a" * 10, 10) == "a" * 10
    assert cut("a" * 11, 10) == "a" * 9 + MARK
    assert cut("a\tb") == "a b"
    assert cut("") == ""


@given(st.text(), st.integers(5, 50))
def test_a_part_of_a_line_is_short_and_visible(text: str, width: int) -> None:
    short = one_line(text, width)

    assert short.isprintable()
    assert len(short) <= width


def test_a_path_is_named_in_one_line() -> None:
    assert named("a/b.yaml") == "a/b.yaml"
    assert named("a\nb\t\x1b[31m\udcff") == "a�b��[31m�"
    assert named("") == "''"
    assert len(named("x" * 10_000)) <= LONGEST_LINE


@pytest.mark.parametrize("value", [["x" * 5000] * 5000, "y" * 10**7, {"k" * 5000: [[[[[1]]]]]}, list(range(10**6))])
def test_a_value_in_a_message_is_short(value: object) -> None:
    assert 10 < len(quoted(value)) <= LONGEST_VALUE
    assert quoted("a\n\ud800") == r"'a\n\ud800'"
    assert (quoted(None), quoted(5)) == ("None", "5")


def test_a_line_in_a_pipe_is_its_pieces_without_styles() -> None:
    pieces = line("a ", Piece("b", "bad"), "  ")

    assert pieces == (Piece("a "), Piece("b", "bad"), Piece("  "))
    assert plain(pieces) == "a b"


def test_numbers_come_with_their_word() -> None:
    assert counted(1, "entry", "entries") == "1 entry"
    assert counted(1018, "entry", "entries") == "1,018 entries"
    assert counted(0, "event") == "0 events"
