"""Of what a command says both ends are held and shown, as text that can be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.tools import output
from sapwood.actors.tools.output import LATEST_BYTES, LONGEST_LINE, MOST_BYTES, MOST_LINES, Ends


def ends(*said: bytes) -> Ends:
    made = Ends()
    for one in said:
        made.add(one)
    return made


def between(made: Ends) -> str:
    return f"[... the middle of {made.lines:,} lines, {made.size:,} bytes, is left out ...]"


@pytest.mark.parametrize(
    ("said", "lines", "shown"),
    [
        (b"", 0, ""),
        (b"a", 1, "a"),
        (b"a\n", 1, "a"),
        (b"a\n\n", 2, "a\n"),
        (b"a\r\nb\r\n", 2, "a\nb"),
        (b"10%\r20%\r\n", 2, "10%\n20%"),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07\x08here\0", 1, "red here"),
        (b"caf\xc3\xa9 \xff\xfe", 1, "café ��"),
    ],
)
def test_what_is_short_is_shown_whole_and_readable(said: bytes, lines: int, shown: str) -> None:
    made = ends(*([said] if said else []))

    assert (made.lines, made.size) == (lines, len(said))
    assert (made.shown().text, made.shown().whole) == (shown, True)


def test_a_line_end_in_two_pieces_is_one() -> None:
    assert ends(b"a\r", b"\nb").lines == 2
    assert ends(b"a\r", b"b").lines == 2
    assert ends(b"a\n", b"\nb").lines == 3


def test_of_too_many_lines_both_ends_are_shown() -> None:
    made = ends(*(b"%d\n" % number for number in range(MOST_LINES + 1)))

    lines = made.shown().text.split("\n")

    assert not made.is_short
    assert not made.shown().whole
    half = MOST_LINES // 2
    assert lines == [*map(str, range(half)), between(made), *map(str, range(MOST_LINES + 1 - half, MOST_LINES + 1))]


def test_just_as_many_lines_as_may_be_are_shown_whole() -> None:
    made = ends(b"x\n" * MOST_LINES)

    assert made.is_short
    assert made.shown().whole


@pytest.mark.parametrize("times", [2, 5, 50])
def test_of_too_many_bytes_whole_lines_of_both_ends_are_shown(times: int) -> None:
    line = b"0123456789" * 7
    made = ends(*[line + b"\n"] * (times * MOST_BYTES // 71))

    shown = made.shown()
    lines = shown.text.split("\n")

    assert not shown.whole
    assert len(shown.text) <= MOST_BYTES + 100
    assert set(lines) == {line.decode(), between(made)}
    assert len(shown.text) > MOST_BYTES - 200


def test_a_line_that_is_too_long_does_not_take_the_room_of_all_others() -> None:
    made = ends(b"first\n", b"x" * MOST_BYTES, b"\nlast\n")

    shown = made.shown()

    assert not shown.whole
    assert shown.text.startswith("first\nxxx")
    assert shown.text.endswith("xxx\nlast")
    assert "bytes left out" in shown.text
    assert len(shown.text) < LONGEST_LINE + 20


def test_of_a_line_that_is_longer_than_what_is_held_both_ends_are_shown() -> None:
    made = ends(*[b"ab" * 1000] * 200, "é".encode() * 1000)

    shown = made.shown()

    first, middle, last = shown.text.split("\n")
    assert not shown.whole
    assert middle == between(made)
    assert first == "ab" * (LONGEST_LINE // 2) + " ..."
    assert last.startswith("... ")
    assert last.endswith("é")
    assert "�" not in shown.text


def test_a_line_that_is_torn_where_holding_ends_is_left_out() -> None:
    made = ends(b"first\n", b"x" * 5 * MOST_BYTES, b"\nlast")

    assert made.shown().text == f"first\n{between(made)}\nlast"


def test_a_binary_grows_as_text_and_is_cut_all_the_same() -> None:
    made = ends(b"\xff" * MOST_BYTES)

    assert made.is_short
    assert not made.shown().whole
    assert len(made.shown().text.encode()) <= MOST_BYTES
    assert made.held == b"\xff" * MOST_BYTES


def test_more_than_fits_that_is_mostly_for_a_terminal_is_shown_whole() -> None:
    made = ends(b"\x1b[31m" * (MOST_BYTES // 4), b"red")

    assert not made.is_short
    assert (made.shown().text, made.shown().whole) == ("red", True)


def test_the_latest_are_the_last_lines_and_no_part_of_a_character() -> None:
    made = ends("é".encode() * LATEST_BYTES + b"x\n")

    assert made.latest() == "é" * (LATEST_BYTES // 2 - 1) + "x"
    assert ends(b"a\nb\n").latest() == "a\nb"
    assert ends("a€".encode()[:-1]).latest() == "a"


def test_what_is_held_is_bounded() -> None:
    made = Ends()
    for _ in range(160):
        made.add(b"y\n" * (1 << 15))
        assert len(made.held) <= 4 * MOST_BYTES
    assert made.size == 160 << 16
    assert made.lines == 160 << 15


PIECES = st.lists(
    st.sampled_from([b"\r", b"\n", b"\r\n", b"a", b"word ", "é€".encode(), b"\xff", b"x" * 50, b"\x1b[1m"]), max_size=60
)


@pytest.mark.slow
@given(PIECES)
def test_whatever_came_and_in_how_many_pieces_it_is_counted_and_within_bounds(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("MOST_BYTES", 200), ("MOST_LINES", 20), ("LONGEST_LINE", 80), ("_HELD", 200)):
            patch.setattr(output, name, value)
        one = ends(*([whole] if whole else []))
        many = ends(*(bytes([byte]) for byte in whole))

        assert (one.size, one.lines) == (many.size, many.lines)
        assert one.lines == len(whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n").splitlines())
        for made in (one, many):
            shown = made.shown()
            text = whole.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").replace("\x1b[1m", "")
            assert shown.text == text.removesuffix("\n") or not shown.whole
            assert len(shown.text.encode()) <= 200 + len(between(made)) + 2
            assert shown.text.count("\n") <= 20 + 4
