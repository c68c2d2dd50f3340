"""What comes back from a provider with the secrets in it again (E6). No I/O.

1. A name that comes in two pieces is one: what may be the beginning of a name waits for what comes behind it, or for the end.
2. The pieces of a block add up to its text, shown whole.
3. Thinking that is signed stays as it came: its signature is of those bytes (P5).
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from sapwood.actors.outgoing.texts import blocks_with, is_signed
from sapwood.actors.outgoing.veil import Veil
from sapwood.events.content import ThinkingContent, mended
from sapwood.events.deltas import Delta, TextDelta, TextEnd, ThinkingDelta, ThinkingEnd, ToolCallDelta, ToolCallEnd
from sapwood.events.messages import AssistantMessage

D = TypeVar("D", TextDelta, ThinkingDelta, ToolCallDelta)
Kind = type[TextDelta] | type[ThinkingDelta] | type[ToolCallDelta]


class Unveiling:
    """Of the pieces of one answer, for who reads along."""

    def __init__(self, veil: Veil) -> None:
        self._veil = veil
        self._in_json = veil.within_json()
        self._waiting: dict[tuple[Kind, int], str] = {}

    def shown(self, piece: Delta) -> list[Delta]:
        """What can be told now that this piece came."""
        match piece:
            case TextDelta():
                return self._grown(piece, self._veil)
            case ThinkingDelta():
                return self._grown(piece, self._veil)
            case ToolCallDelta():
                return self._grown(piece, self._in_json)
            case TextEnd(content_index=at, content=content):
                whole = msgspec.structs.replace(piece, content=self._veil.show(content))
                return [*self._ended(TextDelta, at), whole]
            case ThinkingEnd(content_index=at, content=content):
                thought = msgspec.structs.replace(piece, content=self._veil.show(content))
                return [*self._ended(ThinkingDelta, at), thought]
            case ToolCallEnd(content_index=at, tool_call=call):
                meant = msgspec.structs.replace(call, arguments=mended(call.arguments, self._veil.show))
                return [*self._ended(ToolCallDelta, at), msgspec.structs.replace(piece, tool_call=meant)]
            case _:
                return [piece]

    def rest(self) -> list[Delta]:
        """What waits, once nothing more comes."""
        return [piece for kind, at in tuple(self._waiting) for piece in self._ended(kind, at)]

    def _grown(self, piece: D, veil: Veil) -> list[Delta]:
        kind, at = type(piece), piece.content_index
        text = self._waiting.pop((kind, at), "") + piece.delta
        end = veil.settled(text)
        if end < len(text):
            self._waiting[kind, at] = text[end:]
        return [msgspec.structs.replace(piece, delta=veil.show(text[:end]))] if end or not text else []

    def _ended(self, kind: Kind, at: int) -> list[Delta]:
        text = self._waiting.pop((kind, at), "")
        veil = self._in_json if kind is ToolCallDelta else self._veil
        return [kind(content_index=at, delta=veil.show(text))] if text else []


def shown_answer(answer: AssistantMessage, veil: Veil) -> AssistantMessage:
    """The answer as it is kept."""
    if not veil.secrets:
        return answer
    content = tuple(
        block if isinstance(block, ThinkingContent) and is_signed(block) else blocks_with((block,), veil.show)[0]
        for block in answer.content
    )
    said = answer.error_message
    return msgspec.structs.replace(answer, content=content, error_message=None if said is None else veil.show(said))
