"""The blocks that messages are made of."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from sapwood.events.base import Json, Wire, is_array, is_object
from sapwood.events.ids import ToolCallId

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class TextContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    text: str
    text_signature: str | None = None


class ImageContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="image"):
    data: str
    """Base64 of the image's bytes."""
    mime_type: str


class ThinkingContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking"):
    thinking: str
    thinking_signature: str | None = None
    """Opaque to us; it goes back byte for byte with its text, or neither goes (P5)."""
    redacted: bool | None = None


class ToolCall(Wire, frozen=True, kw_only=True, tag_field="type", tag="toolCall"):
    id: ToolCallId
    name: str
    arguments: dict[str, Json]
    thought_signature: str | None = None
    namespace: str | None = None
    arguments_error: str | None = None
    """Set when what the model sent as arguments was no JSON object; `arguments` is then empty."""


UserBlock = TextContent | ImageContent
AssistantBlock = TextContent | ThinkingContent | ToolCall
ContentBlock = TextContent | ImageContent | ThinkingContent | ToolCall

UserContent = str | tuple[UserBlock, ...]
AssistantContent = tuple[AssistantBlock, ...]


def text_of(content: str | tuple[ContentBlock, ...]) -> str:
    """All text of some content, blocks joined with nothing between. Images, thinking and calls say nothing here."""
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if isinstance(block, TextContent))


def without_surrogates(text: str) -> str:
    """The text with each half of a character that has no other half replaced; two halves that meet are the character.

    The same object where there is none: a text may be hundreds of megabytes, and no copy of it is made to find that out.
    """
    if type(text) is str and (
        text.isascii() or _SURROGATE.search(text) is None
    ):  # what is derived from it becomes plain text
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def mended(value: Json, text: Callable[[str], str] = without_surrogates) -> Json:
    """JSON with `text` done to its texts and keys, however deep; the same object if that changes nothing. Each container once."""
    copies: dict[int, Any] = {}
    todo: list[tuple[Json, Any]] = []
    changed = False

    def done(said: Any) -> Any:
        nonlocal changed
        if not isinstance(said, str):
            return said
        new = text(said)
        changed = changed or new != said
        return new

    def copied(item: Json) -> Json:
        if not is_object(item) and not is_array(item):
            return done(item)
        if id(item) not in copies:
            copies[id(item)] = {} if is_object(item) else []
            todo.append((item, copies[id(item)]))
        return copies[id(item)]

    copy = copied(value)
    while todo:
        holder, empty = todo.pop()
        if is_object(holder):
            empty.update({done(key): copied(item) for key, item in holder.items()})
        else:
            empty.extend(map(copied, holder))
    return copy if changed else value
