"""Messages, entries and events in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.events.content import ImageContent, ThinkingContent
from sapwood.events.deltas import TextDelta, TextStart, ToolCallEnd
from sapwood.events.entries import (
    LEAF_MARKER,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    Entry,
    Label,
    ModelChange,
    Replacement,
    SessionInfo,
    ThinkingLevelChange,
    Unknown,
    UsageEntry,
)
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import (
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolDefinition,
    Usage,
)
from sapwood.events.runtime import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    EntryAppended,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    QueueUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
)
from sapwood.words.describing import (
    entry_in_words,
    event_in_words,
    kind_in_words,
    message_in_words,
    text_of_message,
    usage_in_words,
)
from tests.build import MS, TIME, assistant, call, message_entry, result, system, text, usage, user

HERE, THERE = EntryId("here"), EntryId("there")
C1 = ToolCallId("c1")
SAID: dict[str, Any] = {"id": HERE, "parent_id": None, "timestamp": TIME}
BASH = BashExecutionMessage(command="ls", output="a\nb", cancelled=False, truncated=False, timestamp=MS)
TOOL = ToolDefinition(name="read", description="", parameters={})
PHOTO = ImageContent(data="aGk=", mime_type="image/png")

MESSAGES: list[tuple[Message, str, str]] = [
    (user("hi"), "hi", "hi"),
    (user((text("look"), PHOTO)), "look", "look\n[image/png]"),
    (assistant("a", "b"), "ab", "a\nb"),
    (assistant(ThinkingContent(thinking="hm"), "a"), "a", "[thinking: hm]\na"),
    (assistant(call("c", path="x")), "", "[read(path='x')]"),
    (assistant("half", stop="error", error="overloaded"), "half", "half\n[error: overloaded]"),
    (result("c", "\nok"), "\nok", "read: ok"),
    (result("c", "no", error=True), "no", "read failed: no"),
    (system(rules="be kind", gone=None), "be kind", "be kind"),
    (system(gone=None), "", "[gone]"),
    (SystemMessage(content="", tools_added=(TOOL,), timestamp=MS), "", "[read]"),
    (SystemMessage(content="you", sections={"cwd": "/x"}, timestamp=MS), "you\n\n/x", "you\n\n/x"),
    (SystemMessage(content="", timestamp=MS), "", ""),
    (BASH, "$ ls\na\nb", "$ ls\na\nb"),
    (BashExecutionMessage(command="ls", output="", cancelled=False, truncated=False, timestamp=MS), "$ ls", "$ ls"),
    (CustomMessage(custom_type="note", content="noon", display=True, timestamp=MS), "noon", "noon"),
    (BranchSummaryMessage(summary="found", from_id=THERE, timestamp=MS), "found", "[branch summary]: found"),
    (CompactionSummaryMessage(summary="## Goal", tokens_before=9, timestamp=MS), "## Goal", "## Goal"),
]


@pytest.mark.parametrize(("message", "said", "told"), MESSAGES)
def test_a_message_is_its_text_and_in_words_all_its_blocks(message: Message, said: str, told: str) -> None:
    assert text_of_message(message) == said
    assert message_in_words(message) == told


ENTRIES: list[tuple[Entry, str, str]] = [
    (message_entry("here", user("hi")), "user", "hi"),
    (ModelChange(**SAID, provider="p", model_id="m"), "model_change", "p/m"),
    (ThinkingLevelChange(**SAID, thinking_level="low"), "thinking_level_change", "low"),
    (UsageEntry(**SAID, kind="warm", provider="p", model="m", usage=usage(9)), "usage", "warm: 9 in, 0 out"),
    (Compaction(**SAID, summary="sum", first_kept_entry_id=HERE, tokens_before=1), "compaction", "sum"),
    (BranchSummary(**SAID, from_id=THERE, summary="found"), "branch_summary", "[branch summary]: found"),
    (ContextEdit(**SAID, target_id=THERE, replacement=None), "context_edit", "hides there"),
    (ContextEdit(**SAID, target_id=THERE, replacement=Replacement(content="")), "context_edit", "changes there"),
    (Custom(**SAID, custom_type="x.y"), "custom", "x.y"),
    (Custom(**SAID, custom_type=LEAF_MARKER), "custom", "the leaf was moved here"),
    (CustomMessageEntry(**SAID, custom_type="n", content="noon", display=True), "custom_message", "n: noon"),
    (Label(**SAID, target_id=THERE, label="x"), "label", "'x' on there"),
    (Label(**SAID, target_id=THERE), "label", "none on there"),
    (SessionInfo(**SAID, name="mine"), "session_info", "mine"),
    (SessionInfo(**SAID), "session_info", "(no name)"),
    (Unknown(type="later", line=b"{}", **SAID), "later", "(a kind that this release does not know)"),
]


@pytest.mark.parametrize(("entry", "kind", "told"), ENTRIES)
def test_an_entry_is_told_by_its_role_or_kind_and_what_it_says(entry: Entry, kind: str, told: str) -> None:
    assert kind_in_words(entry) == kind
    assert entry_in_words(entry) == told


EVENTS: list[tuple[Event, str]] = [
    (AgentStart(), ""),
    (MessageStart(message=assistant()), "assistant"),
    (MessageEnd(message=user("hi"), entry_id=HERE), "user: hi"),
    (MessageUpdate(call_id="c", assistant_message_event=TextStart(content_index=0)), "text_start"),
    (MessageUpdate(call_id="c", assistant_message_event=TextDelta(content_index=0, delta="a")), "text_delta: a"),
    (
        MessageUpdate(call_id="c", assistant_message_event=ToolCallEnd(content_index=0, tool_call=call("c"))),
        "toolcall_end",
    ),
    (EntryAppended(entry_id=HERE, kind="message", entry=message_entry("here", user())), "here user"),
    (EntryAppended(entry_id=HERE, kind="later"), "here later"),
    (ToolExecutionStart(tool_call_id=C1, tool_name="read", args={"path": "a"}), 'c1 read {"path":"a"}'),
    (ToolExecutionUpdate(tool_call_id=C1, tool_name="read", partial_result={"half": 1}), 'c1 read: {"half":1}'),
    (ToolExecutionUpdate(tool_call_id=C1, tool_name="read", partial_result="half"), "c1 read: half"),
    (ToolExecutionEnd(tool_call_id=C1, tool_name="read", result=(text("x"),), is_error=False), "c1 read: x"),
    (ToolExecutionEnd(tool_call_id=C1, tool_name="read", result=(text("x"),), is_error=True), "c1 read failed: x"),
    (TurnEnd(message=assistant(usage=usage(5)), tool_results=()), "stop, 5 in, 0 out"),
    (TurnEnd(message=assistant(), tool_results=(result("c"),)), "stop, 0 in, 0 out, 1 results"),
    (AgentEnd(messages=(user(),), will_retry=False), "1 messages"),
    (AgentEnd(messages=(), will_retry=True), "0 messages, will retry"),
    (AgentSettled(aborted=False), ""),
    (AgentSettled(aborted=True), "aborted"),
    (AgentSettled(aborted=True, error_message="the disk"), "aborted, the disk"),
    (
        MessageEnd(message=assistant("half", stop="error", error="full"), entry_id=HERE),
        "assistant (full): half\n[error: full]",
    ),
    (MessageEnd(message=assistant(stop="error", error="full"), entry_id=HERE), "assistant (full)"),
    (TurnEnd(message=assistant(stop="error", error="full"), tool_results=()), "error (full), 0 in, 0 out"),
    (QueueUpdate(steering=("a",), follow_up=()), 'steering: ["a"], followUp: []'),
]


@pytest.mark.parametrize(("event", "told"), EVENTS)
def test_an_event_tells_what_is_not_in_its_name(event: Event, told: str) -> None:
    assert event_in_words(event) == told


def test_usage_tells_what_was_cached() -> None:
    cached = Usage(input=1200, output=3, cache_read=5000, cache_write=0)

    assert usage_in_words(cached) == "1,200 in, 3 out, 5,000 cached"
