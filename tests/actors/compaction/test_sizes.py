"""What is large in a context (C17)."""

from __future__ import annotations

import pytest

from sapwood.actors.compaction.sizes import largest
from tests.actors.compaction.selected import survey


@pytest.mark.parametrize(
    ("line", "counted", "named"),
    [
        ("", None, ()),
        ("l l", None, ()),
        ("u10", None, (("0", 10),)),
        ("u10 a20 l a5 u30", None, (("4", 30), ("1", 20), ("0", 10))),
        ("u99 a20 a5 u30", 3, (("3", 30), ("1", 20), ("2", 5))),
        ("u99 a20 a5 u30", 0, ()),
        ("u7 a7 u7 a7", None, (("0", 7), ("1", 7), ("2", 7))),
    ],
)
def test_the_largest_of_what_was_counted_come_first(
    line: str, counted: int | None, named: tuple[tuple[str, int], ...]
) -> None:
    assert largest(survey(line, counted=counted)) == named
