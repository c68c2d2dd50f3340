"""An answer, from its pieces. No I/O.

1. A `Draft` takes one piece after the other; a piece costs its own length.
2. What the end says is the authority; without an end the pieces are all there is, and the answer has failed (M2).
3. What leaves here can be kept: text is Unicode, and every field is of its type, whatever a provider yields (S12).
"""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.content import AssistantBlock, TextContent, ThinkingContent, ToolCall, without_surrogates
from sapwood.events.deltas import (
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from sapwood.events.messages import NO_USAGE, UNKNOWN_COST, AssistantMessage, StopReason, Usage
from sapwood.events.models import Model

CUT_OFF: Final = "the stream ended before the answer did"


class Draft:
    """What came of an answer so far."""

    def __init__(self) -> None:
        self._text: dict[int, list[str]] = {}
        self._thinking: dict[int, list[str]] = {}
        self._calls: dict[int, ToolCall] = {}
        self.finish: Finish | None = None

    def add(self, piece: Piece) -> None:
        """Take in the next piece."""
        match piece:
            case Finish():
                self.finish = piece
            case TextStart(content_index=at):
                self._text[at] = []
            case TextDelta(content_index=at, delta=delta):
                self._text.setdefault(at, []).append(delta)
            case TextEnd(content_index=at, content=text):
                self._text[at] = [text]
            case ThinkingStart(content_index=at):
                self._thinking[at] = []
            case ThinkingDelta(content_index=at, delta=delta):
                self._thinking.setdefault(at, []).append(delta)
            case ThinkingEnd(content_index=at, content=text):
                self._thinking[at] = [text]
            case ToolCallStart() | ToolCallDelta():
                pass  # a call is in the answer when its arguments arrived whole (M2)
            case ToolCallEnd(content_index=at, tool_call=call):
                self._calls[at] = call
            case _:
                assert_never(piece)

    @property
    def content(self) -> tuple[AssistantBlock, ...]:
        """The blocks so far, in their order."""
        blocks: dict[int, AssistantBlock] = {}
        blocks |= {at: ThinkingContent(thinking="".join(parts)) for at, parts in self._thinking.items()}
        blocks |= {at: TextContent(text="".join(parts)) for at, parts in self._text.items()}
        blocks |= self._calls
        return tuple(blocks[at] for at in sorted(blocks))


def message(draft: Draft, model: Model, *, started_ms: int) -> AssistantMessage:
    """The answer that came to its end; a failed one if it did not."""
    finish = draft.finish
    if finish is None:
        return unfinished(draft, model, started_ms=started_ms, reason="error", error=CUT_OFF)
    return AssistantMessage(
        content=draft.content if finish.content is None else finish.content,
        api=model.api,
        provider=model.provider,
        model=model.id,
        response_model=finish.response_model,
        response_id=finish.response_id,
        usage=_whole(finish.usage),
        stop_reason=finish.stop_reason,
        error_message=finish.error_message,
        timestamp=started_ms,
        duration_ms=finish.duration_ms,
    )


def unfinished(
    draft: Draft, model: Model, *, started_ms: int, reason: StopReason, error: str | None
) -> AssistantMessage:
    """What came until now, and why no more did."""
    return AssistantMessage(
        content=draft.content,
        api=model.api,
        provider=model.provider,
        model=model.id,
        usage=NO_USAGE,
        stop_reason=reason,
        error_message=error,
        timestamp=started_ms,
    )


def kept(answer: AssistantMessage) -> AssistantMessage:
    """The answer as it can be written and read back: lone surrogates replaced. Raises `msgspec.ValidationError` for a wrong type."""
    try:
        msgspec.json.encode(answer)
    except UnicodeEncodeError:
        return msgspec.convert(_clean(msgspec.to_builtins(answer)), AssistantMessage)
    return msgspec.convert(msgspec.to_builtins(answer), AssistantMessage)


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return without_surrogates(value)
    if is_object(value):
        return {without_surrogates(key): _clean(item) for key, item in value.items()}
    if is_array(value):
        return [_clean(item) for item in value]
    return value


def _whole(usage: Usage) -> Usage:
    """With the sum and the prices that other readers of the file add up; what nobody knows is marked so (M8)."""
    total = usage.total_tokens
    if total is None:
        total = usage.input + usage.output + usage.cache_read + usage.cache_write
    return msgspec.structs.replace(usage, total_tokens=total, cost=usage.cost or UNKNOWN_COST)
