"""A message as a summary is told it, and cut until it fits (N3). No I/O.

1. Thinking is not told, an image is a mark, and a tool's result is cut as it always is.
2. What is cut keeps its beginning and its role, and says how much is missing if there is room to say so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import msgspec

from sapwood.actors.projection.counter import units
from sapwood.actors.summaries.flatten import IMAGE, TOOL_RESULT_MAX, call_line, cut_result
from sapwood.actors.summaries.parts import beginning, shortened
from sapwood.events.content import ContentBlock, ImageContent, TextContent, ThinkingContent, ToolCall, text_of
from sapwood.events.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)

CountMessage = Callable[[Message], int]

RESULT_MAX = TOOL_RESULT_MAX - 64
"""UTF-16 units of a result that is cut here: with the mark, which takes less than 64, it is not cut a second time when it is told."""


def as_told(message: Message) -> Message:
    """The message with no more in it than a summary is told of it: what is to be counted."""
    match message:
        case AssistantMessage(content=content):
            told = tuple(block for block in content if not isinstance(block, ThinkingContent))
            return message if len(told) == len(content) else msgspec.structs.replace(message, content=told)
        case ToolResultMessage(content=content):
            told = (TextContent(text=cut_result(text_of(content))), *_marks(content))
            return msgspec.structs.replace(message, content=told)
        case UserMessage(content=content) | CustomMessage(content=content) if not isinstance(content, str):
            told = (*(block for block in content if isinstance(block, TextContent)), *_marks(content))
            return msgspec.structs.replace(message, content=told)
        case _:
            return message


def cut_to_fit(message: Message, room: int, count: CountMessage, *, always: bool) -> Message | None:
    """The message with as much of its beginning as fits; None if there is nothing worth having.

    Args:
        message: larger than the room, as it is told, and not empty.
        room: tokens.
        count: of a message.
        always: a character at least, even if it is too large.
    """
    match message:
        case BashExecutionMessage() if count(msgspec.structs.replace(message, output="")) >= room:
            bare = msgspec.structs.replace(message, output="")
            return _fitted(
                message.command, room, count, lambda text: msgspec.structs.replace(bare, command=text), always=always
            )
        case _:
            return _fitted(_text(message), room, count, lambda text: _with_text(message, text), always=always)


def _fitted(
    text: str, room: int, count: CountMessage, made: Callable[[str], Message], *, always: bool
) -> Message | None:
    """What is made of as much of the text as lets it fit."""
    bare = count(made(""))

    def weight(piece: str) -> int:
        message = made(piece)
        too_long = isinstance(message, ToolResultMessage) and units(piece) > RESULT_MAX
        return room + 1 if too_long else count(message) - bare

    text, left = text.strip(), max(room - bare, 0)
    kept = shortened(text, left, weight)
    if not kept and always:
        kept = beginning(text, left, weight)
    return made(kept) if kept else None


def _text(message: Message) -> str:
    """The text of a message that can be cut."""
    match message:
        case AssistantMessage(content=content):
            said = (block.text for block in content if isinstance(block, TextContent) and block.text.strip())
            calls = (call_line(block) for block in content if isinstance(block, ToolCall))
            return "\n\n".join((*said, *calls))
        case UserMessage(content=content) | CustomMessage(content=content) | ToolResultMessage(content=content):
            return "\n".join(filter(None, (text_of(content), *(mark.text for mark in _marks(content)))))
        case BashExecutionMessage(output=output):
            return output
        case BranchSummaryMessage(summary=summary) | CompactionSummaryMessage(summary=summary):
            return summary
        case SystemMessage():
            return ""
        case _:
            assert_never(message)


def _with_text(message: Message, text: str) -> Message:
    """The message with this for all that it says."""
    match message:
        case UserMessage() | CustomMessage():
            return msgspec.structs.replace(message, content=text)
        case AssistantMessage() | ToolResultMessage():
            return msgspec.structs.replace(message, content=(TextContent(text=text),))
        case BashExecutionMessage():
            return msgspec.structs.replace(message, output=text)
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return msgspec.structs.replace(message, summary=text)
        case SystemMessage():
            return message
        case _:
            assert_never(message)


def _marks(content: str | tuple[ContentBlock, ...]) -> tuple[TextContent, ...]:
    """A mark for each image."""
    if isinstance(content, str):
        return ()
    return tuple(TextContent(text=IMAGE) for block in content if isinstance(block, ImageContent))
