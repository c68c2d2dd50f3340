"""Where the lines of a file stand, as they are added and taken out again."""

from __future__ import annotations

from sapwood.events.damage import Damage
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


def test_what_was_wrong_with_a_half_line_goes_when_it_is_gone_on_with() -> None:
    earlier = Damage(kind="garbage", line=2, offset=10, length=5)
    torn = Damage(kind="torn_tail", line=3, offset=16, length=4)
    hung = Damage(kind="missing_parent", line=3, offset=16, length=0, entry_id="e", parent_id="x")
    held = Scanned(HEADER, damage=(earlier, torn, hung), lines=3, unfinished=16)

    held.goes_on_from(20)
    assert (held.damage, held.lines) == ((earlier, torn, hung), 3), "another line"
    held.goes_on_from(16)
    assert (held.damage, held.lines) == ((earlier, hung), 2), "an entry of it is there, and still hangs nowhere"
