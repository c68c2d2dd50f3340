"""What a store takes in, and what it refuses whole."""

from __future__ import annotations

import pytest

from sapwood.events.errors import NotAnEntry
from sapwood.events.ids import EntryId
from sapwood.store.admitting import admit
from sapwood.store.scan import scan
from sapwood.store.testing import BAD, odd_line
from sapwood.store.tree import Tree
from tests.store.stores import file_of, line
from tests.store.trees import grow


def tree_of(*ids: str) -> Tree:
    tree = Tree()
    for entry_id in ids:
        grow(tree, "custom", EntryId(entry_id), None)
    return tree


@pytest.mark.parametrize("bad", [bad for _, bad in BAD], ids=[why for why, _ in BAD])
def test_what_no_reader_would_find_again_is_refused_with_what_came_along(bad: bytes) -> None:
    for batch in ([bad], [line("b"), bad], [bad, line("b")]):
        with pytest.raises(NotAnEntry) as caught:
            admit(batch, tree_of("a"))
        assert caught.value.line == bad


def test_an_id_is_given_once_in_an_append_too() -> None:
    with pytest.raises(NotAnEntry, match="the id b is taken"):
        admit([line("b"), line("c"), line("b")], Tree())


def test_envelopes_come_in_the_order_of_their_lines() -> None:
    envelopes = admit([line("b", "a"), line("c", "b", "from.tomorrow"), line("d")], tree_of("a"))

    assert [(one.id, one.parentId, one.type) for one in envelopes] == [
        ("b", "a", "custom"),
        ("c", "b", "from.tomorrow"),
        ("d", None, "custom"),
    ]


def test_nothing_is_admitted_as_nothing() -> None:
    assert admit([], Tree()) == []


@pytest.mark.parametrize(
    "odd",
    [
        odd_line("b", "a"),
        line("b", "a") + b"  \t",
        b" \t" + line("b", "a"),
        line("b", "a", note="a\u2028b\x85c"),
        line("b", "nowhere"),
        line("b", "b"),
        b'{"type":"x","id":"b",\r"parentId":null}',
        b'{"type":"x","id":"b","text":"\\ud800"}',
        b'{"type":"x","id":"b","text":"\xff"}',
        b'{"type":"x","id":"b","n":1e999}',
        line("b", "a", text="x" * 3_000_000),
        line("", None),
    ],
)
def test_what_is_admitted_is_found_again_as_it_was(odd: bytes) -> None:
    envelopes = admit([odd], tree_of("a"))

    scanned = scan(file_of(odd))
    assert [one.kind for one in scanned.damage if one.length and one.kind != "invalid_utf8"] == []
    assert [scanned.tree.id(0)] == [envelope.id for envelope in envelopes]
    assert file_of(odd)[scanned.offsets[0] :][: scanned.lengths[0]] == odd
