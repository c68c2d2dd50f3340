"""Where the lines of a file stand, as they are added and taken out again."""

from __future__ import annotations

from sapwood.store.scanned import Scanned
from tests.build import HEADER


def test_lines_that_are_written_stand_one_behind_the_other_with_their_line_feeds() -> None:
    held = Scanned(HEADER)

    held.placed([3, 5], 100)
    held.placed([1], 110)

    assert [*held.offsets] == [100, 104, 110]
    assert [*held.lengths] == [3, 5, 1]
    assert held.lines == 4, "the header's line is the first"


def test_a_line_that_is_no_entry_has_no_place() -> None:
    held = Scanned(HEADER)
    held.placed([3, 5, 7], 0)

    held.unplaced(-2)

    assert [*held.offsets] == [0, 10]
    assert [*held.lengths] == [3, 7]
