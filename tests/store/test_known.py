"""What is known of a file, against the file itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.store.known import TAIL, Known

LINES = st.lists(st.binary(max_size=90).map(lambda data: data.replace(b"\n", b".")), min_size=1, max_size=3).map(
    lambda lines: b"".join(line + b"\n" for line in lines)
)


@given(st.binary(max_size=200), st.lists(st.tuples(st.booleans(), LINES), max_size=6))
def test_size_and_tail_are_the_files_and_what_others_wrote_is_told_where_it_stands(
    before: bytes, writes: list[tuple[bool, bytes]]
) -> None:
    data, known = before, Known().read(before)
    for is_ours, lines in writes:
        ended = b"" if data.endswith(b"\n") or not data else b"\n"
        data += ended + lines
        known = known.ours(ended + lines) if is_ours else known.theirs(ended + lines)

        assert (known.size, known.tail) == (len(data), data[-TAIL:])
    for start, told in known.unseen:
        assert data[start : start + len(told)] == told
    assert len(known.unseen) == sum(not is_ours for is_ours, _ in writes)


def test_a_line_that_was_not_ended_is_told_from_where_it_begins() -> None:
    assert Known().read(b"a\nbc").theirs(b"d\n").unseen == ((2, b"bcd\n"),)
    assert Known().read(b"a\nbc").theirs(b"\nd\n").unseen == ((5, b"d\n"),)
    assert Known().read(b"a\nbc").theirs(b"d\n").theirs(b"e\n").unseen == ((2, b"bcd\n"), (6, b"e\n"))
    assert Known().read(b"a\nbc").ours(b"\nd\n").theirs(b"e\n").unseen == ((7, b"e\n"),)
    assert Known().read(b"a\n").theirs(b"d\n").unseen == ((2, b"d\n"),)


def test_what_was_told_is_not_told_again_and_an_append_is_undone_by_going_back() -> None:
    known = Known().read(b"a\nbc").theirs(b"d\n")

    assert known.seen() == Known(known.size, known.tail)
    assert Known().read(b"a\nbc").seen().line == b"bc"
    assert known.seen().told(2, b"bcd\n").unseen == ((2, b"bcd\n"),)
    assert known.ours(b"x" * 100) != known == Known().read(b"a\nbc").theirs(b"d\n")
