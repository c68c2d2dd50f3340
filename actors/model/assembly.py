"""An answer, from its pieces. No I/O.

1. State is a fold: `apply` adds one piece.
2. What the end says is the authority; without an end the pieces are all there is, and the answer has failed (M2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import attrs

from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.events.content import AssistantBlock, TextContent, ThinkingContent
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
from sapwood.events.messages import NO_USAGE, AssistantMessage, StopReason
from sapwood.events.models import Model

CUT_OFF = "the stream ended before the answer did"


@attrs.frozen
class Draft:
    """What came of an answer so far."""

    blocks: Mapping[int, AssistantBlock] = attrs.field(factory=dict[int, AssistantBlock])
    finish: Finish | None = None


def apply(draft: Draft, piece: Piece) -> Draft:
    """The draft with one more piece."""
    match piece:
        case Finish():
            return attrs.evolve(draft, finish=piece)
        case TextStart(content_index=at):
            return _with(draft, at, TextContent(text=""))
        case TextDelta(content_index=at, delta=delta):
            return _with(draft, at, TextContent(text=_text(draft, at) + delta))
        case TextEnd(content_index=at, content=text):
            return _with(draft, at, TextContent(text=text))
        case ThinkingStart(content_index=at):
            return _with(draft, at, ThinkingContent(thinking=""))
        case ThinkingDelta(content_index=at, delta=delta):
            return _with(draft, at, ThinkingContent(thinking=_thinking(draft, at) + delta))
        case ThinkingEnd(content_index=at, content=text):
            return _with(draft, at, ThinkingContent(thinking=text))
        case ToolCallStart() | ToolCallDelta():
            return draft  # a call is in the answer when its arguments arrived whole (M2)
        case ToolCallEnd(content_index=at, tool_call=call):
            return _with(draft, at, call)
        case _:
            assert_never(piece)


def message(
    draft: Draft, model: Model, *, started_ms: int, otherwise: StopReason = "error", error: str | None = CUT_OFF
) -> AssistantMessage:
    """The answer so far as a message; without an end it stopped for `otherwise`, with `error` as the reason."""
    finish = draft.finish
    content = tuple(draft.blocks[at] for at in sorted(draft.blocks))
    if finish is None:
        return AssistantMessage(
            content=content,
            api=model.api,
            provider=model.provider,
            model=model.id,
            usage=NO_USAGE,
            stop_reason=otherwise,
            error_message=error,
            timestamp=started_ms,
        )
    return AssistantMessage(
        content=content if finish.content is None else finish.content,
        api=model.api,
        provider=model.provider,
        model=model.id,
        response_model=finish.response_model,
        response_id=finish.response_id,
        usage=finish.usage,
        stop_reason=finish.stop_reason,
        error_message=finish.error_message,
        timestamp=started_ms,
        duration_ms=finish.duration_ms,
    )


def _with(draft: Draft, at: int, block: AssistantBlock) -> Draft:
    return attrs.evolve(draft, blocks={**draft.blocks, at: block})


def _text(draft: Draft, at: int) -> str:
    block = draft.blocks.get(at)
    return block.text if isinstance(block, TextContent) else ""


def _thinking(draft: Draft, at: int) -> str:
    block = draft.blocks.get(at)
    return block.thinking if isinstance(block, ThinkingContent) else ""
