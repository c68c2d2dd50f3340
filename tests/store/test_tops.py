"""The tops of trees, against a walk."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from sapwood.store.tops import Tops


def walked(parents: array[int], place: int) -> int:
    while parents[place] >= 0:
        place = parents[place]
    return place


@given(st.lists(st.integers(-2, 20), max_size=30), st.data())
def test_the_top_is_where_a_walk_ends_whatever_is_hung_and_forgotten(column: list[int], data: st.DataObject) -> None:
    parents = array("i")
    tops = Tops(parents)
    for place, parent in enumerate(column):
        parents.append(parent if parent < place else -1)
        one = data.draw(st.integers(0, place))
        assert tops.of(one) == walked(parents, one)
        if parents[one] < 0 and (top := tops.of(place)) != one:
            parents[one] = place
            tops.hang(one, top)
        assert tops.of(place) == walked(parents, place)
    tops.forget()
    assert [tops.of(place) for place in range(len(parents))] == [walked(parents, at) for at in range(len(parents))]
