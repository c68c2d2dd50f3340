"""Pi's numbers, and when a reported one is believed."""

from __future__ import annotations

import pytest

from sapwood.actors.projection.tokens import Counted, believable, context_tokens, heuristic, measure, units
from sapwood.events.content import ImageContent, ThinkingContent
from sapwood.events.context import ContextItem, Measured
from sapwood.events.ids import EntryId
from sapwood.events.messages import (
    BashExecutionMessage,
    CompactionSummaryMessage,
    Message,
    SystemMessage,
    ToolDefinition,
    Usage,
)
from tests.build import MS, assistant, call, result, text, usage, user

IMAGE = ImageContent(data="aGk=", mime_type="image/png")


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (user("123456789"), 3),  # Pi: nine characters are three
        (user((IMAGE,)), 1200),
        (user("😀😀"), 1),  # four UTF-16 units
        (user(""), 0),
        (assistant(ThinkingContent(thinking="hmmm"), call("x", path="a"), "1"), 6),  # 4 + 4 + 12 + 1 units
        (result("a", "12345"), 2),
        (CompactionSummaryMessage(summary="12345678", tokens_before=1, timestamp=MS), 2),
        (BashExecutionMessage(command="ls", output="ab", cancelled=False, truncated=False, timestamp=MS), 1),
        (SystemMessage(content=(text("abcd"),), sections={"a": "efgh", "b": None}, timestamp=MS), 2),
    ],
)
def test_a_message_counts_what_pi_counts(message: Message, tokens: int) -> None:
    assert heuristic(message) == tokens


def test_declared_tools_count_as_their_json() -> None:
    tool = ToolDefinition(name="a", description="b", parameters={})
    message = SystemMessage(content="", tools_added=(tool,), timestamp=MS)

    assert heuristic(message) == -(-len('[{"name":"a","description":"b","parameters":{}}]') // 4)


def test_numbers_count_as_javascript_writes_them() -> None:
    assert heuristic(assistant(call("x", a=1.0, b=[2.0]))) == heuristic(assistant(call("x", a=1, b=[2])))
    assert heuristic(assistant(call("x", a=1e21))) == -(-(4 + len('{"a":1e+21}')) // 4)


def test_characters_of_arguments_count_as_themselves_and_not_as_escapes() -> None:
    assert heuristic(assistant(call("x", a="漢字漢字"))) == -(-(4 + len('{"a":"漢字漢字"}')) // 4)


def test_a_text_is_as_long_as_javascript_says() -> None:
    assert [units(words) for words in ("abc", "é", "漢字", "😀", "\ud800")] == [3, 1, 2, 2, 1]


def test_usage_is_the_total_or_else_the_sum() -> None:
    assert context_tokens(usage(7)) == 7
    assert context_tokens(Usage(input=1, output=2, cache_read=3, cache_write=4)) == 10


def test_only_a_good_answer_that_reports_something_is_believed() -> None:
    assert believable(assistant("x", usage=usage(5))) == usage(5)
    assert believable(assistant("x", usage=usage(0))) is None
    assert believable(assistant("x", usage=usage(5), stop="error")) is None
    assert believable(assistant("x", usage=usage(5), stop="aborted")) is None
    assert believable(user()) is None


def reported(tokens: int, *, since: int) -> Measured:
    return Measured(tokens=tokens + since, source="reported", counted=since)


def estimated(tokens: int) -> Measured:
    return Measured(tokens=tokens, source="estimated", counted=tokens)


def unknown(tokens: int) -> Measured:
    return Measured(tokens=tokens, source="none", counted=tokens)


def counted(*messages: Message) -> list[Counted]:
    """The messages, each ten tokens, in entries 0, 1, 2 …"""
    return [
        Counted(index, ContextItem(entry_id=EntryId(str(index)), message=message, tokens=10))
        for index, message in enumerate(messages)
    ]


def test_the_last_reported_usage_is_believed_and_what_follows_is_added() -> None:
    context = counted(user(), assistant("a", usage=usage(100)), user(), assistant("b", usage=usage(200)), user())

    assert measure(context, compaction=None, edits=[]) == reported(200, since=10)


def test_without_a_reported_usage_the_count_stands() -> None:
    assert measure(counted(user(), assistant("x")), compaction=None, edits=[]) == estimated(20)
    assert measure([], compaction=None, edits=[]) == estimated(0)


def test_a_usage_older_than_the_compaction_is_not_believed_and_nobody_can_know() -> None:
    context = counted(user(), assistant("a", usage=usage(100)), user())

    assert measure(context, compaction=2, edits=[]) == unknown(30)
    assert measure(context, compaction=0, edits=[]) == reported(100, since=10)


def test_a_usage_that_counted_what_was_edited_since_is_not_believed() -> None:
    context = counted(user(), assistant("a", usage=usage(100)), user())

    assert measure(context, compaction=None, edits=[(0, 3)]) == estimated(30)
    assert measure(context, compaction=None, edits=[(1, 3)]) == estimated(30)


def test_an_edit_of_what_came_later_or_was_there_before_leaves_the_usage_believed() -> None:
    context = counted(user(), assistant("a", usage=usage(100)), user())

    assert measure(context, compaction=None, edits=[(2, 3)]) == reported(100, since=10)
    later = [Counted(one.place + 5, one.item) for one in context]
    assert measure(later, compaction=None, edits=[(5, 5)]) == reported(100, since=10)
