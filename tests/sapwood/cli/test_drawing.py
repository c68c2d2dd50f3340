"""A session's tree as lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import read
from sapwood.cli.drawing import DEEPEST, draw, placed, short_ids, to_json
from sapwood.events.entries import BranchSummary, Entry, Label, SessionInfo
from sapwood.events.ids import EntryId
from sapwood.store.tree import Tree
from sapwood.words.wording import plain
from tests.build import TIME, message_entry, user
from tests.sapwood.cli.sessions import session_file
from tests.store.trees import grow


def tree_of(*parents: int | None) -> Tree:
    """A tree by the places of its entries' parents."""
    tree = Tree()
    for index, parent in enumerate(parents):
        grow(tree, "message", EntryId(f"e{index}"), None if parent is None else f"e{parent}")
    return tree


def shape(tree: Tree) -> list[str]:
    return [f"{one.front}{tree.id(one.index)}" for one in placed(tree)]


def drawn(path: Path) -> list[str]:
    with read(path) as session:
        return [plain(line) for line in draw(session)][1:]


def said(entry_id: str, parent: str | None, text: str = "hi") -> Entry:
    return message_entry(entry_id, user(text), parent)


def under(entry_id: str, parent: str) -> dict[str, Any]:
    return {"id": EntryId(entry_id), "parent_id": EntryId(parent), "timestamp": TIME}


def test_an_empty_tree_has_no_lines() -> None:
    assert shape(Tree()) == []


def test_a_chain_is_not_set_in() -> None:
    assert shape(tree_of(None, 0, 1, 2)) == ["e0", "e1", "e2", "e3"]


def test_a_branch_is_set_in_before_what_goes_on() -> None:
    assert shape(tree_of(None, 0, 1, 0, 3)) == ["e0", "├─ e1", "│  e2", "e3", "e4"]


def test_the_way_to_the_leaf_goes_on_else_the_latest() -> None:
    assert shape(tree_of(None, 0, 0, 1)) == ["e0", "├─ e2", "e1", "e3"]
    assert shape(tree_of(None, 0, 1, 1, 1, 0)) == ["e0", "├─ e1", "│  ├─ e2", "│  ├─ e3", "│  e4", "e5"]


def test_several_roots_are_branches_of_the_session() -> None:
    assert shape(tree_of(None, None, 0, None)) == ["├─ e0", "│  e2", "├─ e1", "e3"]


@given(st.lists(st.integers(0, 1_000_000), max_size=60))
def test_every_entry_is_drawn_once_below_its_parent(choices: list[int]) -> None:
    tree = tree_of(*(None if not at or choice % 7 == 0 else choice % at for at, choice in enumerate(choices)))

    order = [one.index for one in placed(tree)]

    assert sorted(order) == list(range(len(tree)))
    for at, index in enumerate(order):
        parent = tree.parent(index)
        assert parent is None or parent in order[:at]


def test_a_deep_chain_and_deep_branches_are_drawn_without_recursion_and_without_endless_indentation() -> None:
    chain = tree_of(None, *range(20_000))
    branches = tree_of(None, *(max(0, 2 * (at // 2) - 1) for at in range(2_000)), 0)

    assert len(list(placed(chain))) == 20_001
    lines = shape(branches)
    assert len(lines) == 2_002
    assert max(map(len, lines)) <= 3 * (DEEPEST + 1) + 6


def test_a_line_is_an_entry_with_its_label_and_the_leaf_is_marked(tmp_path: Path) -> None:
    path = session_file(
        tmp_path,
        said("11111111", None, "First\nand more"),
        said("22222222", "11111111", "left\x1b[31m"),
        BranchSummary(
            id=EntryId("33333333"),
            parent_id=EntryId("11111111"),
            timestamp=TIME,
            from_id=EntryId("22222222"),
            summary="found\n",
        ),
        Label(
            id=EntryId("44444444"),
            parent_id=EntryId("33333333"),
            timestamp=TIME,
            target_id=EntryId("11111111"),
            label="here",
        ),
        SessionInfo(id=EntryId("55555555"), parent_id=EntryId("44444444"), timestamp=TIME, name="Mine"),
    )

    assert drawn(path) == [
        "● 11111111  user         First …  [here]",
        "├─ ○ 22222222  user         left�[31m",
        "● 33333333  branch_summary [branch summary]: found  <- position",
        "● 44444444  label        'here' on 11111111",
        "● 55555555  session_info Mine  <- leaf",
    ]
    with read(path) as session:
        assert plain(next(draw(session))) == f"s1  Mine: 5 entries, 2 branches, {path}"


def test_a_path_that_would_steer_the_terminal_does_not(tmp_path: Path) -> None:
    with read(session_file(tmp_path, name="a\n\x1b[31m")) as session:
        assert plain(next(draw(session))).endswith("/a��[31m")


def test_a_leaf_that_is_the_position_is_marked_once_and_an_empty_text_as_nothing(tmp_path: Path) -> None:
    assert drawn(session_file(tmp_path, said("11111111", None, ""))) == [
        "● 11111111  user         (nothing)  <- leaf, position"
    ]
    assert drawn(session_file(tmp_path)) == []


def test_bookkeeping_alone_has_a_leaf_and_no_position(tmp_path: Path) -> None:
    only = SessionInfo(id=EntryId("11111111"), parent_id=None, timestamp=TIME)

    assert drawn(session_file(tmp_path, only)) == ["● 11111111  session_info (no name)  <- leaf"]


def test_an_entry_without_its_parent_is_shown_as_such(tmp_path: Path) -> None:
    lines = drawn(session_file(tmp_path, said("11111111", None), said("22222222", "99999999")))

    assert lines == [
        "├─ ○ 11111111  user         hi",
        "● 22222222  user         hi  (gap: its parent 99999999 is lost; it stands at the top)  <- leaf, position",
        "the file is damaged in 1 place, with something lost in 1: see `sapwood check`",
    ]


def test_ids_are_cut_only_if_no_two_look_alike() -> None:
    tree = Tree()
    for entry_id in ("aaaaaaaa1", "aaaaaaaa2", "bbbbbbbbbbbb", "c"):
        grow(tree, "message", EntryId(entry_id), None)
    short = short_ids(tree)

    assert [short(tree.id(index)) for index in range(4)] == ["aaaaaaaa1", "aaaaaaaa2", "bbbbbbbb", "c"]


def test_the_json_of_a_tree_has_stable_keys_and_whole_texts(tmp_path: Path) -> None:
    path = session_file(
        tmp_path, said("11111111", None, "a\nb"), said("22222222", "11111111"), said("33333333", "11111111")
    )

    with read(path) as session:
        value = to_json(session)

    assert value["session"] == {
        "id": "s1",
        "path": str(path),
        "version": 3,
        "cwd": "/home/dev",
        "name": None,
        "parentSession": None,
    }
    assert (value["leaf"], value["position"]) == ("33333333", "33333333")
    assert [(one["id"], one["parentId"], one["depth"], one["onPath"]) for one in value["entries"]] == [
        ("11111111", None, 0, True),
        ("22222222", "11111111", 1, False),
        ("33333333", "11111111", 0, True),
    ]
    assert value["entries"][0] == {
        "id": "11111111",
        "parentId": None,
        "kind": "message",
        "role": "user",
        "timestamp": TIME,
        "text": "a\nb",
        "label": None,
        "depth": 0,
        "onPath": True,
        "detached": False,
        "lostParentId": None,
    }


@pytest.mark.parametrize("content", ["", None])
def test_the_json_of_an_empty_session_is_empty(content: str | None, tmp_path: Path) -> None:
    path = session_file(tmp_path)
    if content is not None:
        path.write_text(content, encoding="utf-8")

    with read(path) as session:
        value = to_json(session)

    assert (value["leaf"], value["position"], value["entries"]) == (None, None, [])


def test_the_last_entries_are_drawn_by_themselves(tmp_path: Path) -> None:
    path = session_file(tmp_path, said("a", None), said("b", "a"), said("c", "a"), said("d", "b"), said("e", "c"))
    with read(path) as session:
        lines = [plain(line) for line in draw(session, last=3)]
        json: Any = to_json(session, last=3)

    assert lines[1:] == [
        "(2 entries before these)",
        "├─ ○ d  user         hi",
        "● c  user         hi",
        "● e  user         hi  <- leaf, position",
    ]
    assert [(one["id"], one["parentId"], one["onPath"]) for one in json["entries"]] == [
        ("d", "b", False),
        ("c", "a", True),
        ("e", "c", True),
    ]


@given(st.lists(st.integers(0, 20), max_size=12), st.integers(0, 14))
def test_what_is_drawn_of_the_last_entries_is_each_once(parents: list[int], last: int) -> None:
    tree = tree_of(*(None if parent >= index else parent for index, parent in enumerate(parents)))
    first = max(0, len(tree) - last)

    assert sorted(one.index for one in placed(tree, first)) == [*range(first, len(tree))]


def test_ids_are_looked_at_when_a_long_one_comes() -> None:
    tree = Tree()
    for name in ("12345678", "12345678-9", "abcdefgh-1", "abcdefghi", "1"):
        grow(tree, "message", EntryId(name), None)
    short = short_ids(tree)

    assert [short(tree.id(place)) for place in range(5)] == [
        *("12345678", "12345678-9", "abcdefgh-1", "abcdefghi", "1"),
    ]
