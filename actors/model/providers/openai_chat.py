"""OpenAI's Chat Completions, and all that speak it: vLLM, llama.cpp, Ollama, OpenRouter … A request into bytes. No I/O.

1. What servers differ in is a `ChatDialect`; the rest is the same for all.
2. Images of a tool's result follow in a message of the user behind the results: a tool may only say text here.
3. Thinking that came as plain text goes back in the field that it came in; details that a gateway signed go back as they came. Its
   signature says which (P5).
4. How its answers are read is in `openai_chunks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, assert_never

import attrs
import msgspec

from sapwood.actors.model.blocks import as_arguments
from sapwood.actors.model.limits import output_limit
from sapwood.actors.model.overflow import Wire
from sapwood.actors.model.providers.base import Request
from sapwood.actors.model.providers.openai_chunks import DETAILS, THOUGHTS, ChatDecoder
from sapwood.actors.model.wire import HttpRequest, body, labels
from sapwood.actors.outgoing.instructing import instructed, notice
from sapwood.actors.outgoing.limits import with_legal_ids
from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.events.base import Json
from sapwood.events.content import ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock, UserContent, text_of
from sapwood.events.messages import (
    AssistantMessage,
    SystemMessage,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)

LONGEST_ID: Final = 40
"""Characters of a call's id: OpenAI takes no more here."""
IMAGES_OF: Final = "The images of the results above:"


@attrs.frozen(kw_only=True)
class ChatDialect:
    """What servers of this wire differ in."""

    output_field: Literal["max_completion_tokens", "max_tokens"] = "max_tokens"
    """How the length of an answer is limited."""
    usage_in_stream: bool = True
    """Whether usage is asked for with `stream_options`."""
    effort: Literal["reasoning_effort", "reasoning"] | None = "reasoning_effort"
    """How a model that thinks is told how much: by a word, by a word in an object, or not at all."""
    cache_key: bool = False
    """Whether it knows `prompt_cache_key`."""
    metadata: bool = False
    """Whether it takes `metadata`. OpenAI takes it here only of answers that it may keep, and none of ours are kept."""
    done_mark: bool = True
    """Whether its streams end with `[DONE]`; else their end is enough, once a choice said why it ended."""


OPENAI: Final = ChatDialect(output_field="max_completion_tokens", cache_key=True)
OPENROUTER: Final = ChatDialect(effort="reasoning")
COMPATIBLE: Final = ChatDialect()


@attrs.frozen
class ChatCodec:
    """The wire, as one server speaks it."""

    dialect: ChatDialect = OPENAI

    @property
    def wire(self) -> Wire:
        return "openai-completions"

    def authorization(self, key: str) -> tuple[str, str]:
        return "authorization", f"Bearer {key}"

    def request(self, request: Request) -> HttpRequest:
        within, dialect = instructed(with_legal_ids(request.messages, LONGEST_ID)[0]), self.dialect
        head: list[Json] = [{"role": "system", "content": within.prompt}] if within.prompt else []
        return HttpRequest(
            path="/chat/completions",
            body=body(
                {
                    "model": request.model.id,
                    "stream": True,
                    "stream_options": {"include_usage": True} if dialect.usage_in_stream else None,
                    dialect.output_field: output_limit(request),
                    **_effort(request, dialect),
                    "prompt_cache_key": request.cache_key if dialect.cache_key else None,
                    "metadata": labels(request.metadata) if dialect.metadata else None,
                    "tools": [_tool(tool) for tool in within.tools] or None,
                    "messages": [*head, *_messages(within.messages)],
                }
            ),
        )

    def decoder(self) -> ChatDecoder:
        return ChatDecoder(done_mark=self.dialect.done_mark)


def _effort(request: Request, dialect: ChatDialect) -> dict[str, Json]:
    if not request.model.thinks or request.thinking_level == "off" or dialect.effort is None:
        return {}
    level = request.thinking_level
    return {dialect.effort: level if dialect.effort == "reasoning_effort" else {"effort": level}}


def _tool(tool: ToolDefinition) -> Json:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }


def _messages(messages: Sequence[OutgoingMessage]) -> list[Json]:
    said: list[Json] = []
    images: list[ImageContent] = []
    for message in messages:
        if images and not isinstance(message, ToolResultMessage):
            said.append(_shown(images))
            images = []
        match message:
            case SystemMessage():
                words = notice(message)
                said += [{"role": "user", "content": words}] if words is not None else []
            case UserMessage(content=content):
                said.append({"role": "user", "content": _content(content)})
            case AssistantMessage():
                said.append(_answer(message))
            case ToolResultMessage(content=content, tool_call_id=call):
                said.append({"role": "tool", "tool_call_id": call, "content": _lines(content)})
                images += [block for block in content if isinstance(block, ImageContent)]
            case _:
                assert_never(message)
    return [*said, _shown(images)] if images else said


def _shown(images: Sequence[ImageContent]) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": IMAGES_OF}, *map(_part, images)]}


def _lines(content: Sequence[UserBlock]) -> str:
    """The texts of a result, a line break between them. One of images alone says that they follow."""
    texts = [block.text for block in content if isinstance(block, TextContent)]
    return "\n".join(texts) if texts else "(see the images below)"


def _content(content: UserContent) -> Json:
    if isinstance(content, str):
        return content
    if len(content) == 1 and isinstance(content[0], TextContent):
        return content[0].text
    return [_part(block) for block in content]


def _part(block: UserBlock) -> Json:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _answer(message: AssistantMessage) -> Json:
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": as_arguments(block.arguments)},
        }
        for block in message.content
        if isinstance(block, ToolCall)
    ]
    text = text_of(message.content)
    said: dict[str, Json] = {"role": "assistant", "content": text or None}
    for block in message.content:
        if isinstance(block, ThinkingContent) and block.thinking_signature:
            for name, thought in _thought(block.thinking, block.thinking_signature).items():
                said[name] = said.get(name, "") + thought if isinstance(thought, str) else thought
    return {**said, "tool_calls": calls} if calls else said


def _thought(thinking: str, signature: str) -> dict[str, Json]:
    if signature in THOUGHTS:
        return {signature: thinking}
    try:
        return {DETAILS: msgspec.json.decode(signature)}
    except ValueError:
        return {}
