"""What is told of one compaction, in order and paired (C18)."""

from __future__ import annotations

import pytest

from sapwood.actors.compaction.telling import Telling
from sapwood.events.entries import Compaction
from sapwood.events.errors import CompactionFailed, Refused
from sapwood.events.ids import EntryId
from sapwood.events.runtime import (
    CompactionEnd,
    CompactionReason,
    CompactionStart,
    Event,
    SessionCompact,
    SessionCompactFailed,
)
from tests.build import TIME

ENTRY = Compaction(
    id=EntryId("c"),
    parent_id=None,
    timestamp=TIME,
    summary="before",
    first_kept_entry_id=EntryId("c"),
    tokens_before=1,
)
WORDS: list[tuple[CompactionReason, str]] = [
    ("manual", "Compaction failed: no answer"),
    ("threshold", "Auto-compaction failed: no answer"),
    ("overflow", "Context overflow recovery failed: no answer"),
]


def telling(reason: CompactionReason = "manual", *, will_retry: bool = False) -> tuple[Telling, list[Event]]:
    events: list[Event] = []

    def publish(event: Event) -> int:
        events.append(event)
        return len(events)

    return Telling(reason, publish, will_retry=will_retry), events


@pytest.mark.parametrize("will_retry", [False, True])
@pytest.mark.parametrize("from_extension", [False, True])
def test_one_that_is_done_is_told_with_its_entry(*, will_retry: bool, from_extension: bool) -> None:
    of_one, events = telling("overflow", will_retry=will_retry)

    of_one.attempt()
    of_one.from_extension = from_extension
    of_one.done(ENTRY)

    assert events == [
        CompactionStart(reason="overflow"),
        SessionCompact(compaction_entry=ENTRY, from_extension=from_extension, reason="overflow", will_retry=will_retry),
        CompactionEnd(reason="overflow", result=ENTRY, aborted=False, will_retry=will_retry),
    ]


@pytest.mark.parametrize(("reason", "words"), WORDS)
def test_one_that_failed_is_told_with_why_and_promises_nothing(reason: CompactionReason, words: str) -> None:
    of_one, events = telling(reason, will_retry=True)

    of_one.start()
    of_one.attempt()
    of_one.from_extension = True
    of_one.failed(CompactionFailed("no answer"))

    assert events == [
        CompactionStart(reason=reason),
        CompactionEnd(reason=reason, aborted=False, will_retry=False, error_message=words),
        SessionCompactFailed(reason=reason, error_message=words, aborted=False, will_retry=False, from_extension=True),
    ]


@pytest.mark.parametrize("why", [None, CompactionFailed("stopped", aborted=True)])
def test_one_that_was_stopped_is_told_without_words(why: Exception | None) -> None:
    of_one, events = telling()

    of_one.attempt()
    of_one.failed(why)

    assert events[1:] == [
        CompactionEnd(reason="manual", aborted=True, will_retry=False),
        SessionCompactFailed(reason="manual", error_message=None, aborted=True, will_retry=False, from_extension=False),
    ]


def test_one_that_was_refused_when_it_had_begun_has_its_end_alone() -> None:
    of_one, events = telling()

    of_one.start()
    of_one.failed(Refused("already-compacted", "Already compacted"))

    words = "Compaction failed: Already compacted"
    assert events == [
        CompactionStart(reason="manual"),
        CompactionEnd(reason="manual", aborted=False, will_retry=False, error_message=words),
    ]


def test_one_that_never_began_is_not_told() -> None:
    of_one, events = telling()

    of_one.failed(Refused("nothing-to-do", "too small"))

    assert events == []


def test_the_end_is_told_once() -> None:
    # a stop while an extension was asked used to tell it twice
    done, of_done = telling()
    failed, of_failed = telling()
    for one in (done, failed):
        one.attempt()

    done.done(ENTRY)
    done.failed(None)
    failed.failed(CompactionFailed("no answer"))
    failed.failed(None)

    assert [len(of_done), len(of_failed)] == [3, 3]
