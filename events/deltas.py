"""Pieces of an answer as it streams, and how neighbouring pieces become one."""

from __future__ import annotations

from sapwood.events.base import Wire
from sapwood.events.content import ToolCall
from sapwood.events.ids import ToolCallId


class TextStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="text_start"):
    content_index: int


class TextDelta(Wire, frozen=True, kw_only=True, tag_field="type", tag="text_delta"):
    content_index: int
    delta: str


class TextEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="text_end"):
    content_index: int
    content: str


class ThinkingStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking_start"):
    content_index: int


class ThinkingDelta(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking_delta"):
    content_index: int
    delta: str


class ThinkingEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking_end"):
    content_index: int
    content: str


class ToolCallStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="toolcall_start"):
    content_index: int
    id: ToolCallId
    tool_name: str


class ToolCallDelta(Wire, frozen=True, kw_only=True, tag_field="type", tag="toolcall_delta"):
    content_index: int
    delta: str


class ToolCallEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="toolcall_end"):
    content_index: int
    tool_call: ToolCall


Delta = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
)
"""A piece of an answer as it streams. The end message is the authority (M2)."""


def joined(first: Delta, second: Delta) -> Delta | None:
    """One piece for two neighbouring ones of the same block; None if they are not that. Raises nothing, whatever their fields hold."""
    kind: type[TextDelta | ThinkingDelta | ToolCallDelta]
    if isinstance(first, TextDelta) and isinstance(second, TextDelta):
        kind = TextDelta
    elif isinstance(first, ThinkingDelta) and isinstance(second, ThinkingDelta):
        kind = ThinkingDelta
    elif isinstance(first, ToolCallDelta) and isinstance(second, ToolCallDelta):
        kind = ToolCallDelta
    else:
        return None
    at, other = first.content_index, second.content_index
    # a host may feed events of its own, and Python lets it write anything into them
    if not (type(at) is type(other) is int and at == other and type(first.delta) is type(second.delta) is str):
        return None
    return kind(content_index=at, delta=first.delta + second.delta)
