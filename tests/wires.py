"""An answer in each wire, written by hand after the public documentation: what was thought, a text, a call, usage. And what it comes to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import attrs
import msgspec

from sapwood.actors.model.http import HttpProvider
from sapwood.actors.model.providers.anthropic import AnthropicCodec
from sapwood.actors.model.providers.base import Finish, Piece, Request
from sapwood.actors.model.providers.gemini import GeminiCodec
from sapwood.actors.model.providers.openai_chat import ChatCodec
from sapwood.actors.model.providers.openai_responses import ResponsesCodec
from sapwood.actors.model.sse import EventReader
from sapwood.actors.model.vendors import AnthropicProvider, GeminiProvider, OpenAIChat, OpenAIResponses
from sapwood.actors.model.wire import Codec
from sapwood.events.content import ImageContent, ThinkingContent, ToolCall, text_of
from sapwood.events.messages import Message, SystemMessage, ToolDefinition, Usage
from sapwood.events.models import Model
from tests.build import MS, assistant, call, result, system, text, user

TEXT: Final = "Let me look, 🌲\u2028one moment."
THOUGHT: Final = "Paris, then."
ARGUMENTS: Final = {"city": "Paris", "days": 2}
KEY: Final = "sk-test-0123456789abcdef"


def sse(*events: Any, name: Callable[[Any], str] | None = None) -> bytes:
    """Events as a server sends them."""
    lines = ["" if name is None else f"event: {name(event)}\n" for event in events]
    written = [event if isinstance(event, str) else json.dumps(event, ensure_ascii=False) for event in events]
    return "".join(f"{line}data: {data}\n\n" for line, data in zip(lines, written, strict=True)).encode()


def anthropic(*events: Any) -> bytes:
    return sse(*events, name=lambda event: event["type"])


def _block(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


MESSAGE_START: Final[dict[str, Any]] = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 300,
            "output_tokens": 1,
        },
    },
}
ANTHROPIC: Final = anthropic(
    MESSAGE_START,
    *_block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Paris, "},
        {"type": "thinking_delta", "thinking": "then."},
        {"type": "signature_delta", "signature": "c2ln=="},
    ),
    {"type": "ping"},
    *_block(
        1,
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": TEXT[:9]},
        {"type": "text_delta", "text": TEXT[9:]},
    ),
    *_block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"city": "Pa'},
        {"type": "input_json_delta", "partial_json": 'ris", "days": 2}'},
    ),
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 50},
    },
    {"type": "message_stop"},
)


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x"}
    return {**head, "choices": choices, **more}


def tool_chunk(arguments: str, **more: Any) -> dict[str, Any]:
    name = {"name": "weather"} if more else {}
    return chunk({"tool_calls": [{"index": 0, **more, "function": {**name, "arguments": arguments}}]})


CHAT_USAGE: Final[dict[str, Any]] = {
    "prompt_tokens": 420,
    "completion_tokens": 50,
    "total_tokens": 470,
    "prompt_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 7},
}
CHAT: Final = sse(
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "Paris, "}),
    chunk({"reasoning_content": "then."}),
    chunk({"content": TEXT[:9]}),
    chunk({"content": TEXT[9:]}),
    tool_chunk("", id="call_1", type="function"),
    tool_chunk('{"city": "Pa'),
    tool_chunk('ris", "days": 2}'),
    chunk({}, "tool_calls"),
    chunk(usage=CHAT_USAGE),
    "[DONE]",
)

_REASONING: Final[dict[str, Any]] = {"id": "rs_1", "type": "reasoning", "summary": []}
_MESSAGE: Final[dict[str, Any]] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "in_progress",
    "content": [],
}
_CALL: Final[dict[str, Any]] = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "weather",
    "arguments": "",
    "status": "in_progress",
}
_REASONING_DONE: Final[dict[str, Any]] = {
    **_REASONING,
    "summary": [{"type": "summary_text", "text": THOUGHT}],
    "encrypted_content": "ZW5j",
}
_MESSAGE_DONE: Final[dict[str, Any]] = {
    **_MESSAGE,
    "status": "completed",
    "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
}
_CALL_DONE: Final[dict[str, Any]] = {**_CALL, "status": "completed", "arguments": '{"city": "Paris", "days": 2}'}
RESPONSES_USAGE: Final[dict[str, Any]] = {
    "input_tokens": 420,
    "input_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 20},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 7},
    "total_tokens": 470,
}


def response(status: str, output: Sequence[Any] = (), **more: Any) -> dict[str, Any]:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "parallel_tool_calls": True}
    return {**head, "tool_choice": "auto", "tools": [], "status": status, "output": list(output), **more}


def responses(*events: dict[str, Any]) -> bytes:
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return sse(*numbered, name=lambda event: event["type"])


def item(kind: str, index: int, of: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": of}


def _delta(kind: str, index: int, item_id: str, said: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "item_id": item_id, "delta": said, **more}


_AT: Final[dict[str, Any]] = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
RESPONSES: Final = responses(
    {"type": "response.created", "response": response("in_progress")},
    {"type": "response.in_progress", "response": response("in_progress")},
    item("added", 0, _REASONING),
    {
        "type": "response.reasoning_summary_part.added",
        "item_id": "rs_1",
        "output_index": 0,
        "summary_index": 0,
        "part": {"type": "summary_text", "text": ""},
    },
    _delta("reasoning_summary_text", 0, "rs_1", "Paris, ", summary_index=0),
    _delta("reasoning_summary_text", 0, "rs_1", "then.", summary_index=0),
    item("done", 0, _REASONING_DONE),
    item("added", 1, _MESSAGE),
    {"type": "response.content_part.added", **_AT, "part": {"type": "output_text", "text": "", "annotations": []}},
    _delta("output_text", 1, "msg_1", TEXT[:9], content_index=0, logprobs=[]),
    _delta("output_text", 1, "msg_1", TEXT[9:], content_index=0, logprobs=[]),
    {"type": "response.output_text.done", **_AT, "text": TEXT, "logprobs": []},
    {"type": "response.content_part.done", **_AT, "part": _MESSAGE_DONE["content"][0]},
    item("done", 1, _MESSAGE_DONE),
    item("added", 2, _CALL),
    _delta("function_call_arguments", 2, "fc_1", '{"city": "Pa'),
    _delta("function_call_arguments", 2, "fc_1", 'ris", "days": 2}'),
    {
        "type": "response.function_call_arguments.done",
        "item_id": "fc_1",
        "output_index": 2,
        "name": "weather",
        "arguments": _CALL_DONE["arguments"],
    },
    item("done", 2, _CALL_DONE),
    {
        "type": "response.completed",
        "response": response("completed", [_REASONING_DONE, _MESSAGE_DONE, _CALL_DONE], usage=RESPONSES_USAGE),
    },
)


def candidate(*parts: dict[str, Any], finish: str | None = None, **usage: int) -> dict[str, Any]:
    ended = {} if finish is None else {"finishReason": finish}
    said = [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **ended}]
    counted = {"usageMetadata": usage} if usage else {}
    return {"candidates": said, "modelVersion": "gemini-x", "responseId": "r1", **counted}


GEMINI: Final = sse(
    candidate({"text": "Paris, ", "thought": True}),
    candidate({"text": "then.", "thought": True}),
    candidate({"text": TEXT[:9]}, promptTokenCount=400, totalTokenCount=400),
    candidate({"text": TEXT[9:]}),
    candidate(
        {"functionCall": {"id": "fc1", "name": "weather", "args": ARGUMENTS}, "thoughtSignature": "c2ln"},
        finish="STOP",
        promptTokenCount=420,
        cachedContentTokenCount=300,
        candidatesTokenCount=43,
        thoughtsTokenCount=7,
        totalTokenCount=470,
    ),
)

ANTHROPIC_FAILURE: Final = anthropic({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
CHAT_FAILURE: Final = sse({"error": {"message": "The server had an error", "type": "server_error", "code": None}})
RESPONSES_FAILURE: Final = responses({"type": "error", "code": "server_error", "message": "The server had an error"})
GEMINI_FAILURE: Final = sse({"error": {"code": 503, "message": "The model is overloaded", "status": "UNAVAILABLE"}})


@attrs.frozen(kw_only=True)
class Recorded:
    """A wire, its answer, and what that comes to."""

    codec: Codec
    stream: bytes
    provider: Callable[..., HttpProvider]
    ends: int
    """How many bytes the answer needs until it is whole: the rest is the blank line of the last event, at most."""
    usage: Usage
    call_id: str
    call_signature: str | None = None
    thought_signature: str | None = None
    failure: bytes
    """An event of a failure that passes."""
    counted: bytes
    """An event that says some of the usage before the end says it all."""
    usage_field: bytes
    """Where the wire says it."""


WIRES: Final[dict[str, Recorded]] = {
    "anthropic": Recorded(
        codec=AnthropicCodec(),
        stream=ANTHROPIC,
        provider=AnthropicProvider,
        ends=len(ANTHROPIC),
        usage=Usage.of(input=100, output=50, cache_read=300, cache_write=20, total_tokens=470),
        call_id="toolu_1",
        thought_signature="c2ln==",
        failure=ANTHROPIC_FAILURE,
        counted=anthropic({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 7}}),
        usage_field=b'"usage"',
    ),
    "openai_chat": Recorded(
        codec=ChatCodec(),
        stream=CHAT,
        provider=OpenAIChat,
        ends=len(CHAT),
        usage=Usage.of(input=100, output=50, cache_read=300, cache_write=20, reasoning=7, total_tokens=470),
        call_id="call_1",
        thought_signature="reasoning_content",
        failure=CHAT_FAILURE,
        counted=sse(chunk(usage={"prompt_tokens": 420, "completion_tokens": 7})),
        usage_field=b'"usage"',
    ),
    "openai_responses": Recorded(
        codec=ResponsesCodec(),
        stream=RESPONSES,
        provider=OpenAIResponses,
        ends=len(RESPONSES),
        usage=Usage.of(input=100, output=50, cache_read=300, cache_write=20, reasoning=7, total_tokens=470),
        call_id="call_1",
        thought_signature=msgspec.json.encode(_REASONING_DONE).decode(),
        failure=RESPONSES_FAILURE,
        counted=sse({"type": "response.in_progress", "response": response("in_progress", usage=RESPONSES_USAGE)}),
        usage_field=b'"usage"',
    ),
    "gemini": Recorded(
        codec=GeminiCodec(),
        stream=GEMINI,
        provider=GeminiProvider,
        ends=len(GEMINI),
        usage=Usage.of(input=120, output=50, cache_read=300, reasoning=7, total_tokens=470),
        call_id="fc1",
        call_signature="c2ln",
        failure=GEMINI_FAILURE,
        counted=sse({"usageMetadata": {"promptTokenCount": 420, "candidatesTokenCount": 3}}),
        usage_field=b'"usageMetadata"',
    ),
}


def decode(codec: Codec, *chunks: bytes) -> list[Piece]:
    """The pieces of an answer in these bytes, to its end or to that of the bytes."""
    decoder, reader = codec.decoder(), EventReader()
    pieces: list[Piece] = []
    for one in chunks:
        for event in reader.feed(one):
            pieces += decoder.feed(event) or ()
            if pieces and isinstance(pieces[-1], Finish):
                return pieces
    return [*pieces, *decoder.end()]


def finish_of(codec: Codec, *chunks: bytes) -> Finish:
    finish = decode(codec, *chunks)[-1]
    assert isinstance(finish, Finish)
    return finish


def thought_of(finish: Finish) -> ThinkingContent:
    [thought] = [block for block in finish.content or () if isinstance(block, ThinkingContent)]
    return thought


def said_by(finish: Finish) -> str:
    return text_of(finish.content or ())


def call_of(finish: Finish) -> ToolCall:
    [only] = [block for block in finish.content or () if isinstance(block, ToolCall)]
    return only


WEATHER: Final = ToolDefinition(
    name="weather",
    description="Tells the weather.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
)
PIXEL: Final = ImageContent(data="iVBORw0KGgo=", mime_type="image/png")


def head(prompt: str = "Be brief.", *tools: ToolDefinition) -> SystemMessage:
    return SystemMessage(content="", sections={"preamble": prompt}, tools_added=tools or None, timestamp=MS)


def conversation(recorded: Recorded) -> tuple[Message, ...]:
    """All that a request may have: instructions, tools, images, a call and its failed result, a change of the instructions."""
    finish = finish_of(recorded.codec, recorded.stream)
    return (
        head("Be brief.", WEATHER),
        user((text("What is it like in Paris?"), PIXEL)),
        assistant(*(finish.content or ()), stop="toolUse"),
        msgspec.structs.replace(result(recorded.call_id, "18 °C", name="weather"), content=(text("18 °C"), PIXEL)),
        assistant(call("a|b+c", "weather", city="Rome"), stop="toolUse"),
        result("a|b+c", "no such city", name="weather", error=True),
        system(rules="<rules>\nMetric.\n</rules>", style=None),
        user("Thanks."),
    )


def request(*messages: Any, model: Model | None = None, **more: Any) -> Request:
    told = Model(provider="scripted", id="talker", context_window=200_000, max_output=8_000, thinks=True)
    return Request(
        model=told if model is None else model, purpose="turn", messages=tuple(messages) or (user(),), **more
    )


def sent(codec: Codec, asked: Request) -> dict[str, Any]:
    """The body of a request."""
    body: dict[str, Any] = json.loads(codec.request(asked).body)
    return body


def kinds(blocks: Iterable[Any]) -> list[str]:
    return [block["type"] for block in blocks]


def _said_anthropic(text: str) -> bytes:
    said = _block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 50}}
    return anthropic(MESSAGE_START, *said, end, {"type": "message_stop"})


def _said_chat(text: str) -> bytes:
    return sse(chunk({"content": text}), chunk({}, "stop"), chunk(usage=CHAT_USAGE), "[DONE]")


def _said_responses(text: str) -> bytes:
    done: dict[str, Any] = {**_MESSAGE_DONE, "content": [{"type": "output_text", "text": text, "annotations": []}]}
    return responses(
        {"type": "response.created", "response": response("in_progress")},
        item("added", 0, _MESSAGE),
        _delta("output_text", 0, "msg_1", text, content_index=0, logprobs=[]),
        item("done", 0, done),
        {"type": "response.completed", "response": response("completed", [done], usage=RESPONSES_USAGE)},
    )


def _said_gemini(text: str) -> bytes:
    counted = {"promptTokenCount": 420, "cachedContentTokenCount": 300, "candidatesTokenCount": 50}
    return sse(candidate({"text": text}, finish="STOP", totalTokenCount=470, **counted))


PLAIN: Final[dict[str, Callable[[str], bytes]]] = {
    "anthropic": _said_anthropic,
    "openai_chat": _said_chat,
    "openai_responses": _said_responses,
    "gemini": _said_gemini,
}
"""An answer of one text over each wire. It is billed 420 tokens of input, 300 of which came from a cache, and 50 of output."""
