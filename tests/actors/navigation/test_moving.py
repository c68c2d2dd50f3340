"""What a move writes, in its order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sapwood.actors.navigation.moving import Draft, Stamp, entries_of
from sapwood.actors.navigation.route import Route
from sapwood.events.entries import LEAF_MARKER, BranchSummary, Custom, KnownEntry, Label, MessageEntry, kind_of
from sapwood.events.ids import EntryId
from sapwood.events.messages import ToolResultMessage
from tests.actors.navigation.asked import ASKED, asked, view_of, way
from tests.build import MS, TIME, usage, words

DRAFT = Draft(text="Found.", details={"a": 1}, usage=usage(3), from_hook=True)


def stamp() -> Stamp:
    numbers = itertools.count(1)
    return Stamp(new_id=lambda: EntryId(f"n{next(numbers)}"), timestamp=TIME, now_ms=MS)


def made(found: Route, target: str | None = "a1", **more: object) -> Sequence[KnownEntry]:
    given: dict[str, object] = {
        "left": EntryId("a3"),
        "answer": None,
        "draft": None,
        "label": None,
        "stamp": stamp(),
        **more,
    }
    return entries_of(found, target=None if target is None else EntryId(target), **given)  # type: ignore[arg-type]


def test_a_plain_move_is_a_marker_that_remembers_what_was_left() -> None:
    [marker] = made(way(view_of(), asked("a1")))

    assert isinstance(marker, Custom)
    assert (marker.custom_type, marker.data) == (LEAF_MARKER, {"fromId": "a3"})


def test_a_summary_takes_the_markers_place_and_the_label() -> None:
    summary, label = made(way(view_of(), asked("a1")), draft=DRAFT, label="ash")

    assert isinstance(summary, BranchSummary)
    assert (summary.summary, summary.from_id, summary.details, summary.usage) == ("Found.", "a3", {"a": 1}, usage(3))
    assert summary.from_hook is True
    assert isinstance(label, Label)
    assert (label.target_id, label.label) == (summary.id, "ash")


def test_without_a_summary_the_label_stands_on_the_target() -> None:
    marker, label = made(way(view_of(), asked("u2")), target="u2", label="ash")

    assert isinstance(marker, Custom)
    assert isinstance(label, Label)
    assert label.target_id == "u2"


def test_where_there_is_no_entry_there_is_no_label() -> None:
    entries = made(way(view_of(), asked(None)), target=None, label="ash", left=None)

    assert [kind_of(entry) for entry in entries] == ["custom"]
    [marker] = entries
    assert isinstance(marker, Custom)
    assert marker.data == {"fromId": "root"}


def test_a_new_answer_comes_first_and_tells_the_place_by_itself() -> None:
    found = way(view_of(ASKED), asked("r1", answer="Oak."))
    [answer] = made(found, target="r1", answer="Oak.")

    assert isinstance(answer, MessageEntry)
    assert isinstance(answer.message, ToolResultMessage)
    assert (words(answer.message), answer.message.tool_call_id, answer.message.tool_name) == ("Oak.", "c1", "ask")
    assert not answer.message.is_error
    assert answer.message.timestamp == MS


def test_behind_a_new_answer_come_the_summary_and_the_label() -> None:
    found = way(view_of(ASKED), asked("r1", answer="Oak."))
    entries = made(found, target="r1", answer="Oak.", draft=DRAFT, label="x")

    assert [kind_of(entry) for entry in entries] == ["message", "branch_summary", "label"]
    [answer, label] = made(found, target="r1", answer="Oak.", label="x")
    assert isinstance(label, Label)
    assert label.target_id == answer.id
