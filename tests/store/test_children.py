"""Children, against a look at every parent."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from sapwood.store.children import Children

PARENTS = st.lists(st.integers(-2, 9), min_size=1, max_size=10)


@given(PARENTS, PARENTS)
def test_they_are_those_that_name_it_in_order_however_the_column_grows(first: list[int], more: list[int]) -> None:
    parents = array("i")
    children = Children(parents)
    for part in (first, more):
        known = len(parents)
        parents.extend(min(parent, known + at) for at, parent in enumerate(part))
        for place in range(len(parents)):
            assert children.of(place) == tuple(at for at, parent in enumerate(parents) if parent == place)


def test_a_parent_that_changes_is_seen_once_the_old_ones_are_forgotten() -> None:
    parents = array("i", [-1, 0, 0])
    children = Children(parents)
    assert (children.of(0), children.of(1)) == ((1, 2), ())

    parents[2] = 1
    children.forget()

    assert (children.of(0), children.of(1), children.of(2)) == ((1,), (2,), ())
