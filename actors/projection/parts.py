"""What of a message is counted: one walk, for every counter. No I/O.

All that the model reads of it: text, thinking, the name and the arguments of a call, results, images, the sections of the system's prompt,
and the tools that it declares. Signatures, details and ids are not for the model, or cost nothing that anybody could count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

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
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)

_written: Final = json.JSONEncoder(ensure_ascii=False).encode
_ENDED: Final = object()


def parts_of(message: Message) -> Iterator[str | ImageContent]:
    """The texts and images of a message, in order."""
    match message:
        case UserMessage() | CustomMessage() | ToolResultMessage() | AssistantMessage():
            yield from _of_content(message.content)
        case SystemMessage():
            yield from _of_content(message.content)
            yield from (text for text in (message.sections or {}).values() if text is not None)
            if message.tools_added:
                yield json_of([_of_tool(tool) for tool in message.tools_added])
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
                yield json_of(block.arguments)
            case _:
                assert_never(block)


def json_of(value: Json) -> str:
    """JSON as JavaScript writes it: no blanks, characters as they are, whole numbers without a point. By one loop, however deep it is."""
    written: list[str] = []
    within: list[tuple[Iterator[tuple[str, Json]], str]] = [(iter([("", value)]), "")]
    while within:
        items, end = within[-1]
        before, item = next(items, (end, _ENDED))
        written.append(before)
        if item is _ENDED:
            within.pop()
        elif is_object(item):
            written.append("{")
            within.append((_members(item), "}"))
        elif is_array(item):
            written.append("[")
            within.append((_elements(item), "]"))
        else:
            written.append(_scalar(item))
    return "".join(written)


def _members(value: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Each value of an object, and what is written before it."""
    comma = ""
    for key, item in value.items():
        yield f"{comma}{_written(key)}:", item
        comma = ","


def _elements(value: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    comma = ""
    for item in value:
        yield comma, item
        comma = ","


def _scalar(value: Json) -> str:
    # from 1e21 on JavaScript writes an exponent
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return _written(value)


def _of_tool(tool: ToolDefinition) -> dict[str, Json]:
    """A tool as it is on the wire."""
    shown = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return shown if tool.constrained_sampling is None else {**shown, "constrainedSampling": tool.constrained_sampling}
