"""Commands and their outcomes: the names on the wire, the replies, and the content of an input."""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.events.commands import (
    AnyCommand,
    Command,
    Compacted,
    Delivered,
    Input,
    InputOutcome,
    Navigated,
    Returned,
    SessionState,
    Snapshot,
)
from sapwood.events.content import ImageContent
from sapwood.events.ids import EntryId
from sapwood.events.messages import StopReason
from tests.build import MS, assistant, text
from tests.events.wire import as_json, assert_complete, assert_round_trip, shape, shapes, tag_fields
from tests.strategies import PER_KIND, of

COMMANDS = {
    "prompt": "input",
    "steer": "input",
    "follow_up": "input",
    "withdraw": "entryId",
    "abort": "",
    "compact": "entryId instructions? askExtensions?",
    "navigate": "target summarize? instructions? replaceInstructions? label? answer? askExtensions?",
    "set_model": "entryId model",
    "set_thinking_level": "entryId level",
    "set_tools": "names",
    "edit": "entryId target replacement",
    "label": "entryId target label",
    "append_custom": "entryId customType data?",
}
OUTCOMES = {
    "delivered": "entryId answer? turns? aborted? error? errorType? unrecorded?",
    "returned": "text images?",
    "cancelled": "text images?",
    "failed": "reason text images?",
}
REPLIES: dict[str, set[Any]] = {
    "prompt": {NoneType},
    "steer": {NoneType},
    "follow_up": {NoneType},
    "withdraw": {bool},
    "abort": {NoneType},
    "compact": {Compacted},
    "navigate": {Navigated},
    "set_model": {NoneType},
    "set_thinking_level": {NoneType},
    "set_tools": {NoneType},
    "edit": {EntryId},
    "label": {EntryId},
    "append_custom": {EntryId},
}
IMAGE = ImageContent(data="aGk=", mime_type="image/png")


def replies_of(command: type[Command[Any]]) -> set[Any]:
    (reply,) = [argument for base in command.__dict__["__orig_bases__"] for argument in get_args(base)]
    return {NoneType if one is None else one for one in get_args(reply) or (reply,)}


def test_the_names_of_the_commands_are_fixed() -> None:
    assert tag_fields(AnyCommand) == {"type"}
    assert shapes(AnyCommand) == COMMANDS


def test_the_names_of_the_outcomes_are_fixed() -> None:
    assert tag_fields(InputOutcome) == {"outcome"}
    assert shapes(InputOutcome) == OUTCOMES


def test_what_goes_along_has_fixed_names() -> None:
    assert shape(Input) == "entryId text images? timestamp source?"
    assert shape(Snapshot) == "state leaf entries"
    assert get_args(SessionState) == ("idle", "run", "compaction", "navigation")


def test_every_command_is_in_the_union_once() -> None:
    assert_complete(AnyCommand, Command)


def test_each_command_has_its_reply() -> None:
    assert {str(kind.__struct_config__.tag): replies_of(kind) for kind in get_args(AnyCommand)} == REPLIES


@pytest.mark.parametrize("kind", get_args(AnyCommand), ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_a_command_comes_back_as_it_was(kind: type[Any], data: st.DataObject) -> None:
    assert_round_trip(data.draw(of(kind)), AnyCommand)


@pytest.mark.parametrize("kind", get_args(InputOutcome), ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_an_outcome_comes_back_as_it_was(kind: type[Any], data: st.DataObject) -> None:
    assert_round_trip(data.draw(of(kind)), InputOutcome)


@given(snapshot=of(Snapshot))
def test_a_snapshot_comes_back_as_it_was(snapshot: Snapshot) -> None:
    assert_round_trip(snapshot, Snapshot)


def test_an_input_of_text_alone_is_plain_text() -> None:
    assert Input(entry_id=EntryId("u1"), text="hi", timestamp=MS).content == "hi"


def test_an_input_with_images_is_its_text_and_then_the_images() -> None:
    words = Input(entry_id=EntryId("u1"), text="look", images=(IMAGE, IMAGE), timestamp=MS)

    assert words.content == (text("look"), IMAGE, IMAGE)


def test_what_is_handed_back_is_whole() -> None:
    assert as_json(Returned(text="look", images=(IMAGE,))) == {
        "outcome": "returned",
        "text": "look",
        "images": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
    }


@pytest.mark.parametrize(
    ("stop", "failed"),
    [("stop", False), ("length", False), ("toolUse", False), ("error", True), ("aborted", True)],
)
def test_a_failed_answer_is_told_by_one_property(stop: StopReason, failed: bool) -> None:
    outcome = Delivered(entry_id=EntryId("u1"), answer=assistant("x", stop=stop), turns=1)

    assert outcome.failed is failed
    assert "failed" not in as_json(outcome)


def test_an_input_without_a_whole_answer_has_failed() -> None:
    whole, entry_id = assistant("x"), EntryId("u1")

    assert Delivered(entry_id=entry_id).failed
    assert Delivered(entry_id=entry_id, answer=whole, aborted=True).failed
    assert Delivered(entry_id=entry_id, answer=whole, error="the disk is full").failed
