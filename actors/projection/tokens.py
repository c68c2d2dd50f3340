"""How many tokens something is. No I/O.

1. `heuristic` gives exactly Pi's numbers (T2): UTF-16 units / 4, rounded up per message.
2. `measure` is the one function that says how full a context is, and whether that is known (T5).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, assert_never

import attrs
import msgspec

from sapwood.events.base import Json, is_array, is_object
from sapwood.events.content import ContentBlock, ImageContent, TextContent, ThinkingContent, ToolCall
from sapwood.events.context import ContextItem, Measured
from sapwood.events.messages import (
    FAILED,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    Usage,
    UserMessage,
)

TokenCounter = Callable[[Message], int]

UNITS_PER_TOKEN: Final = 4
"""Pi's estimate. About right for English and code, half of the truth for Chinese."""
IMAGE_UNITS: Final = 4800
"""An image counts as so many characters: 1200 tokens."""


def units(text: str) -> int:
    """The length of a text in UTF-16 code units, as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def heuristic(message: Message) -> int:
    """Tokens of one message by Pi's rule (T2)."""
    return -(-_message_units(message) // UNITS_PER_TOKEN)


def _message_units(message: Message) -> int:
    match message:
        case UserMessage() | CustomMessage() | ToolResultMessage() | AssistantMessage():
            return _content_units(message.content)
        case SystemMessage():
            sections = sum(units(text) for text in (message.sections or {}).values() if text is not None)
            added = units(_json([_plain(tool) for tool in message.tools_added])) if message.tools_added else 0
            return _content_units(message.content) + sections + added
        case BashExecutionMessage():
            return units(message.command) + units(message.output)
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return units(message.summary)
        case _:
            assert_never(message)


def _content_units(content: str | Sequence[ContentBlock]) -> int:
    return units(content) if isinstance(content, str) else sum(map(_block_units, content))


def _block_units(block: ContentBlock) -> int:
    match block:
        case TextContent():
            return units(block.text)
        case ImageContent():
            return IMAGE_UNITS
        case ThinkingContent():
            return units(block.thinking)
        case ToolCall():
            return units(block.name) + units(_json(block.arguments))
        case _:
            assert_never(block)


def _json(value: Any) -> str:
    """JSON as JavaScript writes it: no blanks, characters as they are, whole numbers without a point."""
    return json.dumps(_as_javascript(value), ensure_ascii=False, separators=(",", ":"))


def _as_javascript(value: Json) -> Json:
    if (
        isinstance(value, float) and value.is_integer() and abs(value) < 1e21
    ):  # from there on JavaScript writes an exponent
        return int(value)
    if is_object(value):
        return {key: _as_javascript(item) for key, item in value.items()}
    if is_array(value):
        return [_as_javascript(item) for item in value]
    return value


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value)


def context_tokens(usage: Usage) -> int:
    """What a request with this usage left in the context."""
    return usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write


def believable(message: Message) -> Usage | None:
    """The usage of an answer that neither failed nor was cut off by hand, and reports more than zero."""
    match message:
        case AssistantMessage(stop_reason=reason, usage=usage) if reason not in FAILED and context_tokens(usage) > 0:
            return usage
        case _:
            return None


@attrs.frozen
class Counted:
    """One selected message, counted, and where its entry stands on the path."""

    place: int
    item: ContextItem


def measure(counted: Sequence[Counted], *, compaction: int | None, edits: Sequence[tuple[int, int]]) -> Measured:
    """How full the context is (T3, T5).

    Args:
        counted: the selection, oldest first.
        compaction: where the compaction at its head stands on the path. An older answer's usage says nothing of this context.
        edits: (target, edit) of each edit that shows in it. A usage from the target on, and from before the edit, counted what is no
            longer there.
    """
    following = 0
    for one in reversed(counted):
        usage = believable(one.item.message)
        if usage is not None and (compaction is None or one.place > compaction):
            if any(target <= one.place < edit for target, edit in edits):
                return _estimated(sum(other.item.tokens for other in counted))
            return Measured(tokens=context_tokens(usage) + following, source="reported", counted=following)
        following += one.item.tokens
    return _estimated(following) if compaction is None else Measured(tokens=following, source="none", counted=following)


def _estimated(tokens: int) -> Measured:
    return Measured(tokens=tokens, source="estimated", counted=tokens)
