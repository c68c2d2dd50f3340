"""Google's Gemini: a request into bytes, and the chunks of its answer into pieces. No I/O.

1. Results of the calls of one answer go back in one content of the user, by the names of the functions.
2. Signatures of thoughts stand on any part, a call's too, and go back on the part that they came on (P5).
3. A chunk says why the candidate ended; then the stream ends. There is no mark of its own (M2).
4. A prompt that was blocked is a refused answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, assert_never
from urllib.parse import quote

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
from sapwood.events.base import Json, is_array
from sapwood.events.content import AssistantBlock, ImageContent, TextContent, ThinkingContent, ToolCall, UserContent
from sapwood.events.messages import (
    TOO_MUCH,
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
BUDGETS: Final = {"minimal": 512, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 24_576}
"""Tokens of thinking, for models that are told so: no more than the smallest of them takes."""
LEVELS: Final = {"minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH", "xhigh": "HIGH", "max": "HIGH"}
IMAGES_BELOW: Final = "(see the images below)"

STOPS: Final[dict[str, StopReason]] = {"STOP": "stop", "MAX_TOKENS": "length"}
"""How an answer ended well. Any other word is an error, of the kinds below or one of the server's."""
REFUSALS: Final = {
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "LANGUAGE",
    "IMAGE_SAFETY",
    "MODEL_ARMOR",
}


@attrs.frozen
class GeminiCodec:
    """The wire, and nothing to set about it."""

    @property
    def wire(self) -> Wire:
        return "google-generative-ai"

    def authorization(self, key: str) -> tuple[str, str]:
        return "x-goog-api-key", key

    def request(self, request: Request) -> HttpRequest:
        within, limit = instructed(with_legal_ids(request.messages, LONGEST_ID)[0]), output_limit(request)
        config = {"maxOutputTokens": limit, "thinkingConfig": _thinking(request)}
        config = {key: value for key, value in config.items() if value is not None}
        declared = [_tool(tool) for tool in within.tools]
        return HttpRequest(
            path=f"/models/{quote(request.model.id, safe='')}:streamGenerateContent?alt=sse",
            body=body(
                {
                    "systemInstruction": {"parts": [{"text": within.prompt}]} if within.prompt else None,
                    "tools": [{"functionDeclarations": declared}] if declared else None,
                    "generationConfig": config or None,
                    "contents": _contents(within.messages),
                }
            ),
        )

    def decoder(self) -> GeminiDecoder:
        return GeminiDecoder()


def _thinking(request: Request) -> Json:
    if not request.model.thinks or request.thinking_level == "off":
        return None
    level = request.thinking_level
    if request.model.thinks_by == "budget":
        return {"includeThoughts": True, "thinkingBudget": BUDGETS.get(level, BUDGETS["medium"])}
    return {"includeThoughts": True, "thinkingLevel": LEVELS.get(level, LEVELS["medium"])}


def _tool(tool: ToolDefinition) -> Json:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}


def _contents(messages: Sequence[OutgoingMessage]) -> list[Json]:
    said: list[Json] = []
    results: list[Json] | None = None
    """Of the last content, if it brings results."""
    for message in messages:
        match message:
            case ToolResultMessage():
                if results is None:
                    results = []
                    said.append({"role": "user", "parts": results})
                results += _result(message)
                continue
            case SystemMessage():
                words = notice(message)
                said += [{"role": "user", "parts": [{"text": words}]}] if words is not None else []
            case UserMessage(content=content):
                said.append({"role": "user", "parts": _parts(content)})
            case AssistantMessage(content=content):
                said.append({"role": "model", "parts": [_part(block) for block in content]})
            case _:
                assert_never(message)
        results = None
    return said


def _result(message: ToolResultMessage) -> list[Json]:
    """A result, and its images behind it: a function answers with an object."""
    texts = [block.text for block in message.content if isinstance(block, TextContent)]
    said = {"error" if message.is_error else "output": "\n".join(texts) if texts else IMAGES_BELOW}
    answer = {"id": message.tool_call_id, "name": message.tool_name, "response": said}
    images = tuple(block for block in message.content if isinstance(block, ImageContent))
    return [{"functionResponse": answer}, *_parts(images)]


def _parts(content: UserContent) -> list[Json]:
    blocks = (TextContent(text=content),) if isinstance(content, str) else content
    return [
        {"inlineData": {"mimeType": block.mime_type, "data": block.data}}
        if isinstance(block, ImageContent)
        else {"text": block.text}
        for block in blocks
    ]


def _part(block: AssistantBlock) -> Json:
    match block:
        case TextContent(text=text, text_signature=signature):
            said: dict[str, Json] = {"text": text}
        case ThinkingContent(thinking=thinking, thinking_signature=signature):
            said = {"text": thinking, "thought": True}
        case ToolCall(thought_signature=signature):
            said = {"functionCall": {"id": block.id, "name": block.name, "args": block.arguments}}
        case _:
            assert_never(block)
    return said if signature is None else {**said, "thoughtSignature": signature}


Count = Annotated[int, msgspec.Meta(ge=0, lt=TOO_MUCH)]


class _Counts(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    prompt_token_count: Count | None = None
    candidates_token_count: Count | None = None
    thoughts_token_count: Count | None = None
    cached_content_token_count: Count | None = None
    tool_use_prompt_token_count: Count | None = None
    total_token_count: Count | None = None


class _Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    text: str
    thought: None = None
    function_call: None = None
    thought_signature: None = None


class _Content(msgspec.Struct, frozen=True, gc=False):
    parts: tuple[_Part]


class _Candidate(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    content: _Content
    finish_reason: None = None
    finish_message: None = None


class _More(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    candidates: tuple[_Candidate]
    usage_metadata: _Counts | None = None
    model_version: str = ""
    response_id: str = ""
    prompt_feedback: None = None
    error: None = None


_MORE: Final = Quick(_More)


class GeminiDecoder:
    """The chunks of one answer."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._open: tuple[str, int] | None = None
        """The key of the text or thought that is open."""
        self._counts: dict[str, int | None] = {}
        self._uncounted: _Counts | None = None
        """What the last chunk said of them, if nobody has looked at it."""
        self._total: int | None = None
        self._model: str | None = None
        self._id: str | None = None
        self._stop: str | None = None
        self._message = ""

    @property
    def usage(self) -> Usage:
        if self._uncounted is not None:
            self._count(msgspec.to_builtins(self._uncounted))
        return usage_of(self._counts, total=self._total)

    @property
    def may_end(self) -> bool:
        return self._stop is not None

    def end(self) -> Sequence[Piece]:
        if self._stop is None:
            raise cut(self.usage)
        return [*self._blocks.close_all(), self._finish(self._stop)]

    def feed(self, event: ServerEvent) -> Sequence[Piece] | None:
        more = _MORE.read(event)
        if more is not None and (text := more.candidates[0].content.parts[0].text):
            self._model, self._id = more.model_version or self._model, more.response_id or self._id
            counts = more.usage_metadata
            if counts is not None and not counts.prompt_token_count is counts.candidates_token_count is None:
                self._uncounted = counts
            return self._text("text", text)
        said = read_json(event)
        if is_array(said) and said:
            said = said[0]
        if field(said, "error") is not None:
            raise failed_event("google-generative-ai", said)
        self._model = text_at(said, "modelVersion") or self._model
        self._id = text_at(said, "responseId") or self._id
        counted = self._count(field(said, "usageMetadata"))
        candidates = field(said, "candidates")
        candidate = candidates[0] if is_array(candidates) and candidates else None
        parts = field(candidate, "content", "parts")
        pieces = [piece for part in (parts if is_array(parts) else ()) for piece in self._part(part)]
        stop = text_at(candidate, "finishReason") or text_at(said, "promptFeedback", "blockReason")
        self._stop = stop or self._stop
        self._message = (
            text_at(candidate, "finishMessage")
            or text_at(said, "promptFeedback", "blockReasonMessage")
            or self._message
        )
        return pieces if pieces or stop or counted else None

    def _part(self, part: Json) -> list[Piece]:
        call, text, signature = field(part, "functionCall"), text_at(part, "text"), text_at(part, "thoughtSignature")
        if call is not None:
            return self._call(call, signature)
        kind: Literal["thinking", "text"] = "thinking" if field(part, "thought") is True else "text"
        if not text and not signature:
            return []
        pieces = self._text(kind, text)
        if signature and self._open is not None:
            self._blocks.sign(self._open, signature)
            pieces += self._closed()  # what comes behind it is no part of what it signs
        return pieces

    def _text(self, kind: Literal["thinking", "text"], text: str) -> list[Piece]:
        """More of the block that is open, if it is one of this kind; else a block of its own."""
        if self._open is not None and self._open[0] == kind:
            return list(self._blocks.add(self._open, text))
        pieces = self._closed()
        self._open = (kind, len(self._blocks))
        return [*pieces, *self._blocks.open(self._open, kind), *self._blocks.add(self._open, text)]

    def _closed(self) -> list[Piece]:
        before, self._open = self._open, None
        return list(self._blocks.close(before)) if before is not None else []

    def _call(self, call: Json, signature: str) -> list[Piece]:
        """A call comes whole. One without an id gets one: two calls of a function must not be one."""
        key = ("call", len(self._blocks))
        call_id = text_at(call, "id") or f"{self._id or 'call'}-{len(self._blocks)}"
        pieces: list[Piece] = [
            *self._closed(),
            *self._blocks.open(key, "call", call_id=call_id, name=text_at(call, "name")),
        ]
        arguments = field(call, "args")
        pieces += self._blocks.add(key, "{}" if arguments is None else as_arguments(arguments))
        if signature:
            self._blocks.sign(key, signature)
        return [*pieces, *self._blocks.close(key)]

    def _count(self, usage: Json) -> bool:
        """Each chunk brings what there is until then."""
        prompt, output = tokens_of(field(usage, "promptTokenCount")), tokens_of(field(usage, "candidatesTokenCount"))
        thought, read = (
            tokens_of(field(usage, "thoughtsTokenCount")),
            tokens_of(field(usage, "cachedContentTokenCount")),
        )
        if prompt is None and output is None:
            return False
        self._uncounted = None
        by_tools = tokens_of(field(usage, "toolUsePromptTokenCount")) or 0
        self._counts = {
            "input": None if prompt is None else max(0, prompt - (read or 0)) + by_tools,
            "output": None if output is None and thought is None else (output or 0) + (thought or 0),
            "cache_read": read,
            "reasoning": thought,
        }
        self._total = tokens_of(field(usage, "totalTokenCount"))
        return True

    def _finish(self, reason: str) -> Finish:
        return finished(
            self._blocks,
            STOPS.get(reason, "error"),
            usage=self.usage,
            why=f"the answer ended with {reason}: {self._message}".removesuffix(": "),
            kind="refused" if reason in REFUSALS else "server",
            model=self._model,
            response_id=self._id,
            raw=reason,
        )
