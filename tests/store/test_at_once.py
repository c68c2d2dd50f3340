"""Many entries at once, against one after the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.codec import Envelope
from sapwood.events.ids import EntryId
from sapwood.store.at_once import MANY, earlier_parents, give_back, take_ids
from sapwood.store.tree import Tree

NAMES = st.integers(0, 60).map(lambda number: EntryId(f"{number:02x}"))


@given(st.lists(NAMES, unique=True, max_size=9), st.lists(NAMES, min_size=1, max_size=9))
def test_all_ids_get_their_places_or_none_does(known: list[EntryId], ids: list[EntryId]) -> None:
    index = {one: place for place, one in enumerate(known)}
    before = dict(index)
    free = len({*known, *ids}) == len(known) + len(ids)

    assert take_ids(index, ids, len(known)) == free
    assert index == (before | {one: len(known) + nth for nth, one in enumerate(ids)} if free else before)
    if free:
        give_back(index, ids)
        assert index == before


def test_parents_are_found_if_each_stands_before_its_child() -> None:
    a, b, c, d = (EntryId(one) for one in "abcd")
    index = {a: 0, b: 1, c: 2, d: 3}

    def found(*named: str | None) -> list[int] | None:
        parents = earlier_parents(index, a, [b, c, d], [None if one is None else EntryId(one) for one in named])
        return None if parents is None else [*parents]

    assert found("a", "b", "c") == [0, 1, 2]
    assert found("a", "a", "b") == [0, 0, 1]
    assert [found("a", "d", "c"), found("a", "c", "c"), found("a", None, "b"), found("x", "b", "c")] == [None] * 4


SAID = st.lists(
    st.tuples(st.sampled_from(["message", "label", "custom"]), NAMES, st.none() | NAMES), min_size=1, max_size=3 * MANY
)
CHAINS = st.lists(st.integers(1, 3), min_size=MANY, max_size=3 * MANY).map(
    lambda back: [
        ("message", EntryId(f"{nth:02x}"), EntryId(f"{max(0, nth - step):02x}") if nth else None)
        for nth, step in enumerate(back)
    ]
)


@given(SAID | CHAINS | st.tuples(CHAINS, SAID).map(lambda two: two[0] + two[1]))
def test_a_tree_that_takes_them_at_once_is_the_one_that_takes_each(
    said: list[tuple[str, EntryId, EntryId | None]],
) -> None:
    at_once, each = Tree(), Tree()
    envelopes = [Envelope(*one) for one in said]
    refused = [nth for nth, envelope in enumerate(envelopes) if each.extend([envelope])]

    assert at_once.extend(envelopes) == refused
    assert len(at_once) == len(each)
    for place in range(len(each)):
        assert (at_once.id(place), at_once.kind(place)) == (each.id(place), each.kind(place))
        assert (at_once.parent(place), at_once.detached(place)) == (each.parent(place), each.detached(place))
        assert at_once.index(each.id(place)) == place
    assert [*at_once.misplaced()] == [*each.misplaced()]
    assert (at_once.children(None), at_once.tips()) == (each.children(None), each.tips())
