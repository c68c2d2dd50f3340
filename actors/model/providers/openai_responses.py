"""OpenAI's Responses: a request into bytes, and the events of its answer into pieces. No I/O.

1. Nothing is kept at the server (`store: false`): the log is the truth, and each request brings all of it.
2. A reasoning item goes back as it came: its signature is the item itself, encrypted content and all (P5). A message keeps its id and phase
   in its text's signature.
3. A change of the instructions goes out in its place, said by the developer.
4. `response.completed`, `.incomplete` and `.failed` are the ends (M2).
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
from sapwood.actors.model.providers.base import Piece, Request
from sapwood.actors.model.sse import ServerEvent
from sapwood.actors.model.wire import HttpRequest, Quick, body, cut, labels, read_json
from sapwood.actors.outgoing.instructing import instructed, notice
from sapwood.actors.outgoing.limits import with_legal_ids
from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.content import (
    AssistantBlock,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    UserBlock,
    UserContent,
)
from sapwood.events.messages import (
    NO_USAGE,
    AssistantMessage,
    StopReason,
    SystemMessage,
    ToolDefinition,
    ToolResultMessage,
    Usage,
    UserMessage,
)

LONGEST_ID: Final = 64
"""Characters of a call's id."""
LEAST_OUTPUT: Final = 16
"""Tokens of an answer: the wire takes no smaller limit."""
REFUSED: Final = "content_filter"


@attrs.frozen
class ResponsesCodec:
    """The wire, and nothing to set about it."""

    @property
    def wire(self) -> Wire:
        return "openai-responses"

    def authorization(self, key: str) -> tuple[str, str]:
        return "authorization", f"Bearer {key}"

    def request(self, request: Request) -> HttpRequest:
        within, limit = instructed(with_legal_ids(request.messages, LONGEST_ID)[0]), output_limit(request)
        thinks = request.model.thinks and request.thinking_level != "off"
        return HttpRequest(
            path="/responses",
            body=body(
                {
                    "model": request.model.id,
                    "stream": True,
                    "store": False,
                    "max_output_tokens": None if limit is None else max(LEAST_OUTPUT, limit),
                    "reasoning": {"effort": request.thinking_level, "summary": "auto"} if thinks else None,
                    "include": ["reasoning.encrypted_content"] if request.model.thinks else None,
                    "prompt_cache_key": request.cache_key,
                    "metadata": labels(request.metadata),
                    "tools": [_tool(tool) for tool in within.tools] or None,
                    "instructions": within.prompt or None,
                    "input": _items(within.messages),
                }
            ),
        )

    def decoder(self) -> ResponsesDecoder:
        return ResponsesDecoder()


def _tool(tool: ToolDefinition) -> Json:
    # strict: the wire would change the schema that a host wrote
    said = {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {**said, "strict": False}


def _items(messages: Sequence[OutgoingMessage]) -> list[Json]:
    items: list[Json] = []
    for message in messages:
        match message:
            case SystemMessage():
                words = notice(message)
                items += [{"role": "developer", "content": words}] if words is not None else []
            case UserMessage(content=content):
                items.append({"role": "user", "content": _content(content)})
            case AssistantMessage(content=content):
                items += [item for block in content if (item := _item(block)) is not None]
            case ToolResultMessage(content=content, tool_call_id=call):
                items.append({"type": "function_call_output", "call_id": call, "output": _output(content)})
            case _:
                assert_never(message)
    return items


def _output(content: Sequence[UserBlock]) -> Json:
    texts = [block.text for block in content if isinstance(block, TextContent)]
    return "\n".join(texts) if len(texts) == len(content) else _content(tuple(content))


def _content(content: UserContent) -> Json:
    return content if isinstance(content, str) else [_part(block) for block in content]


def _part(block: UserBlock) -> Json:
    if isinstance(block, ImageContent):
        return {"type": "input_image", "detail": "auto", "image_url": f"data:{block.mime_type};base64,{block.data}"}
    return {"type": "input_text", "text": block.text}


def _item(block: AssistantBlock) -> Json:
    """A block as an item of the input; None for one whose signature is not of this wire."""
    match block:
        case ThinkingContent(thinking_signature=signature):
            return _signed(signature)
        case TextContent(text=text, text_signature=signature):
            said = _signed(signature) or {}
            part = {"type": "output_text", "text": text, "annotations": []}
            return {**said, "type": "message", "role": "assistant", "content": [part]}
        case ToolCall():
            arguments = as_arguments(block.arguments)
            return {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": arguments}
        case _:
            assert_never(block)


def _signed(signature: str | None) -> dict[str, Json] | None:
    try:
        item: Json = msgspec.json.decode(signature or "")
    except ValueError:
        return None
    return item if is_object(item) else None


class _More(msgspec.Struct, frozen=True, gc=False):
    type: Literal["response.output_text.delta"]
    output_index: int
    delta: str


_MORE: Final = Quick(_More)


class ResponsesDecoder:
    """The events of one answer."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._usage: Usage = NO_USAGE
        self._parts: dict[Json, set[Json]] = {}
        """Of each reasoning item, the parts that have said something: a blank line stands between two."""

    @property
    def usage(self) -> Usage:
        return self._usage

    @property
    def may_end(self) -> bool:
        return False

    def end(self) -> Sequence[Piece]:
        raise cut(self._usage)

    def feed(self, event: ServerEvent) -> Sequence[Piece] | None:
        more = _MORE.read(event)
        if more is not None and more.output_index in self._blocks:
            return self._blocks.add(more.output_index, more.delta)
        said = read_json(event)
        at, delta = field(said, "output_index"), text_at(said, "delta")
        match field(said, "type"):
            case "response.output_item.added":
                return self._begin(at, field(said, "item"))
            case "response.output_text.delta" | "response.refusal.delta":
                return [*self._blocks.open(at, "text"), *self._blocks.add(at, delta)]
            case "response.reasoning_summary_text.delta":
                return self._think(at, field(said, "summary_index"), delta)
            case "response.reasoning_text.delta":
                return self._think(at, field(said, "content_index"), delta)
            case "response.function_call_arguments.delta":
                return self._blocks.add(at, delta)
            case "response.function_call_arguments.done":
                self._blocks.replace(at, text_at(said, "arguments") or self._blocks.text_of(at))
                return ()
            case "response.output_item.done":
                return self._done(at, field(said, "item"))
            case "response.completed" | "response.incomplete" | "response.failed" as kind:
                return self._ended(str(kind), field(said, "response"))
            case "error":
                raise failed_event("openai-responses", said)
            case "response.created" | "response.in_progress" | "response.queued":
                self._count(field(said, "response", "usage"))
                return ()
            case "keepalive" | "ping":
                return None
            case str() as kind if kind.startswith("response."):
                return ()  # a part of the answer that is none of ours
            case _:
                return None

    def _think(self, at: Json, part: Json, delta: str) -> list[Piece]:
        parts = self._parts.setdefault(at, set())
        between = "\n\n" if parts and part not in parts else ""
        parts.add(part)
        return [*self._blocks.open(at, "thinking"), *self._blocks.add(at, f"{between}{delta}")]

    def _begin(self, at: Json, item: Json) -> Sequence[Piece]:
        match field(item, "type"):
            case "message":
                return self._blocks.open(at, "text")
            case "reasoning":
                return self._blocks.open(at, "thinking")
            case "function_call":
                call, name = text_at(item, "call_id") or text_at(item, "id"), text_at(item, "name")
                return self._blocks.open(at, "call", call_id=call, name=name)
            case _:
                return ()

    def _done(self, at: Json, item: Json) -> Sequence[Piece]:
        """An item is whole. What it says now is what it is."""
        begun = list(self._begin(at, item))
        match field(item, "type"):
            case "message":
                self._whole(at, _texts(field(item, "content")))
                kept = {key: item[key] for key in ("id", "phase", "status") if item.get(key) is not None}
                if kept:
                    self._blocks.sign(at, msgspec.json.encode(kept).decode())
            case "reasoning":
                self._whole(at, "\n\n".join(_texts_of(field(item, "summary")) or _texts_of(field(item, "content"))))
                if text_at(item, "encrypted_content"):  # without it the server knows nothing of the item any more
                    self._blocks.sign(at, msgspec.json.encode(_returned(item)).decode())
            case "function_call":
                self._whole(at, text_at(item, "arguments"))
            case _:
                pass
        return [*begun, *self._blocks.close(at)]

    def _whole(self, at: Json, text: str) -> None:
        if text:
            self._blocks.replace(at, text)

    def _count(self, usage: Json) -> None:
        read = tokens_of(field(usage, "input_tokens_details", "cached_tokens"))
        write = tokens_of(field(usage, "input_tokens_details", "cache_write_tokens"))
        sent, output = tokens_of(field(usage, "input_tokens")), tokens_of(field(usage, "output_tokens"))
        if sent is None and output is None:
            return
        counts = {
            "input": None if sent is None else max(0, sent - (read or 0) - (write or 0)),
            "output": output,
            "cache_read": read,
            "cache_write": write,
            "reasoning": tokens_of(field(usage, "output_tokens_details", "reasoning_tokens")),
        }
        self._usage = usage_of(counts, total=tokens_of(field(usage, "total_tokens")))

    def _ended(self, kind: str, response: Json) -> Sequence[Piece]:
        self._count(field(response, "usage"))
        if kind == "response.failed":
            raise failed_event("openai-responses", field(response, "error") or response)
        why = text_at(response, "incomplete_details", "reason")
        stop: StopReason = "stop"
        if kind == "response.incomplete":
            stop = "error" if why == REFUSED else "length"
        finish = finished(
            self._blocks,
            stop,
            usage=self._usage,
            why=f"the answer ended with {why}",
            model=text_at(response, "model"),
            response_id=text_at(response, "id"),
            raw=why or text_at(response, "status"),
        )
        return [*self._blocks.close_all(), finish]


def _returned(item: dict[str, Json]) -> dict[str, Json]:
    """A reasoning item as it goes back: all that it came with, but how far it was."""
    return {key: value for key, value in item.items() if key != "status" and value is not None}


def _texts_of(parts: Json) -> list[str]:
    return (
        [said for part in parts if (said := text_at(part, "text") or text_at(part, "refusal"))]
        if is_array(parts)
        else []
    )


def _texts(parts: Json) -> str:
    return "".join(_texts_of(parts))
