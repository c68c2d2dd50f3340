"""Entries: their names on the wire, which touch every file on every disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import msgspec
import pytest

from sapwood.events.entries import (
    BOOKKEEPING,
    FORK_MARKER,
    LEAF_MARKER,
    SESSION_VERSION,
    Entry,
    Header,
    KnownEntry,
    Label,
    Line,
    Node,
    Replacement,
    Unknown,
    kind_of,
)
from sapwood.events.ids import EntryId
from tests.build import TIME, message_entry, user
from tests.events.wire import as_json, assert_complete, shape, shapes, tag_fields

WIRE = {
    "message": "id parentId timestamp message",
    "thinking_level_change": "id parentId timestamp thinkingLevel",
    "model_change": "id parentId timestamp provider modelId",
    "usage": "id parentId timestamp kind provider model usage note?",
    "compaction": (
        "id parentId timestamp summary firstKeptEntryId tokensBefore details? usage? fromHook? systemMessage?"
    ),
    "branch_summary": "id parentId timestamp fromId summary details? usage? fromHook?",
    "custom": "id parentId timestamp customType data?",
    "custom_message": "id parentId timestamp customType content display details?",
    "context_edit": "id parentId timestamp targetId replacement",
    "label": "id parentId timestamp targetId label?",
    "session_info": "id parentId timestamp name?",
}


def test_the_names_on_the_wire_are_pis() -> None:
    assert tag_fields(KnownEntry) == {"type"}
    assert shapes(KnownEntry) == WIRE
    assert shape(Replacement) == "content"


def test_the_header_is_pis() -> None:
    assert (Header.__struct_config__.tag_field, Header.__struct_config__.tag) == ("type", "session")
    assert shape(Header) == "version? id timestamp cwd? parentSession?"
    assert SESSION_VERSION == 3


def test_every_kind_is_in_the_unions_once() -> None:
    assert_complete(KnownEntry, Node)
    assert get_args(Entry) == (*get_args(KnownEntry), Unknown)
    assert set(Line.__subclasses__()) == {Header, Node}


def test_the_bookkeeping_is_the_kinds_that_do_not_move_the_position() -> None:
    assert set(WIRE) - BOOKKEEPING == {"message", "compaction", "branch_summary", "custom_message", "context_edit"}
    assert set(WIRE) > BOOKKEEPING


def test_the_markers_of_ours_keep_their_names() -> None:
    assert (LEAF_MARKER, FORK_MARKER) == ("sapwood.leaf", "sapwood.fork")


def unknown(kind: str) -> Unknown:
    return Unknown(type=kind, id=EntryId("a"), parent_id=None, timestamp=TIME, line=b"{}")


@pytest.mark.parametrize(
    ("entry", "kind"), [(message_entry("a", user()), "message"), (unknown("mode_change"), "mode_change")]
)
def test_the_kind_is_the_one_on_the_wire(entry: Entry, kind: str) -> None:
    assert kind_of(entry) == kind


def test_an_entry_says_what_it_is_first_and_leaves_out_what_it_does_not_say() -> None:
    label = Label(id=EntryId("b"), parent_id=EntryId("a"), timestamp=TIME, target_id=EntryId("a"))

    written: Sequence[str] = list(as_json(label))

    assert written == ["type", "id", "parentId", "timestamp", "targetId"]


def test_an_entry_cannot_be_changed() -> None:
    entry = message_entry("a", user())

    with pytest.raises(AttributeError):
        setattr(entry, "timestamp", "later")  # noqa: B010 - a checker would refuse the plain assignment
    assert msgspec.structs.replace(entry, timestamp="later").timestamp == "later"
    assert entry.timestamp == TIME
