"""Every text of a message that goes to a provider, changed in one way. No I/O.

1. Texts are what somebody said, and the strings and keys of JSON; ids, names of tools and images are none.
2. Thinking that is signed goes as it is or not at all: one that would change is left out (P5).
3. A message that does not change is the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, assert_never

import msgspec

from sapwood.actors.outgoing.veil import NOTHING, Veil
from sapwood.events.content import ContentBlock, ImageContent, TextContent, ThinkingContent, ToolCall, mended
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

Change = Callable[[str], str]
B = TypeVar("B", bound=ContentBlock)
W = TypeVar("W", bound=msgspec.Struct)


def with_texts(message: Message, change: Change) -> Message:
    """The message with each of its texts changed."""
    match message:
        case UserMessage(content=content) | CustomMessage(content=content):
            said = change(content) if isinstance(content, str) else blocks_with(content, change)
            return _changed(message, content=said)
        case AssistantMessage(content=content):
            return _changed(message, content=blocks_with(content, change))
        case ToolResultMessage(content=content):
            return _changed(message, content=blocks_with(content, change))
        case SystemMessage():
            return _system(message, change)
        case BashExecutionMessage(command=command, output=output, full_output_path=path):
            return _changed(
                message,
                command=change(command),
                output=change(output),
                full_output_path=None if path is None else change(path),
            )
        case BranchSummaryMessage(summary=summary) | CompactionSummaryMessage(summary=summary):
            return _changed(message, summary=change(summary))
        case _:
            assert_never(message)


def hidden(messages: Sequence[Message], veil: Veil) -> Sequence[Message]:
    """The messages as they may go out."""
    return [with_texts(message, veil.hide) for message in messages] if veil.secrets else messages


class Hiding:
    """Hides one selection after the other, as `hidden` does. What begins as the one before it costs what it adds (P10)."""

    def __init__(self) -> None:
        self._veil = NOTHING
        self._messages: Sequence[Message] = ()
        self._hidden: list[Message] = []

    def hidden(self, messages: Sequence[Message], veil: Veil) -> Sequence[Message]:
        """The messages as they may go out."""
        if not veil.secrets:
            return messages
        known = 0 if veil is not self._veil else in_common(self._messages, messages)
        made = self._hidden[:known]
        made.extend(hidden(messages[known:], veil))
        self._veil, self._messages, self._hidden = veil, messages, made
        return made


def in_common(some: Sequence[Message], others: Sequence[Message]) -> int:
    """How many of them are the same objects, from the first on."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((at for at, (one, other) in pairs if one is not other), min(len(some), len(others)))


def has_images(messages: Sequence[Message]) -> bool:
    """Whether there is an image in them."""
    contents = (getattr(message, "content", ()) for message in messages)
    return any(
        isinstance(block, ImageContent) for content in contents if not isinstance(content, str) for block in content
    )


def blocks_with(content: tuple[B, ...], change: Change) -> tuple[B, ...]:
    """The blocks with their texts changed; the same tuple if none does."""
    made = [new for block in content if (new := _block(block, change)) is not None]
    return content if len(made) == len(content) and all(map(_same, made, content)) else tuple(made)


def _block(block: B, change: Change) -> B | None:
    match block:
        case TextContent(text=text):
            return _changed(block, text=change(text))
        case ThinkingContent(thinking=thinking):
            new = _changed(block, thinking=change(thinking))
            return None if is_signed(block) and new is not block else new
        case ToolCall(arguments=arguments, arguments_error=error):
            return _changed(
                block, arguments=mended(arguments, change), arguments_error=None if error is None else change(error)
            )
        case ImageContent():
            return block


def is_signed(block: ThinkingContent) -> bool:
    """Whether its text is bound to a signature."""
    return block.thinking_signature is not None or bool(block.redacted)


def _system(message: SystemMessage, change: Change) -> SystemMessage:
    content, sections, tools = message.content, message.sections, message.tools_added
    return _changed(
        message,
        content=change(content) if isinstance(content, str) else blocks_with(content, change),
        sections=sections
        and {name: None if section is None else change(section) for name, section in sections.items()},
        tools_added=tools and tuple(_tool(tool, change) for tool in tools),
    )


def _tool(tool: ToolDefinition, change: Change) -> ToolDefinition:
    return _changed(
        tool,
        description=change(tool.description),
        parameters=mended(tool.parameters, change),
        constrained_sampling=mended(tool.constrained_sampling, change),
    )


def _changed(value: W, **fields: object) -> W:
    """The value with these fields; the same object if each has what it had."""
    if all(getattr(value, name) == new for name, new in fields.items()):
        return value
    return msgspec.structs.replace(value, **fields)


def _same(one: object, other: object) -> bool:
    return one is other
