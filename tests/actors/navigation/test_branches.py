"""Every position that is a tip is listed: nothing that was left is out of reach (S6)."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.navigation.branches import Branch, branches
from tests.actors.navigation.left_behind import compaction, drawn, label, nested, note, viewed
from tests.build import TIME, message_entry, user


def listed(picture: str) -> list[tuple[str, int, bool]]:
    view = drawn(picture)
    return [(branch.tip, branch.entries, branch.is_active) for branch in branches(view.tree, view)]


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        ("", []),
        ("K", []),
        ("a", [("a", 1, True)]),
        ("a ab bc", [("c", 3, True)]),
        ("a ab bc bd de", [("c", 1, False), ("e", 2, True)]),
        ("a ab bc bd de aK", [("c", 1, False), ("e", 2, False)]),
        ("a ab bc cK", [("c", 3, True)]),
        ("a ab aK Kc", [("b", 1, False), ("c", 1, True)]),
        ("a ab bc ad ae ef", [("c", 2, False), ("d", 1, False), ("f", 2, True)]),
        ("a ab bc bd ae ef eg", [("c", 1, False), ("d", 1, False), ("f", 1, False), ("g", 1, True)]),
        ("a ab x xy", [("b", 2, False), ("y", 2, True)]),
        ("a aC Cb", [("b", 3, True)]),
    ],
)
def test_each_tip_is_listed_with_its_size_since_the_fork(picture: str, expected: list[tuple[str, int, bool]]) -> None:
    assert listed(picture) == expected


def test_a_branch_says_when_it_was_last_spoken_on() -> None:
    later = msgspec.structs.replace(message_entry("b", user("b"), "a"), timestamp="2026-02-01T00:00:00.000Z")
    view = viewed(message_entry("a", user("a")), later, nested("c", "s", parent="a"), note("k", "b"))

    assert branches(view.tree, view) == (
        Branch(tip=later.id, label=None, last_activity=later.timestamp, entries=1, is_active=True),
        Branch(tip=view.tree.id(2), label=None, last_activity=TIME, entries=1, is_active=False),
    )


def test_the_label_is_the_one_nearest_to_the_tip_and_not_that_of_what_branches_share() -> None:
    view = viewed(
        message_entry("a", user("a")),
        message_entry("b", user("b"), "a"),
        message_entry("c", user("c"), "b"),
        message_entry("d", user("d"), "c"),
        compaction("e", "e", parent="a"),
        label("l1", "a", "shared", "e"),
        label("l2", "b", "far", "l1"),
        label("l3", "c", "near", "l2"),
        label("l4", "d", "taken off", "l3"),
        label("l5", "d", None, "l4"),
    )

    assert [(branch.tip, branch.label, branch.is_active) for branch in branches(view.tree, view)] == [
        ("d", "near", False),
        ("e", None, True),
    ]


@given(st.data())
def test_whatever_was_said_is_on_the_way_to_a_tip_and_counted_once(data: st.DataObject) -> None:
    letter = "aKbcdefghijkl"
    size = data.draw(st.integers(0, len(letter)))
    parents = [data.draw(st.sampled_from(["", *letter[:at]])) for at in range(size)]
    view = drawn(" ".join(f"{parent}{letter[at]}" for at, parent in enumerate(parents)))
    tree, found = view.tree, branches(view.tree, view)
    paths = [[at for at in tree.path(tree.index(branch.tip)) if tree.kind(at) != "custom"] for branch in found]
    walked = Counter(at for path in paths for at in path)

    assert set(walked) == {at for at in range(size) if tree.kind(at) != "custom"}
    assert [branch.entries for branch in found] == [sum(walked[at] == 1 for at in path) for path in paths]
    assert sum(branch.is_active for branch in found) <= 1
