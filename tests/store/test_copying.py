"""What stands in a copy of a session: its lines, what is said of them elsewhere, and what the copy says of itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood.events.codec import decode_entry, decode_header
from sapwood.events.entries import FORK_MARKER, Custom, Header
from sapwood.events.ids import EntryId, SessionId
from sapwood.store import copying
from sapwood.store.copying import (
    as_copied,
    as_text,
    copied_by,
    copy_of_path,
    copy_of_tree,
    header_of,
)
from sapwood.store.memory import MemoryStore
from sapwood.store.scan import scan
from tests.build import HEADER, TIME
from tests.store.stores import file_of, line

NEW = Header(version=3, id=SessionId("s2"), timestamp="2026-02-02T00:00:00.000Z", cwd="/home/dev")
MARK = EntryId("mark")


def label(entry_id: str, parent: str, target: str, text: str | None) -> bytes:
    return line(entry_id, parent, "label", targetId=target, **({} if text is None else {"label": text}))


def named(entry_id: str, parent: str, name: str) -> bytes:
    return line(entry_id, parent, "session_info", name=name)


BRANCHED = [line("a"), line("b", "a"), line("c", "b"), line("x", "a"), line("y", "x")]
"""a with two branches: b, c and x, y."""


def path_to(entry_id: str, *lines: bytes) -> list[Any]:
    """The entries of a copy of the path, as JSON."""
    store = MemoryStore(HEADER, lines)
    place = store.tree.index(entry_id)
    assert place is not None
    return rows(copy_of_path(store, place, NEW, MARK, "/p.jsonl"))


def rows(copy: copying.Copy) -> list[Any]:
    return [msgspec.json.decode(one) for one in b"".join(copy.blocks()).split(b"\n")[1:-1]]


def said(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["id"], row["parentId"], row.get("label", row.get("name"))


def test_a_path_is_its_entries_and_a_marker_under_the_last() -> None:
    *copied, marker = path_to("c", *BRANCHED)

    assert [row["id"] for row in copied] == ["a", "b", "c"]
    assert marker == {
        "type": "custom",
        "id": "mark",
        "parentId": "c",
        "timestamp": NEW.timestamp,
        "customType": FORK_MARKER,
        "data": {"parentId": "s1", "parentPath": "/p.jsonl", "entries": 3, "copied": "path"},
    }


def test_a_tree_is_all_entries_as_they_stand_and_its_end_is_the_parents() -> None:
    store = MemoryStore(HEADER, BRANCHED)
    copy = copy_of_tree(store, NEW, MARK, None)

    *lines, marker = b"".join(copy.blocks()).split(b"\n")[1:-1]
    told = decode_entry(marker)

    assert lines == BRANCHED
    assert isinstance(told, Custom)
    assert (told.parent_id, told.data) == (
        "y",
        {"parentId": "s1", "parentPath": None, "entries": 5, "copied": "tree"},
    )
    assert copy.entries == 5


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([label("l", "y", "b", "here")], [("l", "c", "here")]),
        ([label("l", "y", "x", "there")], []),
        ([label("l", "y", "b", "here"), label("m", "l", "b", "now")], [("m", "c", "now")]),
        ([label("l", "y", "b", "here"), label("m", "l", "b", None)], []),
        ([label("l", "y", "b", "here"), label("m", "l", "b", "")], []),
        ([label("l", "y", "a", "one"), label("m", "l", "b", "two")], [("l", "c", "one"), ("m", "l", "two")]),
        ([named("n", "y", "ash")], [("n", "c", "ash")]),
        ([named("n", "y", "ash"), named("o", "n", "")], []),
        ([named("n", "y", "ash"), label("l", "n", "a", "one")], [("n", "c", "ash"), ("l", "n", "one")]),
        ([line("l", "y", "label", targetId=7)], []),
        ([line("n", "y", "session_info", name=[])], []),
    ],
)
def test_labels_and_the_name_that_are_said_on_another_branch_hang_under_the_end(
    more: list[bytes], expected: list[Any]
) -> None:
    *copied, marker = path_to("c", *BRANCHED, *more)

    assert [said(row) for row in copied[3:]] == expected
    assert marker["parentId"] == (expected[-1][0] if expected else "c")
    assert marker["data"]["entries"] == 3 + len(expected)


def test_what_the_path_says_itself_is_not_said_again() -> None:
    lines = [*BRANCHED, label("l", "c", "b", "here"), named("n", "l", "ash"), line("d", "n")]

    assert [row["id"] for row in path_to("d", *lines)] == ["a", "b", "c", "l", "n", "d", "mark"]


def test_what_the_path_says_and_another_branch_took_back_is_taken_back() -> None:
    lines = [line("a"), label("l", "a", "a", "old"), named("n", "l", "old"), line("b", "n"), line("x", "a")]
    taken_back = [*lines, label("m", "x", "a", None), named("o", "m", "")]

    *_, first, second, _marker = path_to("b", *taken_back)

    assert (said(first), said(second)) == (("m", "b", None), ("o", "m", ""))


def test_a_label_that_moves_keeps_its_time_and_what_we_do_not_know_of_it() -> None:
    odd = line("l", "y", "label", targetId="a", label="here", zeta=[1, {"k": None}])

    moved = path_to("c", *BRANCHED, odd)[3]

    assert moved == {**msgspec.json.decode(odd), "parentId": "c"}


def test_the_end_of_the_copy_is_where_it_was_asked_for() -> None:
    lines = [*BRANCHED, label("l", "y", "b", "here"), line("u", "c", "message", message={})]
    store = MemoryStore(HEADER, lines)
    place = store.tree.index("u")
    assert place is not None

    held = scan(b"".join(copy_of_path(store, place, NEW, MARK, None).blocks()))

    position = held.tree.position(held.tree.leaf)
    assert position is not None
    assert held.tree.id(position) == "u"


def test_large_copies_come_in_pieces() -> None:
    lines = [line("a"), *(line(f"b{n}", "a", text="x" * 1000) for n in range(600))]
    store = MemoryStore(HEADER, lines)

    blocks = list(copy_of_tree(store, NEW, MARK, None).blocks())

    assert len(blocks) == 3
    assert max(map(len, blocks)) < copying.BLOCK + 2000
    assert all(block.endswith(b"\n") for block in blocks)
    assert b"".join(blocks).split(b"\n")[1:-2] == lines


def test_the_header_is_a_new_one_that_names_its_parent_and_keeps_what_others_wrote() -> None:
    old = decode_header(b'{"type":"session","version":2,"id":"o","timestamp":"t","cwd":"/x","provider":"p"}')

    header = header_of(old, NEW, "/p.jsonl")

    assert header == msgspec.structs.replace(NEW, parent_session="/p.jsonl", extra={"provider": "p"})
    assert header_of(HEADER, NEW, None) == NEW


@pytest.mark.parametrize(
    ("data", "place", "count"),
    [
        ({"entries": 3}, 3, 3),
        ({"entries": 0}, 0, 0),
        ({"entries": 3}, 7, 3),
        ({"entries": 3}, 2, None),
        ({"entries": -1}, 2, None),
        ({"entries": True}, 2, None),
        ({"entries": 1.0}, 2, None),
        ({"entries": "1"}, 2, None),
        ({}, 2, None),
        (None, 2, None),
        ([3], 2, None),
    ],
)
def test_a_marker_counts_what_comes_before_it_or_nothing(data: Any, place: int, count: int | None) -> None:
    assert copied_by(data, place) == count


def test_what_hangs_by_a_bridge_names_the_parent_that_it_hangs_under() -> None:
    cut = line("lost", "a")[:-5]
    held = scan(file_of(line("a"), cut, line("b", "lost"), line("c", "b"), line("d", "nowhere")))
    tree, lines = held.tree, [line("a"), line("b", "lost"), line("c", "b"), line("d", "nowhere")]

    copied = [as_copied(tree, place, one) for place, one in enumerate(lines)]

    assert [msgspec.json.decode(one)["parentId"] for one in copied] == [None, "a", "b", "nowhere"]
    assert (copied[0], copied[2], copied[3]) == (lines[0], lines[2], lines[3])


def test_a_path_that_is_no_text_is_told_as_well_as_can_be() -> None:
    assert as_text("/home/\udcff") == "/home/\N{REPLACEMENT CHARACTER}"
    assert as_text("/häuser") == "/häuser"


def test_times_of_markers_are_the_forks() -> None:
    assert NEW.timestamp != TIME
    assert path_to("a", line("a"))[-1]["timestamp"] == NEW.timestamp
