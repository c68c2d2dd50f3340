"""The tree against a naive one, for whatever a file may say; and that it stays quick."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.codec import Envelope
from sapwood.events.entries import BOOKKEEPING
from sapwood.events.ids import EntryId
from sapwood.store.tree import Tree
from tests.store.trees import grow

Said = tuple[str, str, str | None]
"""Kind, id, parent."""
Lost = tuple[str, str | None]
"""Id, parent."""


class Naive:
    """A tree of dicts, grown by the rules as they are written."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.named: dict[str, str | None] = {}
        self.parents: dict[str, str | None] = {}

    def grow(self, kind: str, entry_id: str, parent: str | None) -> bool:
        if entry_id in self.kinds:
            return False
        self.kinds[entry_id], self.named[entry_id] = kind, parent
        self.parents[entry_id] = parent if parent in self.kinds and parent != entry_id else None
        for child, name in self.named.items():
            waits = name == entry_id and self.parents[child] is None
            if waits and child not in self.above(entry_id):
                self.parents[child] = entry_id
        return True

    def above(self, entry_id: str | None) -> list[str]:
        found: list[str] = []
        while entry_id is not None:
            assert entry_id not in found
            found.append(entry_id)
            entry_id = self.parents[entry_id]
        return found

    def bridge(self, lost: dict[str, str | None]) -> None:
        """What waits for a lost one, from the first on."""
        for child, name in self.named.items():
            if self.parents[child] is not None or name == child:
                continue
            end, passed = name, set[str | None]()
            while end in lost and end not in self.kinds and end not in passed:
                passed.add(end)
                end = lost[end]
            if passed and end is None:
                self.named[child] = None
            elif passed and end in self.kinds and child not in self.above(end):
                self.parents[child] = end

    def position(self, entry_id: str) -> str | None:
        return next((one for one in self.above(entry_id) if self.kinds[one] not in BOOKKEEPING), None)

    def children(self, entry_id: str | None) -> list[str]:
        return [one for one in self.kinds if self.parents[one] == entry_id]

    def tips(self) -> list[str]:
        positions = [one for one in self.kinds if self.kinds[one] not in BOOKKEEPING]
        return [one for one in positions if not any(one in self.above(other)[1:] for other in positions)]


NAMES: Final = st.sampled_from([*"abcdefgh"])
KINDS: Final = st.sampled_from(["message", "message", "label", "custom", "compaction", "from.tomorrow"])
SAID: Final = st.lists(st.tuples(KINDS, NAMES, st.none() | NAMES | st.just("nowhere")), max_size=14)


def grown(said: Iterable[Said]) -> Tree:
    tree = Tree()
    for kind, entry_id, parent in said:
        grow(tree, kind, EntryId(entry_id), parent)
    return tree


def chain(*kinds: str) -> Tree:
    return grown((kind, str(index), str(index - 1) if index else None) for index, kind in enumerate(kinds))


def envelopes(said: Iterable[Said]) -> list[Envelope]:
    return [Envelope(kind, EntryId(one), None if parent is None else EntryId(parent)) for kind, one, parent in said]


def ids(tree: Tree, indices: Iterable[int]) -> list[str]:
    return [tree.id(index) for index in indices]


def assert_alike(tree: Tree, naive: Naive) -> None:
    every = list(naive.kinds)
    assert ids(tree, range(len(tree))) == every
    assert tree.leaf == (len(every) - 1 if every else None)
    assert ids(tree, tree.children(None)) == naive.children(None)
    assert ids(tree, tree.tips()) == naive.tips()
    for kind in {*naive.kinds.values(), "unheard of"}:
        assert ids(tree, tree.of_kind(kind)) == [one for one in every if naive.kinds[one] == kind]
    for index, one in enumerate(every):
        assert (tree.index(one), tree.kind(index), one in tree) == (index, naive.kinds[one], True)
        parent, position = tree.parent(index), tree.position(index)
        assert (None if parent is None else tree.id(parent)) == naive.parents[one]
        assert tree.detached(index) == (naive.named[one] is not None and naive.parents[one] is None)
        assert ids(tree, tree.children(index)) == naive.children(one)
        assert ids(tree, tree.upwards(index)) == naive.above(one)
        assert ids(tree, tree.path(index)) == naive.above(one)[::-1]
        assert (None if position is None else tree.id(position)) == naive.position(one)


def reachable(tree: Tree) -> list[int]:
    found: list[int] = []
    todo = list(tree.children(None))
    while todo:
        found.append(todo.pop())
        todo.extend(tree.children(found[-1]))
    return sorted(found)


@pytest.mark.slow
@given(SAID)
def test_it_is_the_naive_tree_at_every_step(said: list[Said]) -> None:
    tree, naive = Tree(), Naive()
    for kind, entry_id, parent in said:
        assert grow(tree, kind, EntryId(entry_id), parent) == naive.grow(kind, entry_id, parent)
        assert_alike(tree, naive)


@pytest.mark.slow
@given(SAID, st.lists(st.integers(0, 14), max_size=3))
def test_how_it_is_cut_into_calls_makes_no_difference(said: list[Said], cuts: list[int]) -> None:
    tree, naive = Tree(), Naive()
    bounds = sorted({0, len(said), *(cut for cut in cuts if cut < len(said))})
    for first, end in itertools.pairwise(bounds):
        part = said[first:end]
        refused = tree.extend(envelopes(part))
        assert refused == [nth for nth, one in enumerate(part) if not naive.grow(*one)]
    assert_alike(tree, naive)


LOST: Final = st.lists(st.tuples(NAMES | st.just("nowhere"), st.none() | NAMES | st.just("other")), max_size=6)


@pytest.mark.slow
@given(SAID, LOST, st.lists(st.integers(0, 14), max_size=3), st.integers(0, 3))
def test_bridges_hold_whenever_they_are_built(said: list[Said], lost: list[Lost], cuts: list[int], when: int) -> None:
    """Against the naive tree, which builds them when all entries are there."""
    tree, naive = Tree(), Naive()
    bounds = sorted({0, len(said), *(cut for cut in cuts if cut < len(said))})
    for part, (first, end) in enumerate(itertools.pairwise(bounds)):
        if part == when:
            tree.bridge(lost[:2])
        tree.extend(envelopes(said[first:end]))
        tree.tips()
    for each in said:
        naive.grow(*each)
    tree.bridge(lost)
    naive.bridge(first_words(lost))

    assert_alike(tree, naive)
    assert reachable(tree) == list(range(len(tree)))
    assert all(one in tree.ids for one, _ in lost)


@given(SAID, LOST)
def test_what_stands_wrongly_is_what_is_not_below_an_earlier_one(said: list[Said], lost: list[Lost]) -> None:
    tree, naive = grown(said), Naive()
    for each in said:
        naive.grow(*each)
    names = {**naive.named}
    tree.bridge(lost)
    wrong = {place: (how, name) for place, how, name in tree.misplaced()}

    for place, one in enumerate(naive.kinds):
        parent, name = tree.parent(place), names[one]
        if tree.detached(place):
            how, said_name = wrong.pop(place)
            assert said_name == name
            assert how in {"self_parent" if name == one else "cycle", "missing_parent"}
        elif place in wrong:
            assert wrong.pop(place) == ("later_parent", name)
            assert parent is not None
            assert place < parent
        else:
            assert parent is None or parent < place or name not in naive.kinds
    assert wrong == {}
    assert list(tree.roots()) == [top for top in tree.children(None) if not tree.detached(top)]


def first_words(lost: Iterable[Lost]) -> dict[str, str | None]:
    said: dict[str, str | None] = {}
    for one, parent in lost:
        said.setdefault(one, parent)
    return said


def test_a_bridge_leads_over_all_that_are_lost_and_goes_when_one_of_them_comes() -> None:
    tree = grown([("m", "a", None), ("m", "d", "c")])
    tree.bridge([("c", "b"), ("b", "a")])
    assert (tree.path(1), tree.is_bridged("c", "b"), tree.is_bridged("c", "x")) == ([0, 1], True, False)
    assert [*tree.misplaced()] == []

    grow(tree, "m", EntryId("e"), "c")
    assert tree.path(2) == [0, 2]

    grow(tree, "m", EntryId("b"), None)
    assert (tree.path(2), tree.is_bridged("c", "b"), tree.is_bridged("b", "a")) == ([3, 2], True, False)

    grow(tree, "m", EntryId("c"), "b")
    assert (tree.path(1), tree.path(2)) == ([3, 4, 1], [3, 4, 2])
    assert [one.how for one in tree.misplaced()] == ["later_parent", "later_parent"]


def test_a_lost_one_that_nothing_hung_under_bridges_nothing() -> None:
    tree = grown([("m", "a", None), ("m", "d", "c")])
    tree.bridge([("x", "a"), ("c", "b"), ("b", "a"), ("y", "c")])

    assert [tree.is_bridged(*one) for one in (("x", "a"), ("c", "b"), ("b", "a"), ("y", "c"))] == [
        False,
        True,
        True,
        False,
    ]

    grow(tree, "m", EntryId("e"), "y")
    assert [tree.is_bridged(*one) for one in (("x", "a"), ("y", "c"))] == [False, True]


def test_a_lost_one_that_comes_under_its_own_child_closes_no_circle() -> None:
    tree = grown([("m", "a", None), ("m", "d", "c"), ("m", "x", "nowhere")])
    tree.bridge([("c", "a")])
    assert (tree.children(None), tree.path(1)) == ((0, 2), [0, 1])

    grow(tree, "m", EntryId("c"), "d")

    assert (tree.children(None), tree.path(3)) == ((0, 1, 2), [1, 3])
    assert [one.how for one in tree.misplaced()] == ["cycle", "missing_parent"]


def test_lost_ones_that_lead_round_in_a_circle_lead_nowhere() -> None:
    tree = grown([("m", "c", "b"), ("m", "d", "d")])
    tree.bridge([("b", "a"), ("a", "b"), ("d", "a"), ("x", "x")])

    assert [one.how for one in tree.misplaced()] == ["missing_parent", "self_parent"]
    assert [tree.is_bridged(*one) for one in (("b", "a"), ("a", "b"), ("d", "a"), ("x", "x"))] == [False] * 4


def test_a_bridge_to_nowhere_is_built_when_its_end_comes() -> None:
    tree = grown([("m", "c", "b")])
    tree.bridge([("b", "a")])
    assert (tree.detached(0), tree.is_bridged("b", "a"), "b" in tree.ids) == (True, False, True)

    grow(tree, "m", EntryId("a"), None)

    assert (tree.path(0), tree.is_bridged("b", "a")) == ([1, 0], True)


def test_what_hung_under_a_lost_root_is_a_root() -> None:
    tree = grown([("m", "b", "a"), ("m", "c", "a"), ("m", "d", "b")])
    tree.bridge([("a", None)])

    assert (tree.roots(), tree.detached(0), tree.path(2)) == ((0, 1), False, [0, 2])


@given(SAID)
def test_every_entry_is_reached_from_the_roots_once(said: list[Said]) -> None:
    tree = grown(said)

    assert reachable(tree) == list(range(len(tree)))


@pytest.mark.slow
@given(SAID, st.data())
def test_ancestors_are_those_of_the_naive_tree(said: list[Said], data: st.DataObject) -> None:
    tree, naive = grown(said), Naive()
    for each in said:
        naive.grow(*each)
    if not said:
        return
    one, other = (data.draw(st.integers(0, len(tree) - 1)) for _ in range(2))
    above_one, above_other = naive.above(tree.id(one)), naive.above(tree.id(other))

    assert tree.is_ancestor(one, other) == (tree.id(one) in above_other)
    common = tree.common_ancestor(one, other)
    expected = next((above for above in above_one if above in above_other), None)
    assert (None if common is None else tree.id(common)) == expected
    assert tree.common_ancestor(other, one) == common


@given(SAID)
def test_ids_that_may_not_be_given_are_those_held_and_those_waited_for(said: list[Said]) -> None:
    tree = grown(said)
    held = {*ids(tree, range(len(tree)))}
    named = {parent for _, _, parent in said if parent is not None}

    assert all(one in tree.ids for one in held)
    assert {one for one in [*"abcdefgh", "nowhere", "other"] if one in tree.ids} <= held | named


def test_a_new_id_that_a_missing_parent_has_would_adopt_strangers() -> None:
    tree = grown([("message", "a", "nowhere")])

    assert "nowhere" in tree.ids
    assert "nowhere" not in tree


def test_nothing_has_no_leaf_no_path_and_no_tips() -> None:
    tree = Tree()

    assert (len(tree), tree.leaf, tree.index("a"), "a" in tree) == (0, None, None, False)
    assert (list(tree.children(None)), list(tree.tips()), list(tree.of_kind("message"))) == ([], [], [])
    assert (tree.path(None), list(tree.upwards(None)), tree.position(None)) == ([], [], None)
    assert (tree.common_ancestor(None, None), grown([("m", "a", None)]).common_ancestor(0, None)) == (None, None)


def test_a_circle_is_cut_at_the_one_that_came_first() -> None:
    tree = grown([("m", "a", "c"), ("m", "b", "a"), ("m", "c", "b")])

    assert [tree.detached(index) for index in range(3)] == [True, False, False]
    assert tree.path(2) == [0, 1, 2]
    assert list(tree.children(None)) == [0]


def test_a_circle_that_closes_over_an_adopted_entry_is_cut_too() -> None:
    tree = grown([("m", "c", "b"), ("m", "b", "a"), ("m", "a", "c")])

    assert [tree.detached(index) for index in range(3)] == [False, True, False]
    assert tree.path(2) == [1, 0, 2]
    assert list(tree.children(None)) == [1]


def test_a_self_parent_is_detached() -> None:
    tree = grown([("m", "a", "a"), ("m", "b", "a")])

    assert (tree.detached(0), tree.parent(0), tree.path(1)) == (True, None, [0, 1])


def test_children_that_were_asked_for_early_are_found_by_a_parent_that_comes_late() -> None:
    tree = grown([("m", "b", "a"), ("m", "c", "a"), ("m", "d", "b")])
    assert list(tree.children(None)) == [0, 1]
    assert list(tree.children(0)) == [2]

    grow(tree, "m", EntryId("a"), None)

    assert list(tree.children(None)) == [3]
    assert list(tree.children(3)) == [0, 1]
    assert tree.path(2) == [3, 0, 2]
    assert tree.is_ancestor(3, 2)
    assert not tree.detached(0)


def test_the_leaf_is_the_last_entry_whatever_it_is() -> None:
    assert chain("message", "label", "custom").leaf == 2


def test_positions_pass_over_bookkeeping_and_tips_are_positions() -> None:
    tree = chain("label", "message", *sorted(BOOKKEEPING), "message", "usage", "custom")

    assert [tree.position(index) for index in range(len(tree))] == [None, 1, *[1] * len(BOOKKEEPING), 8, 8, 8]
    assert list(tree.tips()) == [8]


def test_a_branch_of_bookkeeping_alone_is_none() -> None:
    tree = grown([("message", "a", None), ("message", "b", "a"), ("label", "c", "a"), ("custom", "d", "c")])

    assert list(tree.tips()) == [1]
    assert list(chain("custom", "label").tips()) == []


def test_two_branches_from_one_bookkeeping_entry_are_two() -> None:
    tree = grown([("message", "a", None), ("label", "b", "a"), ("message", "c", "b"), ("message", "d", "b")])

    assert list(tree.tips()) == [2, 3]


def test_a_kind_is_found_among_what_came_since_too() -> None:
    tree = chain("message", "label")
    assert list(tree.of_kind("label")) == [1]
    grow(tree, "label", EntryId("x"), None)

    assert list(tree.of_kind("label")) == [1, 2]
    assert list(tree.of_kind("unheard of")) == []


def test_there_may_be_any_number_of_kinds() -> None:
    """65,536 kinds used to end in an OverflowError."""
    tree = grown((f"kind{index}", str(index), None) for index in range(66_000))

    assert tree.kind(65_999) == "kind65999"
    assert list(tree.of_kind("kind65999")) == [65_999]


MANY: Final = 20_000
CHAIN: Final[Sequence[Said]] = [("message", str(n), str(n - 1) if n else None) for n in range(MANY)]
SHAPES: Final[dict[str, Sequence[Said]]] = {
    "chain": CHAIN,
    "backwards": CHAIN[::-1],
    "pairs the wrong way round": [one for n in range(0, MANY, 2) for one in (CHAIN[n + 1], CHAIN[n])],
    "triples the wrong way round": [one for n in range(0, MANY - 2, 3) for one in (*CHAIN[n + 1 : n + 3], CHAIN[n])],
    "all wait for one": [*(("message", str(n), "late") for n in range(MANY)), ("message", "late", None)],
    "all roots": [("message", str(n), None) for n in range(MANY)],
    "bookkeeping": [("label", one, parent) for _, one, parent in CHAIN],
    "messages on bookkeeping": [
        one for n in range(MANY // 2) for one in (("label", f"l{n}", f"l{n - 1}"), ("message", f"m{n}", f"l{n}"))
    ],
    "one circle": [*CHAIN[1:], ("message", "0", str(MANY - 1))],
}


LOST_CHAIN: Final = [(str(n), str(n - 1) if n else None) for n in range(MANY)]


@pytest.mark.parametrize("lost", [LOST_CHAIN, LOST_CHAIN[::-1]], ids=["down", "up"])
def test_twenty_thousand_lost_ones_are_bridged_in_no_time(lost: Sequence[Lost]) -> None:
    tree = grown(("message", f"x{n}", str(n)) for n in range(MANY))
    started = time.process_time()
    tree.bridge(lost)

    assert len(tree.roots()) == MANY
    assert all(tree.is_bridged(*one) for one in lost)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("said", SHAPES.values(), ids=SHAPES)
def test_twenty_thousand_entries_of_any_shape_take_no_time(said: Sequence[Said]) -> None:
    """What grows with the square of them takes a minute here; this takes some hundredths of a second."""
    tree = Tree()
    started = time.process_time()
    tree.extend(envelopes(said))
    for root in tree.children(None):
        tree.children(root)
    tree.tips()
    assert len(reachable(tree)) == len(tree) == len(said)
    for _ in range(200):
        tree.of_kind("session_info")

    assert time.process_time() - started < 2


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_chain_is_what_extending_by_its_entries_gives(before: int) -> None:
    ids = [EntryId(f"c{number}") for number in range(4)]
    one, other = Tree(), Tree()
    for tree in (one, other):
        tree.extend([Envelope("m", EntryId(f"b{number}"), None) for number in range(before)])
    parents = [EntryId(f"b{before - 1}") if before else None, *ids]

    one.chain(["x", "m", "x", "y"], ids)
    other.extend([Envelope(kind, own, parent) for kind, own, parent in zip("xmxy", ids, parents, strict=False)])
    one.chain([], [])

    for tree in (one, other):
        grow(tree, "z", EntryId("last"), "c1")
    places = range(before + 5)
    assert [one.id(place) for place in places] == [other.id(place) for place in places]
    assert [(one.kind(place), one.parent(place), one.children(place)) for place in places] == [
        (other.kind(place), other.parent(place), other.children(place)) for place in places
    ]
    assert (one.children(None), one.leaf, one.of_kind("x")) == (other.children(None), other.leaf, other.of_kind("x"))
    assert one.index("c2") == before + 2


@given(SAID, st.lists(st.tuples(NAMES, st.none() | NAMES | st.just("nowhere")), max_size=4))
def test_paths_stay_as_long_as_nothing_is_told_to_be_rehung(said: list[Said], lost: list[Lost]) -> None:
    tree = Tree()
    known: list[list[int]] = []
    waiting = [*lost]
    for kind, entry_id, parent in said:
        rehung = tree.rehung
        grow(tree, kind, EntryId(entry_id), parent)
        if waiting:
            tree.bridge([waiting.pop()])
        if rehung == tree.rehung:
            assert known == [tree.path(place) for place in range(len(known))]
        known = [tree.path(place) for place in range(len(tree))]


def test_an_entry_that_is_adopted_or_bridged_later_is_told_to_be_rehung() -> None:
    tree = grown([("m", "r", None), ("m", "x", "lost")])
    assert (tree.path(1), tree.rehung) == ([1], 0)
    tree.bridge([("lost", "r")])
    bridged = tree.rehung
    assert (tree.path(1), bridged > 0) == ([0, 1], True)
    grow(tree, "m", EntryId("lost"), "r")
    assert (tree.path(1), tree.rehung > bridged) == ([0, 2, 1], True)
