"""Small builders: a message or an entry in one call, with what the test is not about filled in."""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.events.content import AssistantBlock, TextContent, ToolCall, UserContent, text_of
from sapwood.events.entries import SESSION_VERSION, Entry, Header, MessageEntry
from sapwood.events.ids import EntryId, SessionId, ToolCallId
from sapwood.events.messages import (
    NO_USAGE,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Message,
    StopReason,
    StoredMessage,
    SystemMessage,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from sapwood.events.models import Model

TIME = "2026-01-01T00:00:00.000Z"
MS = 1_767_225_600_000
MODEL = Model(provider="scripted", id="talker", context_window=200_000)
HEADER = Header(version=SESSION_VERSION, id=SessionId("s1"), timestamp=TIME, cwd="/home/dev")


def text(words: str) -> TextContent:
    return TextContent(text=words)


def call(call_id: str, name: str = "read", **arguments: object) -> ToolCall:
    return ToolCall(id=ToolCallId(call_id), name=name, arguments=dict(arguments))


def user(content: UserContent = "hello") -> UserMessage:
    return UserMessage(content=content, timestamp=MS)


def assistant(
    *blocks: AssistantBlock | str,
    stop: StopReason = "stop",
    usage: Usage = NO_USAGE,
    error: str | None = None,
    provider: str = "scripted",
    model: str = "talker",
) -> AssistantMessage:
    return AssistantMessage(
        content=tuple(text(block) if isinstance(block, str) else block for block in blocks),
        api="scripted",
        provider=provider,
        model=model,
        usage=usage,
        stop_reason=stop,
        error_message=error,
        timestamp=MS,
    )


def result(call_id: str, words: str = "done", *, name: str = "read", error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=ToolCallId(call_id), tool_name=name, content=(text(words),), is_error=error, timestamp=MS
    )


def system(**sections: str | None) -> SystemMessage:
    return SystemMessage(content="", sections=sections, timestamp=MS)


def usage(total: int) -> Usage:
    return Usage(input=total, output=0, cache_read=0, cache_write=0, total_tokens=total)


def message_entry(entry_id: str, message: StoredMessage, parent: str | None = None) -> MessageEntry:
    return MessageEntry(
        id=EntryId(entry_id), parent_id=None if parent is None else EntryId(parent), timestamp=TIME, message=message
    )


def words(message: Message) -> str:
    """The text of a message, whatever its kind."""
    match message:
        case CompactionSummaryMessage(summary=summary) | BranchSummaryMessage(summary=summary):
            return summary
        case BashExecutionMessage(command=command):
            return command
        case _:
            return text_of(message.content)


def ids(entries: Sequence[Entry]) -> list[str]:
    return [entry.id for entry in entries]
