"""What of a message is counted: one walk, for every counter. No I/O.

All that the model reads of it: text, thinking, the name and the arguments of a call, results, images, the sections of the system's prompt,
and the tools that it declares. Signatures, details and ids are not for the model, or cost nothing that anybody could count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, assert_never

import msgspec

from sapwood.events.base import Json, is_array, is_object
from sapwood.events.content import ContentBlock, ImageContent, TextContent, ThinkingContent, ToolCall
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


def parts_of(message: Message) -> Iterator[str | ImageContent]:
    """The texts and images of a message, in order."""
    match message:
        case UserMessage() | CustomMessage() | ToolResultMessage() | AssistantMessage():
            yield from _of_content(message.content)
        case SystemMessage():
            yield from _of_content(message.content)
            yield from (text for text in (message.sections or {}).values() if text is not None)
            if message.tools_added:
                yield _json([_plain(tool) for tool in message.tools_added])
        case BashExecutionMessage():
            yield message.command
            yield message.output
        case BranchSummaryMessage() | CompactionSummaryMessage():
            yield message.summary
        case _:
            assert_never(message)


def length_of(message: Message) -> int:
    """Characters of a message that a counter has to look at."""
    return sum(len(part) for part in parts_of(message) if isinstance(part, str))


def _of_content(content: str | Sequence[ContentBlock]) -> Iterator[str | ImageContent]:
    if isinstance(content, str):
        yield content
        return
    for block in content:
        match block:
            case TextContent():
                yield block.text
            case ImageContent():
                yield block
            case ThinkingContent():
                yield block.thinking
            case ToolCall():
                yield block.name
                yield _json(block.arguments)
            case _:
                assert_never(block)


def _json(value: Any) -> str:
    """JSON as JavaScript writes it: no blanks, characters as they are, whole numbers without a point."""
    return json.dumps(_as_javascript(value), ensure_ascii=False, separators=(",", ":"))


def _as_javascript(value: Json) -> Json:
    # from 1e21 on JavaScript writes an exponent
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if is_object(value):
        return {key: _as_javascript(item) for key, item in value.items()}
    if is_array(value):
        return [_as_javascript(item) for item in value]
    return value


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value)
