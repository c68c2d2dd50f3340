"""Anthropic's Messages: a request into bytes, and the events of its answer into pieces. No I/O.

1. Results of the calls of one answer go back in one message of the user; every other message stays by itself, so that what was sent once
   stays the beginning of what is sent next (P9).
2. Thinking goes back with its signature as it came; what was redacted, as the data that it came as (P5).
3. Three cache marks, on the tools, the prompt and the last message: what does not change is read from the cache at the next request. None
   where the request wants nothing written.
4. `message_stop` is the end; a `ping` says nothing (M3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, assert_never

import attrs
import msgspec

from sapwood.actors.model.amounts import field, text_at, tokens_of, usage_of
from sapwood.actors.model.blocks import Blocks, as_arguments, finished
from sapwood.actors.model.failing import failed_event
from sapwood.actors.model.limits import output_limit
from sapwood.actors.model.overflow import Wire
from sapwood.actors.model.providers.base import Finish, Piece, Request
from sapwood.actors.model.sse import ServerEvent
from sapwood.actors.model.wire import HttpRequest, Quick, body, cut, read_json
from sapwood.actors.outgoing.instructing import instructed, notice
from sapwood.actors.outgoing.limits import with_legal_ids
from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.events.base import Json, is_object
from sapwood.events.content import AssistantBlock, ImageContent, TextContent, ThinkingContent, ToolCall, UserContent
from sapwood.events.messages import (
    AssistantMessage,
    StopReason,
    SystemMessage,
    ToolDefinition,
    ToolResultMessage,
    Usage,
    UserMessage,
)

VERSION: Final = "2023-06-01"
LONGEST_ID: Final = 64
"""Characters of a call's id."""
DEFAULT_OUTPUT: Final = 4_096
"""Tokens of an answer where nobody says how many there may be: the wire wants a number, and every model gives so many."""
LEAST_BUDGET: Final = 1_024
"""Tokens of thinking: the least that the wire takes."""
BUDGETS: Final = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 32_768, "max": 65_536}
"""Tokens of thinking, for models that are told so; within the answer's own limit."""
EFFORTS: Final = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}
MARK: Final[dict[str, Json]] = {"type": "ephemeral"}

STOPS: Final[dict[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "error",
}
"""How an answer ended. A word that is not here is an end as well: it came behind a whole answer."""


@attrs.frozen
class AnthropicCodec:
    """The wire, and nothing to set about it."""

    @property
    def wire(self) -> Wire:
        return "anthropic-messages"

    def authorization(self, key: str) -> tuple[str, str]:
        return "x-api-key", key

    def request(self, request: Request) -> HttpRequest:
        within = instructed(with_legal_ids(request.messages, LONGEST_ID)[0])
        mark, limit = (MARK if request.cache_write else None), output_limit(request) or DEFAULT_OUTPUT
        system = [_marked({"type": "text", "text": within.prompt}, mark)] if within.prompt else None
        return HttpRequest(
            path="/v1/messages",
            headers=(("anthropic-version", VERSION),),
            body=body(
                {
                    "model": request.model.id,
                    "max_tokens": limit,
                    "stream": True,
                    **_thinking(request, limit),
                    "metadata": _metadata(request),
                    "tools": _tools(within.tools, mark) or None,
                    "system": system,
                    "messages": _messages(within.messages, mark),
                }
            ),
        )

    def decoder(self) -> AnthropicDecoder:
        return AnthropicDecoder()


def _thinking(request: Request, limit: int) -> dict[str, Json]:
    if not request.model.thinks or request.thinking_level == "off":
        return {}
    if request.model.thinks_by == "effort":
        effort = EFFORTS.get(request.thinking_level, request.thinking_level)
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    budget = min(BUDGETS.get(request.thinking_level, BUDGETS["medium"]), limit - LEAST_BUDGET)
    # too little room to think and to answer
    return {} if budget < LEAST_BUDGET else {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _metadata(request: Request) -> Json:
    """The one thing of it that this wire has a place for: who asks."""
    user = (request.metadata or {}).get("user_id")
    return {"user_id": user} if isinstance(user, str) else None


def _marked(block: dict[str, Json], mark: dict[str, Json] | None) -> dict[str, Json]:
    return block if mark is None else {**block, "cache_control": mark}


def _tools(tools: Sequence[ToolDefinition], mark: dict[str, Json] | None) -> list[Json]:
    told: list[Json] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools
    ]
    return [*told[:-1], _marked(told[-1], mark)] if told else told


def _messages(messages: Sequence[OutgoingMessage], mark: dict[str, Json] | None) -> list[Json]:
    said: list[dict[str, Json]] = []
    results: list[Json] | None = None
    """Of the last message, if it brings results."""
    for message in messages:
        match message:
            case ToolResultMessage():
                if results is None:
                    results = []
                    said.append({"role": "user", "content": results})
                results.append(_result(message))
                continue
            case SystemMessage():
                words = notice(message)
                if words is not None:
                    said.append({"role": "user", "content": [{"type": "text", "text": words}]})
            case UserMessage(content=content):
                said.append({"role": "user", "content": _content(content)})
            case AssistantMessage(content=content):
                said.append({"role": "assistant", "content": [_block(block) for block in content]})
            case _:
                assert_never(message)
        results = None
    if mark is not None and said and said[-1]["role"] == "user":
        *before, last = said[-1]["content"]
        said[-1] = {**said[-1], "content": [*before, _marked(last, mark)]}
    return list(said)


def _result(message: ToolResultMessage) -> dict[str, Json]:
    failed = {"is_error": True} if message.is_error else {}
    return {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": _content(message.content), **failed}


def _content(content: UserContent) -> list[dict[str, Json]]:
    blocks = (TextContent(text=content),) if isinstance(content, str) else content
    return [
        _image(block) if isinstance(block, ImageContent) else {"type": "text", "text": block.text} for block in blocks
    ]


def _image(image: ImageContent) -> dict[str, Json]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": image.data}}


def _block(block: AssistantBlock) -> dict[str, Json]:
    match block:
        case TextContent(text=text):
            return {"type": "text", "text": text}
        case ThinkingContent(redacted=True, thinking_signature=signature):
            return {"type": "redacted_thinking", "data": signature}
        case ThinkingContent(thinking=thinking, thinking_signature=signature):
            return {"type": "thinking", "thinking": thinking, "signature": signature}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments}
        case _:
            assert_never(block)


class _Said(msgspec.Struct, frozen=True, gc=False):
    type: Literal["text_delta"]
    text: str


class _More(msgspec.Struct, frozen=True, gc=False):
    type: Literal["content_block_delta"]
    index: int
    delta: _Said


_MORE: Final = Quick(_More)


class AnthropicDecoder:
    """The events of one answer."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._counts: dict[str, int | None] = {}
        self._write_1h: int | None = None
        self._model: str | None = None
        self._id: str | None = None
        self._stop: str | None = None
        self._refused = ""

    @property
    def usage(self) -> Usage:
        return usage_of(self._counts, write_1h=self._write_1h)

    @property
    def may_end(self) -> bool:
        return False

    def end(self) -> Sequence[Piece]:
        raise cut(self.usage)

    def feed(self, event: ServerEvent) -> Sequence[Piece] | None:
        more = _MORE.read(event)
        if more is not None:
            return self._blocks.add(more.index, more.delta.text)
        said = read_json(event)
        match field(said, "type"):
            case "message_start":
                self._count(field(said, "message", "usage"))
                self._model = text_at(said, "message", "model") or None
                self._id = text_at(said, "message", "id") or None
                return ()
            case "content_block_start":
                return self._begin(field(said, "index"), field(said, "content_block"))
            case "content_block_delta":
                return self._add(field(said, "index"), field(said, "delta"))
            case "content_block_stop":
                return self._blocks.close(_key(field(said, "index")))
            case "message_delta":
                self._stop = text_at(said, "delta", "stop_reason") or self._stop
                self._refused = text_at(said, "delta", "stop_details", "explanation")
                self._count(field(said, "usage"))
                return ()
            case "message_stop":
                return [*self._blocks.close_all(), self._finish()]
            case "error":
                raise failed_event("anthropic-messages", said)
            case _:
                return None

    def _count(self, usage: Json) -> None:
        """Counts are cumulative: what a later event says is what there is, and what it does not say stands."""
        for name, key in (
            ("input", "input_tokens"),
            ("output", "output_tokens"),
            ("cache_read", "cache_read_input_tokens"),
            ("cache_write", "cache_creation_input_tokens"),
        ):
            tokens = tokens_of(field(usage, key))
            if tokens is not None:
                self._counts[name] = tokens
        reasoning = tokens_of(field(usage, "output_tokens_details", "thinking_tokens"))
        self._counts["reasoning"] = self._counts.get("reasoning") if reasoning is None else reasoning
        write_1h = tokens_of(field(usage, "cache_creation", "ephemeral_1h_input_tokens"))
        self._write_1h = write_1h or self._write_1h

    def _begin(self, index: Json, block: Json) -> Sequence[Piece]:
        key = _key(index)
        match field(block, "type"):
            case "text":
                return [*self._blocks.open(key, "text"), *self._blocks.add(key, text_at(block, "text"))]
            case "thinking":
                return [*self._blocks.open(key, "thinking"), *self._blocks.add(key, text_at(block, "thinking"))]
            case "redacted_thinking":
                opened = self._blocks.open(key, "thinking")
                self._blocks.sign(key, text_at(block, "data"), redacted=True)
                return opened
            case "tool_use":
                opened = self._blocks.open(key, "call", call_id=text_at(block, "id"), name=text_at(block, "name"))
                given = field(block, "input")  # a server that does not stream them has them here
                return [*opened, *self._blocks.add(key, as_arguments(given))] if is_object(given) and given else opened
            case _:
                return ()

    def _add(self, index: Json, delta: Json) -> Sequence[Piece]:
        key = _key(index)
        match field(delta, "type"):
            case "text_delta":
                return self._blocks.add(key, text_at(delta, "text"))
            case "thinking_delta":
                return self._blocks.add(key, text_at(delta, "thinking"))
            case "input_json_delta":
                return self._blocks.add(key, text_at(delta, "partial_json"))
            case "signature_delta":
                self._blocks.sign(key, text_at(delta, "signature"))
                return ()
            case _:
                return ()

    def _finish(self) -> Finish:
        return finished(
            self._blocks,
            STOPS.get(self._stop or "", "stop"),
            usage=self.usage,
            why=f"refusal: {self._refused or 'the model does not answer this'}",
            model=self._model,
            response_id=self._id,
            raw=self._stop,
        )


def _key(index: Json) -> int | str:
    return index if isinstance(index, int | str) else ""
