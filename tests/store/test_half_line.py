"""A line that comes piece by piece: how often it is read, and what is made of one that its writer takes back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.store.half_line import HalfLine
from sapwood.store.known import TAIL


class File:
    """Bytes that are read, and how many of them."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.read_bytes = 0

    def read(self, offset: int, length: int) -> bytes:
        found = self.data[offset : offset + length]
        self.read_bytes += len(found)
        return found

    def whole_lines(self, half: HalfLine, start: int) -> bytes:
        return half.whole_lines(self.read, start, len(self.data))


def test_whole_lines_are_given_and_what_follows_is_not() -> None:
    assert File(b"one\ntwo\nthr").whole_lines(HalfLine(), 4) == b"two\n"
    assert File(b"one\ntwo\n").whole_lines(HalfLine(), 0) == b"one\ntwo\n"
    assert File(b"one").whole_lines(HalfLine(), 0) == b""


def test_a_line_in_a_thousand_pieces_is_read_twice() -> None:
    """This used to be read from its start at each look: five hundred times what it is."""
    file, half = File(), HalfLine()
    piece = b"x" * 1_000
    for _ in range(1_000):
        file.data += piece
        assert file.whole_lines(half, 0) == b""
    looked = 1_000 * TAIL
    assert file.read_bytes <= len(file.data) + looked

    file.data += b"\nmore"
    assert file.whole_lines(half, 0) == file.data[:-4]
    assert file.read_bytes <= 2 * len(file.data) + looked + TAIL


def test_one_that_did_not_grow_is_not_read_again() -> None:
    file, half = File(b"x" * 10_000), HalfLine()
    file.whole_lines(half, 0)
    before = file.read_bytes

    assert file.whole_lines(half, 0) == b""
    assert file.read_bytes - before <= TAIL


def test_one_that_was_taken_back_for_another_is_looked_at_anew() -> None:
    half = HalfLine()
    assert File(b"a" * 100).whole_lines(half, 0) == b""
    assert File(b"b" * 49 + b"\n" + b"c" * 60).whole_lines(half, 0) == b"b" * 49 + b"\n"
    assert File(b"d" * 20).whole_lines(half, 0) == b""
    assert File(b"d" * 10 + b"\n").whole_lines(half, 0) == b"d" * 10 + b"\n"


def test_what_was_known_of_another_line_says_nothing_of_this_one() -> None:
    file, half = File(b"one\nx"), HalfLine()
    assert file.whole_lines(half, 4) == b""
    assert file.whole_lines(half, 0) == b"one\n"


@given(pieces=st.lists(st.binary(min_size=1, max_size=5).map(lambda one: one.replace(b"\r", b"\n")), max_size=12))
def test_however_it_is_cut_each_whole_line_is_given_once(pieces: list[bytes]) -> None:
    file, half, given_so_far = File(), HalfLine(), b""
    for piece in pieces:
        file.data += piece
        given_so_far += file.whole_lines(half, len(given_so_far))

        assert given_so_far == file.data[: file.data.rfind(b"\n") + 1]
