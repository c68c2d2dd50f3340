from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.actors.kernel.track import Cursor, Published, Resync, Track


@attrs.frozen
class Delta:
    """A mergeable event; a structural one is a bare int."""

    atoms: tuple[int, ...]


def delta(*atoms: int) -> Delta:
    return Delta(atoms)


def merge(a: Any, b: Any) -> Delta | None:
    return Delta(a.atoms + b.atoms) if isinstance(a, Delta) and isinstance(b, Delta) else None


def track(capacity: int, *, merging: bool = False) -> Track:
    made = Track(capacity, merge=merge if merging else None, snapshot=lambda: ("state", made.seq))
    return made


def everything(made: Track, cursor: Cursor) -> list[Published | Resync]:
    out: list[Published | Resync] = []
    while (item := made.read(cursor)) is not None:
        out.append(item)
    return out


def test_a_track_that_keeps_nothing_is_not_made() -> None:
    with pytest.raises(ValueError, match="at least one"):
        track(0)


def test_a_cursor_reads_what_comes_after_it() -> None:
    made = track(10)
    made.append("a")
    cursor = made.cursor(None)
    made.append("b")
    assert everything(made, cursor) == [Published(2, "b")]
    assert everything(made, made.cursor(0)) == [Published(1, "a"), Published(2, "b")]
    assert everything(made, made.cursor(2)) == []


def test_a_cursor_that_fell_off_gets_one_resync_and_goes_on() -> None:
    made = track(3)
    cursor = made.cursor(None)
    for n in range(5):
        made.append(n)
    assert everything(made, cursor) == [Resync(("state", 5), 5)]
    made.append("next")
    assert everything(made, cursor) == [Published(6, "next")]


def test_a_cursor_on_the_edge_has_not_fallen_off() -> None:
    made = track(3)
    cursor = made.cursor(None)
    for n in range(3):
        made.append(n)
    assert [item.seq for item in everything(made, cursor)] == [1, 2, 3]


@pytest.mark.parametrize("since", [-1, 1, 99])
def test_since_that_cannot_be_continued_begins_with_a_resync(since: int) -> None:
    made = track(3)
    for n in range(5):
        made.append(n)
    assert everything(made, made.cursor(since)) == [Resync(("state", 5), 5)]


def test_a_lagging_cursor_reads_mergeable_neighbours_as_one() -> None:
    made = track(10, merging=True)
    cursor = made.cursor(None)
    for event in [delta(1), delta(2), 3, delta(4), delta(5)]:
        made.append(event)
    assert everything(made, cursor) == [Published(2, delta(1, 2)), Published(3, 3), Published(5, delta(4, 5))]


def test_a_full_track_merges_before_it_drops() -> None:
    made = track(3, merging=True)
    cursor = made.cursor(None)
    for event in [0, delta(1), delta(2), delta(3), delta(4)]:
        made.append(event)
    assert everything(made, cursor) == [Published(1, 0), Published(5, delta(1, 2, 3, 4))]


def test_what_a_cursor_stands_between_is_not_merged() -> None:
    made = track(2, merging=True)
    made.append(delta(1))
    between = made.cursor(None)
    made.append(delta(2))
    made.append(3)
    assert everything(made, between) == [Published(2, delta(2)), Published(3, 3)]


def test_a_pair_that_was_held_apart_is_merged_when_its_cursor_is_gone() -> None:
    made = track(3, merging=True)
    made.append(0)
    begin = made.cursor(None)
    made.append(delta(1))
    between = made.cursor(None)
    for event in [delta(2), 3]:
        made.append(event)
    made.forget(between)
    made.append(4)
    assert everything(made, begin) == [Published(3, delta(1, 2)), Published(4, 3), Published(5, 4)]


def test_merging_goes_on_after_a_late_merge_took_the_place_where_it_was() -> None:
    made = track(3, merging=True)
    made.append(delta(1))
    between = made.cursor(None)
    for event in [delta(2), delta(3), 4]:
        made.append(event)  # the second and third merge
    made.forget(between)
    made.append(5)  # the first joins them
    begin = made.cursor(3)
    for event in [delta(6), delta(7)]:
        made.append(event)
    assert everything(made, begin) == [Published(4, 4), Published(5, 5), Published(7, delta(6, 7))]


def test_what_was_merged_away_is_not_merged_again() -> None:
    made = track(4, merging=True)
    made.append(0)
    begin = made.cursor(None)
    made.append(delta(2))
    first = made.cursor(None)
    made.append(delta(3))
    second = made.cursor(None)
    for event in [delta(4), 5]:
        made.append(event)
    made.forget(first)
    made.forget(second)
    for event in [6, 7, 8]:
        made.append(event)
    assert everything(made, begin) == [Resync(("state", 8), 8)]


def test_a_cursor_behind_what_was_merged_goes_on_without_a_gap() -> None:
    made = track(2, merging=True)
    made.append(delta(1))
    made.append(delta(2))
    cursor = made.cursor(None)
    for event in [3, 4]:
        made.append(event)
    assert everything(made, cursor) == [Published(3, 3), Published(4, 4)]


def test_since_inside_of_what_was_merged_begins_with_a_resync() -> None:
    made = track(2, merging=True)
    for event in [delta(1), delta(2), 3]:
        made.append(event)
    assert everything(made, made.cursor(1)) == [Resync(("state", 3), 3)]
    assert everything(made, made.cursor(2)) == [Published(3, 3)]


def test_a_snapshot_that_raises_leaves_the_cursor_where_it_was() -> None:
    fails = [True]

    def snapshot() -> str:
        if fails.pop():
            raise OSError("no state")
        return "state"

    made = Track(1, merge=None, snapshot=snapshot)
    cursor = made.cursor(None)
    made.append(1)
    made.append(2)
    with pytest.raises(OSError, match="no state"):
        made.read(cursor)
    fails.append(False)
    assert everything(made, cursor) == [Resync("state", 2)]


def test_a_forgotten_cursor_is_collected() -> None:
    made = track(2, merging=True)
    made.cursor(None)
    assert len(made._cursors) == 0  # pyright: ignore[reportPrivateUsage]


def test_a_cursor_left_behind_keeps_no_dropped_events_alive() -> None:
    made = track(2)
    left = made.cursor(0)
    for n in range(100):
        made.append(n)
    slot, length = left.slot, 0
    while slot.next is not None:
        slot, length = slot.next, length + 1
    assert length <= 1


def test_the_work_of_a_full_track_does_not_grow_with_its_size() -> None:
    """This used to be a sweep over all pairs at every publish."""
    offered = [0]

    def count(a: Any, b: Any) -> Any:
        offered[0] += 1

    made = Track(100, merge=count, snapshot=None)
    for n in range(1_000):
        made.append(n)
    assert offered[0] <= 1_000


class Copying:
    """Merges texts, and counts the characters that it copied."""

    def __init__(self) -> None:
        self.copied = 0

    def __call__(self, a: Any, b: Any) -> Any:
        if not (isinstance(a, str) and isinstance(b, str)):
            return None
        self.copied += len(a) + len(b)
        return a + b


PIECES = 2**13
"""Thirteen doublings."""


def test_a_long_row_of_pieces_costs_its_own_length_a_doubling() -> None:
    """This used to copy all that was merged with every piece: 33 million characters here, and not 120 thousand."""
    copying = Copying()
    made = Track(16, merge=copying, snapshot=None)
    cursor = made.cursor(None)
    for _ in range(PIECES):
        made.append("x")
    assert copying.copied <= 16 * PIECES  # a doubling each, and being offered

    copying.copied = 0
    assert everything(made, cursor) == [Published(PIECES, "x" * PIECES)]
    assert copying.copied <= 3 * PIECES


def test_reading_many_pieces_at_once_costs_their_own_length_a_doubling() -> None:
    """This used to copy all that was read so far with every piece."""
    copying = Copying()
    made = Track(PIECES, merge=copying, snapshot=None)
    cursor = made.cursor(None)
    for _ in range(PIECES):
        made.append("x")
    assert copying.copied == 0

    assert everything(made, cursor) == [Published(PIECES, "x" * PIECES)]
    assert copying.copied <= 16 * PIECES


def test_a_merged_row_is_kept_in_few_chunks() -> None:
    made = Track(2, merge=Copying(), snapshot=None)
    for _ in range(PIECES):
        made.append("x")
    slot = made._head.next  # pyright: ignore[reportPrivateUsage]
    assert slot is not None
    assert len(slot.row()) <= 14


def test_what_a_row_was_merged_from_is_read_in_order_whatever_its_length() -> None:
    for n in range(1, 40):
        made = Track(2, merge=Copying(), snapshot=None)
        cursor = made.cursor(None)
        letters = [chr(ord("a") + at) for at in range(n)]
        for letter in letters:
            made.append(letter)
        assert everything(made, cursor) == [Published(n, "".join(letters))]


def test_a_merge_that_raises_harms_nobody() -> None:
    """This used to crash whoever published, and to jam whoever read."""

    def raises(a: Any, b: Any) -> Any:
        raise TypeError("can only concatenate str")

    made = Track(3, merge=raises, snapshot=lambda: "state")
    cursor = made.cursor(None)
    for n in range(3):
        made.append(n)
    assert everything(made, cursor) == [Published(1, 0), Published(2, 1), Published(3, 2)]
    for n in range(3, 9):
        assert made.append(n) == n + 1
    assert everything(made, cursor) == [Resync("state", 9)]


def test_a_merge_that_breaks_its_word_costs_its_reader_a_resync() -> None:
    def pairs(a: Any, b: Any) -> Any:
        return a + b if len(a) == len(b) == 1 else None

    made = Track(2, merge=pairs, snapshot=lambda: "state")
    cursor = made.cursor(None)
    for letter in "abcde":
        made.append(letter)
    assert everything(made, cursor) == [Resync("state", 5)]
    made.append("f")
    assert everything(made, cursor) == [Published(6, "f")]


PROGRAMS = st.lists(
    st.one_of(
        st.tuples(st.just("delta"), st.just(0)),
        st.tuples(st.just("delta"), st.just(0)),
        st.tuples(st.just("open"), st.just(-1)),
        st.tuples(st.just("fact"), st.just(0)),
        st.tuples(st.just("open"), st.integers(-1, 60)),
        st.tuples(st.just("read"), st.integers(0, 5)),
        st.tuples(st.just("drain"), st.integers(0, 5)),
        st.tuples(st.just("forget"), st.integers(0, 5)),
    ),
    max_size=80,
)


class Model:
    """A cursor and what it must have seen."""

    def __init__(self, made: Track, since: int | None) -> None:
        self.made = made
        self.cursor = made.cursor(since)
        self.seq = made.seq if since is None else since
        self.lost = self.cursor.slot.seq < 0

    def read(self) -> bool:
        fell_off = self.lost or self.seq < self.made._head.seq  # pyright: ignore[reportPrivateUsage]
        item = self.made.read(self.cursor)
        match item:
            case Published(seq, event):
                atoms = list(event.atoms) if isinstance(event, Delta) else [event]
                assert atoms == list(range(self.seq + 1, seq + 1))
                self.seq = seq
            case Resync(snapshot, seq):
                assert fell_off
                assert snapshot == ("state", seq)
                assert seq == self.made.seq
                self.lost = False
                self.seq = seq
            case None:
                assert self.seq == self.made.seq
        return item is not None


def mergeable(made: Track) -> bool:
    """Whether the track still keeps a pair that it could have merged."""
    standing = {cursor.slot for cursor in made._living()}  # pyright: ignore[reportPrivateUsage]
    slot = made._head.next  # pyright: ignore[reportPrivateUsage]
    while slot is not None and slot.next is not None:
        if slot not in standing and merge(slot.last, slot.next.first) is not None:
            return True
        slot = slot.next
    return False


@pytest.mark.slow
@settings(max_examples=300)
@given(capacity=st.integers(1, 6), program=PROGRAMS)
def test_every_cursor_reads_what_was_published_modulo_merging(capacity: int, program: list[tuple[str, int]]) -> None:
    made = track(capacity, merging=True)
    cursors = [Model(made, None)]
    for command, n in program:
        model = cursors[n % len(cursors)] if cursors else None
        if command in {"delta", "fact"}:
            head = made._head  # pyright: ignore[reportPrivateUsage]
            seq = made.seq + 1
            assert made.append(delta(seq) if command == "delta" else seq) == seq
            dropped = made._head is not head  # pyright: ignore[reportPrivateUsage]
            assert not (dropped and mergeable(made))
            assert len(made._aside) <= capacity + 1  # pyright: ignore[reportPrivateUsage]
        elif command == "open":
            cursors.append(Model(made, None if n < 0 else n))
        elif model is not None and command == "read":
            model.read()
        elif model is not None and command == "drain":
            while model.read():
                pass
        elif model is not None:
            made.forget(model.cursor)
            cursors.remove(model)
    kept, slot = 0, made._head.next  # pyright: ignore[reportPrivateUsage]
    while slot is not None:
        kept, slot = kept + 1, slot.next
    assert kept <= capacity
    for model in cursors:
        while model.read():
            pass
