"""What actors ask of each other: each has one reply, and what it leaves out means something."""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args

import pytest
from msgspec import UNSET

from sapwood.events import requests
from sapwood.events.asking import Ask
from sapwood.events.commands import Compacted, Navigated, SessionState
from sapwood.events.context import Context, Measured, Selection, Surveyed
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.events.requests import Append, Appended, Generate, Holder, Newcomer, ToolsRan
from tests.build import MODEL, message_entry, user
from tests.events.wire import kinds

REPLIES: dict[str, Any] = {
    "Append": Appended,
    "CatchUp": NoneType,
    "Withdraw": NoneType,
    "Restore": str | None,
    "Select": Selection,
    "Project": Context,
    "Measure": Measured,
    "Survey": Surveyed,
    "CompactNow": Compacted,
    "CheckCompaction": NoneType,
    "StopCompaction": NoneType,
    "NavigateTo": Navigated,
    "StopNavigation": NoneType,
    "Acquire": NoneType,
    "Accept": NoneType,
    "Resolve": NoneType,
    "Generate": AssistantMessage,
    "StopCall": bool,
    "RunTools": ToolsRan,
    "StopTools": NoneType,
}


def test_each_request_has_its_reply() -> None:
    asked = [kind for kind in kinds(Ask) if kind.__module__ == requests.__name__]

    assert {kind.__name__: get_args(kind.__dict__["__orig_bases__"][0])[0] for kind in asked} == REPLIES


def test_no_expected_leaf_is_not_the_root() -> None:
    entries = (message_entry("u1", user()),)

    anywhere, at_the_root = Append(entries=entries), Append(entries=entries, expected_leaf=None)

    assert anywhere.expected_leaf is UNSET
    assert at_the_root.expected_leaf is None
    assert anywhere != at_the_root


def test_a_call_does_not_think_unless_told() -> None:
    assert Generate(call_id="c1", model=MODEL, purpose="turn", messages=()).thinking_level == "off"


def test_who_holds_and_who_comes_are_closed() -> None:
    assert get_args(Holder) == get_args(SessionState)
    assert get_args(Newcomer) == ("prompt", "queued", "compaction", "navigation")


@pytest.mark.parametrize("leaf", [None, EntryId("u1")])
def test_an_append_tells_the_ids_and_the_leaf(leaf: EntryId | None) -> None:
    assert Appended(entry_ids=(EntryId("u1"),), leaf=leaf).leaf == leaf
