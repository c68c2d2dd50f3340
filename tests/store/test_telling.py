"""The lines of bytes, and damage in its order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.codec import Envelope
from sapwood.events.damage import Damage
from sapwood.events.ids import EntryId
from sapwood.store.repair import Flaw
from sapwood.store.scanned import Scanned
from sapwood.store.telling import LineNumbers, misplaced, new_damage, told
from sapwood.store.windows import reading
from tests.build import HEADER

BYTES = st.lists(st.sampled_from([b"\n", b"ab", b"c"]), min_size=1, max_size=40).map(b"".join)


@given(BYTES, st.sets(st.integers(0, 40)), st.lists(st.integers(0, 80)))
def test_a_byte_is_on_the_line_behind_the_line_feeds_before_it(data: bytes, cuts: set[int], asked: list[int]) -> None:
    numbers = LineNumbers(reading(data))
    starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == ord("\n"))]
    for start in [0, *sorted(starts[cut] for cut in cuts if 0 < cut < len(starts))]:
        numbers.mark(start, data.count(b"\n", 0, start))

    for at in sorted(asked):
        assert numbers.of(at) == 1 + data.count(b"\n", 0, at)


def test_what_is_before_the_last_mark_is_not_read() -> None:
    read = list[int]()

    def reading_there(offset: int, length: int) -> bytes:
        read.append(offset)
        return b"x\n" * length

    numbers = LineNumbers(reading_there)
    for at in range(5):
        numbers.mark(at * 1000, at * 500)

    assert numbers.of(4000) == 2001
    assert read == []


def held(*said: tuple[str, str | None]) -> Scanned:
    scanned = Scanned(HEADER)
    scanned.placed([9] * len(said), 100)
    scanned.tree.extend([Envelope("message", EntryId(one), None if up is None else EntryId(up)) for one, up in said])
    return scanned


def test_what_stands_wrongly_is_told_of_new_entries_alone() -> None:
    scanned = held(("a", None), ("b", "x"), ("c", None), ("d", "d"))

    assert [(one.kind, one.offset, one.entry_id) for one in misplaced(scanned, 0)] == [
        ("missing_parent", 110, "b"),
        ("self_parent", 130, "d"),
        ("several_roots", 120, "c"),
    ]
    assert [one.kind for one in misplaced(scanned, 3)] == ["self_parent"]


def test_damage_is_told_in_the_order_of_the_file() -> None:
    data = b"0\n1\n2\n"
    numbers = LineNumbers(reading(data))
    numbers.mark(0, 6)
    flaws = [Flaw("garbage", 4, 1, "b", "a"), Flaw("blank_line", 0, 1, count=2), Flaw("missing_parent", 2, 0, "c", "b")]
    scanned = held(("a", None), ("c", "b"))
    scanned.tree.bridge([("b", "a")])

    assert [(one.kind, one.line, one.offset, one.bridged, one.count) for one in told(flaws, numbers, scanned.tree)] == [
        ("blank_line", 7, 0, False, 2),
        ("missing_parent", 8, 2, False, 1),
        ("garbage", 9, 4, True, 1),
    ]


def test_damage_is_new_that_was_not_there_and_what_has_gone_meanwhile_is_no_matter() -> None:
    first, half, same = (Damage(kind="garbage", line=1, offset=0, length=3) for _ in range(3))
    before = (first, half)

    assert new_damage(before, before) == ()
    assert [*new_damage(before, (first, same))] == [same], "two that are alike are two"
    assert [*new_damage((), before)] == [first, half]
