"""What one entry gives to the model, and what an edit makes of it (P1, P3). No I/O."""

from __future__ import annotations

import msgspec

from sapwood.events.content import ContentBlock, ImageContent, TextContent, ThinkingContent, ToolCall
from sapwood.events.entries import (
    BranchSummary,
    Compaction,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    Node,
    Replacement,
)
from sapwood.events.messages import (
    AssistantMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from sapwood.events.times import milliseconds

Messages = tuple[Message, ...]


def messages_of(entry: Entry) -> Messages:
    """The messages of an entry, before any edit. Kinds that the model never sees give none."""
    match entry:
        case MessageEntry(message=message):
            return (message,)
        case CustomMessageEntry():
            message = CustomMessage(
                custom_type=entry.custom_type,
                content=entry.content,
                display=entry.display,
                details=entry.details,
                timestamp=_time_of(entry),
            )
            return (message,)
        case BranchSummary(summary=summary) if summary:
            return (BranchSummaryMessage(summary=summary, from_id=entry.from_id, timestamp=_time_of(entry)),)
        case Compaction():
            summary_message = CompactionSummaryMessage(
                summary=entry.summary, tokens_before=entry.tokens_before, timestamp=_time_of(entry)
            )
            return (summary_message,) if entry.system_message is None else (entry.system_message, summary_message)
        case _:
            return ()


def without_prompt(messages: Messages) -> Messages:
    """The messages but the system's: a compaction carries the prompt of its boundary itself."""
    return tuple(message for message in messages if not isinstance(message, SystemMessage))


def apply_edit(entry: Entry, replacement: Replacement | None) -> Messages:
    """The messages of an entry after its latest edit: none for null, other content where content can be edited, else as they were."""
    if replacement is None:
        return ()
    return tuple(_with_content(message, replacement.content) for message in messages_of(entry))


def _with_content(message: Message, content: str | tuple[ContentBlock, ...]) -> Message:
    blocks = (TextContent(text=content),) if isinstance(content, str) else content
    match message:
        case UserMessage() | CustomMessage():
            kept = (
                content
                if isinstance(content, str)
                else tuple(b for b in content if isinstance(b, TextContent | ImageContent))
            )
            return msgspec.structs.replace(message, content=kept)
        case ToolResultMessage():
            shown = tuple(block for block in blocks if isinstance(block, TextContent | ImageContent))
            return msgspec.structs.replace(message, content=shown)
        case AssistantMessage():
            said = tuple(block for block in blocks if _may_say(message, block))
            return msgspec.structs.replace(message, content=said)
        case _:
            return message


def _may_say(answer: AssistantMessage, block: ContentBlock) -> bool:
    """Whether an edit may let an answer say this. A signature is for what the model thought: other words would be refused for ever (P5)."""
    match block:
        case ThinkingContent(thinking_signature=str(signature)) if signature:
            return block in answer.content
        case _:
            return isinstance(block, TextContent | ThinkingContent | ToolCall)


def _time_of(entry: Node) -> int:
    """Unix milliseconds; 0 for an entry whose time is none."""
    return milliseconds(entry.timestamp) or 0
