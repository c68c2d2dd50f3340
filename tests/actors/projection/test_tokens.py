"""When a reported number is believed, and what is counted besides."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from sapwood.actors.projection.tokens import Report, basis_of, believable, context_tokens, measured
from sapwood.events.context import Measured
from sapwood.events.messages import TOO_MUCH, Message, Usage
from tests.build import assistant, usage, user


def test_usage_is_the_total_or_else_the_sum() -> None:
    assert context_tokens(usage(7)) == 7
    assert context_tokens(Usage(input=1, output=2, cache_read=3, cache_write=4)) == 10


@pytest.mark.parametrize("field", ["input", "output", "cache_read", "cache_write", "total_tokens"])
@pytest.mark.parametrize("tokens", [-5, TOO_MUCH, 10**400])
def test_a_report_of_what_cannot_be_says_nothing(field: str, tokens: int) -> None:
    """The window used to be inf% full by it, or less than nothing."""
    odd = msgspec.structs.replace(Usage.of(input=1, output=2, cache_read=3, cache_write=4), **{field: tokens})

    assert context_tokens(odd) == 0
    assert believable(assistant("x", usage=odd)) is None
    most = msgspec.structs.replace(odd, **{field: TOO_MUCH - 1})
    assert context_tokens(most) >= TOO_MUCH - 1


def test_only_a_good_answer_that_reports_something_is_believed() -> None:
    assert believable(assistant("x", usage=usage(5))) == usage(5)
    assert believable(assistant("x", usage=usage(0))) is None
    assert believable(assistant("x", usage=usage(5), stop="error")) is None
    assert believable(assistant("x", usage=usage(5), stop="aborted")) is None
    assert believable(user()) is None


def reported(tokens: int, *, since: int) -> Measured:
    return Measured(tokens=tokens + since, source="reported", counted=since, counter="heuristic" if since else None)


def estimated(tokens: int) -> Measured:
    return Measured(tokens=tokens, source="estimated", counted=tokens, counter="heuristic" if tokens else None)


def unknown(tokens: int) -> Measured:
    return Measured(tokens=tokens, source="none", counted=tokens, counter="heuristic")


def newest(messages: Sequence[Message]) -> Report | None:
    """The last report of these, which stand in entries 0, 1, 2 …"""
    for place, message in reversed([*enumerate(messages)]):
        found = believable(message)
        if found is not None:
            return Report(place=place, asked=place - 1, usage=found, following=len(messages) - 1 - place)
    return None


def measure(*messages: Message, compaction: int | None = None, edits: Sequence[tuple[int, int]] = ()) -> Measured:
    """How full it is where each message has ten tokens."""
    basis = basis_of(newest(messages), len(messages), compaction=compaction, edits=edits)
    return measured(basis, 10 * basis.following, "heuristic" if basis.following else None)


def test_the_last_reported_usage_is_believed_and_what_follows_is_added() -> None:
    context = (user(), assistant("a", usage=usage(100)), user(), assistant("b", usage=usage(200)), user())

    assert measure(*context) == reported(200, since=10)


def test_without_a_reported_usage_the_count_stands() -> None:
    assert measure(user(), assistant("x")) == estimated(20)
    assert measure() == estimated(0)


def test_a_usage_older_than_the_compaction_is_not_believed_and_nobody_can_know() -> None:
    context = (user(), assistant("a", usage=usage(100)), user())

    assert measure(*context, compaction=2) == unknown(30)
    assert measure(*context, compaction=0) == reported(100, since=10)


def test_a_usage_that_counted_what_was_edited_since_is_not_believed() -> None:
    context = (user(), assistant("a", usage=usage(100)), user())

    assert measure(*context, edits=[(0, 3)]) == estimated(30)
    assert measure(*context, edits=[(1, 3)]) == estimated(30)


def test_an_edit_of_what_came_later_or_was_there_before_leaves_the_usage_believed() -> None:
    context = (user(), assistant("a", usage=usage(100)), user())

    assert measure(*context, edits=[(2, 3)]) == reported(100, since=10)
    assert measure(*context, edits=[(0, 1)]) == reported(100, since=10)


def test_an_answer_that_failed_or_was_stopped_or_says_zero_is_not_believed_and_the_one_before_it_is() -> None:
    good = assistant("a", usage=usage(100))
    for bad in (
        assistant("b", usage=usage(900), stop="error"),
        assistant("b", usage=usage(900), stop="aborted"),
        assistant("b", usage=usage(0)),
    ):
        assert measure(user(), good, user(), bad) == reported(100, since=20)
        assert measure(user(), bad) == estimated(20)


def test_what_the_report_covers_is_not_counted() -> None:
    report = Report(place=1, asked=0, usage=usage(100), following=1)

    assert basis_of(report, 3, compaction=None, edits=[]).following == 1
    assert basis_of(report, 3, compaction=None, edits=[(0, 3)]).following == 3
    assert basis_of(report, 3, compaction=2, edits=[]).following == 3
    assert basis_of(None, 3, compaction=None, edits=[]).following == 3


def test_a_usage_whose_request_was_on_its_way_when_something_was_edited_is_not_believed() -> None:
    """The edit stands above the answer, which had been asked for before it: the window was taken for nearly empty."""
    report = Report(place=5, asked=3, usage=usage(100), following=0)

    def source(target: int, edit: int) -> str:
        return basis_of(report, 4, compaction=None, edits=[(target, edit)]).source

    assert source(1, 4) == source(3, 4) == "estimated"
    assert source(1, 2) == "reported", "it was there when it was asked"
    assert source(4, 5) == "reported", "an answer that failed was never in a request, and is hidden"
