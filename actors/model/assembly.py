"""An answer, from its pieces. No I/O.

1. A `Draft` takes one piece after the other; a piece costs its own length.
2. What the end says is the authority; without an end the pieces are all there is, and the answer has failed (M2).
3. What leaves here can be written, whatever a provider yields: what cannot be kept ends the answer, which has failed; what came before it,
   and what is good of a bad end, is in it (S12).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self, assert_never

import attrs
import msgspec

from sapwood.actors.model.checks import BadPiece, checked, is_plain, sound, told
from sapwood.actors.model.cost import priced
from sapwood.actors.model.providers.base import Finish
from sapwood.events.content import AssistantBlock, TextContent, ThinkingContent, ToolCall, without_surrogates
from sapwood.events.deltas import (
    Delta,
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
from sapwood.events.errors import ProviderError, brief
from sapwood.events.failures import Failure, noted
from sapwood.events.messages import NO_USAGE, AssistantMessage, StopReason, Usage
from sapwood.events.models import Model

CUT_OFF: Final = "the stream ended before the answer did"
STOPPED: Final = "stopped before the answer was complete"


class Draft:
    """What came of an answer so far."""

    def __init__(self) -> None:
        self._text: dict[int, list[str]] = {}
        self._thinking: dict[int, list[str]] = {}
        self._calls: dict[int, ToolCall] = {}
        self.finish: Finish | None = None
        self.fault: BadPiece | None = None
        """What was wrong with the last piece, or with the end."""

    def add(self, piece: object) -> Delta | None:
        """Take in the next piece: what those who read along are told, or None when the answer ends with it."""
        if type(piece) is TextDelta and is_plain(
            piece.content_index, piece.delta
        ):  # what there is most of, and as it mostly is
            parts = self._text.get(piece.content_index)
            if parts is not None:
                parts.append(piece.delta)
                return piece
        try:
            good = checked(piece)
        except BadPiece as fault:
            self.fault = fault
            return None
        if isinstance(good, Finish):
            self.finish, self.fault = sound(good, self._blocks())
            return None
        self._take(good)
        return told(good)

    def _take(self, piece: Delta) -> None:
        match piece:
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
        blocks = self._blocks()
        return tuple(blocks[at] for at in sorted(blocks))

    def _blocks(self) -> dict[int, AssistantBlock]:
        blocks: dict[int, AssistantBlock] = {}
        blocks |= {at: ThinkingContent(thinking=_text(parts)) for at, parts in self._thinking.items()}
        blocks |= {at: TextContent(text=_text(parts)) for at, parts in self._text.items()}
        blocks |= self._calls
        return blocks


def _text(parts: Sequence[str]) -> str:
    return without_surrogates("".join(parts))


@attrs.frozen
class Broken:
    """What broke a call: in words, and what is known beside them."""

    words: str
    failure: Failure | None = None
    usage: Usage = NO_USAGE

    @classmethod
    def of(cls, words: str, error: ProviderError) -> Self:
        """What an error of the world says. A host's provider may have written anything into it: what cannot be kept is left out."""
        failure = Failure(kind=error.kind, status=error.status, retry_after_ms=error.retry_after_ms)
        finish, _ = sound(Finish(stop_reason="error", usage=error.usage or NO_USAGE, failure=failure), {})
        return cls(words, finish.failure, finish.usage)


def answer_of(draft: Draft, model: Model, *, started_ms: int, stopped: bool, error: Broken | None) -> AssistantMessage:
    """What a call gave, whatever became of it. The first of these that happened says what the answer is:

    1. its end came (M2), a bad one too: what breaks behind it, and who stops it then, changes nothing;
    2. a piece came that cannot be kept;
    3. it was `stopped`, and then it is aborted, however the provider took it;
    4. it broke, with `error`;
    5. the stream just ended.
    """
    finish = draft.finish
    if finish is not None:
        whole = unfinished(draft, model, started_ms=started_ms, reason=finish.stop_reason, error=finish.error_message)
        return msgspec.structs.replace(
            whole,
            content=whole.content if finish.content is None else finish.content,
            response_model=finish.response_model,
            response_id=finish.response_id,
            raw_stop_reason=finish.raw_stop_reason,
            diagnostics=None if finish.failure is None else noted(finish.failure, started_ms),
            usage=priced(finish.usage, model.price),
            duration_ms=finish.duration_ms,
        )
    if draft.fault is None and stopped:
        return unfinished(draft, model, started_ms=started_ms, reason="aborted", error=STOPPED)
    if draft.fault is not None:
        return unfinished(draft, model, started_ms=started_ms, reason="error", error=str(draft.fault))
    error = Broken(CUT_OFF, Failure(kind="cut_off")) if error is None else error
    return msgspec.structs.replace(
        unfinished(draft, model, started_ms=started_ms, reason="error", error=error.words),
        usage=priced(error.usage, model.price),
        diagnostics=None if error.failure is None else noted(error.failure, started_ms),
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
        error_message=None if error is None else brief(error),
        timestamp=started_ms,
    )
