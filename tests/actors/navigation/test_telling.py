"""What is told of a move: once, and only of one that somebody was asked about."""

from __future__ import annotations

import pytest

from sapwood.actors.navigation.telling import Telling
from sapwood.events.entries import BranchSummary
from sapwood.events.errors import NavigationFailed, StaleLeaf
from sapwood.events.ids import EntryId
from sapwood.events.runtime import Event, SessionTree, SessionTreeFailed
from tests.actors.navigation.asked import asked
from tests.build import TIME

LEAF = EntryId("m")
SUMMARY = BranchSummary(id=EntryId("b"), parent_id=None, timestamp=TIME, from_id="root", summary="Found.")


class Told(list[Event]):
    """Notes what is published."""

    def publish(self, event: Event) -> int:
        self.append(event)
        return len(self)


def test_before_anybody_was_asked_nothing_is_told() -> None:
    told = Told()
    Telling(asked("a1"), told.publish).failed(StaleLeaf("a", "b"))

    assert told == []


@pytest.mark.parametrize(
    ("why", "message", "aborted"),
    [
        (None, None, True),
        (NavigationFailed("stopped", aborted=True), None, True),
        (NavigationFailed("no"), "no", False),
        (StaleLeaf("a", "b"), "the leaf is b, not a: read the tree again and retry", False),
    ],
)
def test_a_failure_is_told_once_with_its_words_unless_somebody_stopped_it(
    why: Exception | None, message: str | None, aborted: bool
) -> None:
    told = Told()
    telling = Telling(asked("a1"), told.publish)
    telling.attempt()
    telling.failed(why)
    telling.failed(why)

    [failed] = told
    assert isinstance(failed, SessionTreeFailed)
    assert (failed.target_id, failed.error_message, failed.aborted) == ("a1", message, aborted)


@pytest.mark.parametrize(("summary", "from_extension"), [(None, None), (SUMMARY, False)])
def test_what_is_done_is_told_and_cannot_fail_any_more(
    summary: BranchSummary | None, from_extension: bool | None
) -> None:
    told = Told()
    telling = Telling(asked("a1"), told.publish)
    telling.attempt()
    telling.done(None, LEAF, summary)
    telling.failed(None)

    assert told == [
        SessionTree(new_leaf_id=LEAF, old_leaf_id=None, summary_entry=summary, from_extension=from_extension)
    ]
