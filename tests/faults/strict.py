"""A provider that refuses whatever any real one refuses, and says what it was."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from sapwood import Runtime, Scripted, ScriptedAnswer, Session
from sapwood.actors.environment import Environment
from sapwood.actors.model.providers.base import Piece, Request
from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.events.content import ImageContent, TextContent, ThinkingContent, ToolCall
from sapwood.events.errors import ProviderError
from sapwood.events.messages import FAILED, AssistantMessage, ToolResultMessage
from sapwood.events.models import Model
from tests.build import MODEL


class Strict(Scripted):
    """Says `answers`, one a turn, as long as it has nothing to complain of."""

    def __init__(
        self,
        *answers: str,
        thoughts: Mapping[str, str] | None = None,
        call_ids: str = r"(?s).*",
        image_bytes: int = 1 << 30,
    ) -> None:
        """`thoughts`: what this provider thought, by its signature; `call_ids`: the ids that it takes."""
        super().__init__({"turn": [ScriptedAnswer(text=answer) for answer in answers]})
        self._thoughts = thoughts or {}
        self._call_ids = re.compile(call_ids)
        self._image_bytes = image_bytes

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        complaint = next(self.complaints(request), None)
        if complaint is not None:
            self.requests.append(request)
            raise ProviderError(f"400 {complaint}")
        async with super().stream(request) as pieces:
            yield pieces

    def complaints(self, request: Request) -> Iterator[str]:
        raw = b"".join(map(msgspec.json.encode, request.messages)).decode()
        if "\\u0000" in raw or re.search(r"\\ud[89a-f]", raw):
            yield "text that is none"
        yield from _unpaired(request.messages)
        for message in request.messages:
            yield from self._of_message(message, request.model)

    def _of_message(self, message: OutgoingMessage, model: Model) -> Iterator[str]:
        content = (TextContent(text=message.content),) if isinstance(message.content, str) else message.content
        if message.role != "system" and not content:
            yield f"a message of {message.role} without content"
        if isinstance(message, AssistantMessage) and message.stop_reason in FAILED:
            yield "an answer that failed"
        own = isinstance(message, AssistantMessage) and (message.provider, message.model) == (model.provider, model.id)
        for block in content:
            match block:
                case TextContent(text=text):
                    if not text.strip() and message.role != "system":
                        yield f"empty text in a message of {message.role}"
                case ThinkingContent(thinking=thinking, thinking_signature=signature):
                    if not own or self._thoughts.get(signature or "") != thinking:
                        yield f"thinking that was not thought here: {thinking!r}, {signature!r}"
                case ToolCall(id=call_id, thought_signature=signature):
                    if not self._call_ids.fullmatch(call_id):
                        yield f"a call's id: {call_id!r}"
                    if signature is not None and not own:
                        yield "another model's signature"
                case ImageContent(data=data):
                    if len(data) > self._image_bytes:
                        yield "an image that is too large"


def _unpaired(messages: Iterable[OutgoingMessage]) -> Iterator[str]:
    """What is wrong with calls and results. Written apart from what pairs them."""
    ever: set[str] = set()
    open_: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            if message.tool_call_id not in open_:
                yield f"a result without a call: {message.tool_call_id!r}"
            else:
                open_.remove(message.tool_call_id)
            continue
        if open_:
            yield f"calls without a result before a message of {message.role}: {open_}"
        open_ = []
        if isinstance(message, AssistantMessage):
            open_ = [block.id for block in message.content if isinstance(block, ToolCall)]
            if ever & set(open_) or len(set(open_)) < len(open_):
                yield f"an id that comes twice: {open_}"
            ever |= set(open_)
    if open_:
        yield f"calls without a result at the end: {open_}"


@asynccontextmanager
async def strictly(where: object, provider: Strict, *, model: Model = MODEL) -> AsyncGenerator[Session]:
    """A session that talks to a strict provider."""
    runtime = Runtime(providers=[provider], environment=Environment.scripted())
    async with runtime.open_session(str(where), model=model, cwd="/home/dev") as session:
        yield session
