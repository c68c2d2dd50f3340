"""An answer as it grows, block by block, for the wires. No I/O.

1. A block is opened, added to and closed under a key of the wire's own; where it stands in the answer goes by when it was opened.
2. A call is told as whole only when it is closed: its arguments are then all there is (M2). Arguments that are no JSON object leave the
   call without any, and say so (R2).
3. What the blocks come to bears the signatures, which no delta carries.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any, Final, Literal, NoReturn, assert_never

import attrs
import msgspec

from sapwood.actors.model.providers.base import Finish
from sapwood.events.base import Json, is_object
from sapwood.events.content import AssistantBlock, TextContent, ThinkingContent, ToolCall
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
from sapwood.events.errors import FailureKind
from sapwood.events.failures import Failure
from sapwood.events.ids import ToolCallId
from sapwood.events.messages import StopReason, Usage

Kind = Literal["text", "thinking", "call"]
LONGEST_BROKEN: Final = 2_000
"""Characters of arguments that are no object which the model is shown: enough to see where they went wrong."""


@attrs.define
class _Block:
    kind: Kind
    at: int
    parts: list[str] = attrs.field(factory=list[str])
    id: str = ""
    name: str = ""
    signature: str | None = None
    redacted: bool | None = None
    open: bool = True

    @property
    def text(self) -> str:
        return "".join(self.parts)


class Blocks:
    """The blocks of one answer."""

    def __init__(self) -> None:
        self._blocks: dict[Hashable, _Block] = {}

    def __len__(self) -> int:
        return len(self._blocks)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._blocks

    def open(self, key: Hashable, kind: Kind, *, call_id: str = "", name: str = "") -> list[Delta]:
        """Begin a block. One that is there already goes on."""
        if key in self._blocks:
            return []
        block = self._blocks[key] = _Block(kind, len(self._blocks), id=call_id, name=name)
        match kind:
            case "text":
                return [TextStart(content_index=block.at)]
            case "thinking":
                return [ThinkingStart(content_index=block.at)]
            case "call":
                return [ToolCallStart(content_index=block.at, id=ToolCallId(call_id), tool_name=name)]
            case _:
                assert_never(kind)

    def add(self, key: Hashable, delta: str) -> list[Delta]:
        """More of a block's text, or of a call's arguments. Nothing for a block that is not there, or was closed."""
        block = self._blocks.get(key)
        if block is None or not block.open or not delta:
            return []
        block.parts.append(delta)
        match block.kind:
            case "text":
                return [TextDelta(content_index=block.at, delta=delta)]
            case "thinking":
                return [ThinkingDelta(content_index=block.at, delta=delta)]
            case "call":
                return [ToolCallDelta(content_index=block.at, delta=delta)]
            case _:
                assert_never(block.kind)

    def sign(self, key: Hashable, signature: str, *, redacted: bool | None = None) -> None:
        """A signature of the block, kept byte for byte."""
        if key in self._blocks:
            self._blocks[key].signature = signature
            self._blocks[key].redacted = redacted

    def text_of(self, key: Hashable) -> str:
        """What came of a block; empty if it is not there."""
        return self._blocks[key].text if key in self._blocks else ""

    def replace(self, key: Hashable, text: str) -> None:
        """What the wire says at last that a block is."""
        if key in self._blocks:
            self._blocks[key].parts = [text]

    def close(self, key: Hashable) -> list[Delta]:
        """End a block. Nothing for one that is not there, or was closed."""
        block = self._blocks.get(key)
        if block is None or not block.open:
            return []
        block.open = False
        match block.kind:
            case "text":
                return [TextEnd(content_index=block.at, content=block.text)]
            case "thinking":
                return [ThinkingEnd(content_index=block.at, content=block.text)]
            case "call":
                return [ToolCallEnd(content_index=block.at, tool_call=_call(block))]
            case _:
                assert_never(block.kind)

    def close_all(self) -> list[Delta]:
        """End the blocks that are open, in their order."""
        return [delta for key in self._blocks for delta in self.close(key)]

    @property
    def calls(self) -> bool:
        """Whether a tool is called."""
        return any(block.kind == "call" for block in self._blocks.values())

    @property
    def content(self) -> tuple[AssistantBlock, ...]:
        """All blocks; a text or a thought of nothing, without a signature, is none."""
        return tuple(_made(block) for block in self._blocks.values() if block.kind == "call" or _says(block))


def finished(
    blocks: Blocks,
    stop: StopReason,
    *,
    usage: Usage,
    why: str,
    kind: FailureKind = "refused",
    model: str | None,
    response_id: str | None,
    raw: str | None,
) -> Finish:
    """The end of an answer of these blocks. One that calls tools is left for them, and no other one is, whatever its wire says of that.

    `why` and `kind` are of an answer that ended with an error.
    """
    if stop == "stop" and blocks.calls:
        stop = "toolUse"
    elif stop == "toolUse" and not blocks.calls:
        stop = "stop"
    failed = stop == "error"
    return Finish(
        stop_reason=stop,
        content=blocks.content,
        usage=usage,
        error_message=why if failed else None,
        failure=Failure(kind=kind) if failed else None,
        response_model=model or None,
        response_id=response_id or None,
        raw_stop_reason=raw or None,
    )


def _says(block: _Block) -> bool:
    return bool(block.signature) or any(block.parts)


def _made(block: _Block) -> AssistantBlock:
    match block.kind:
        case "text":
            return TextContent(text=block.text, text_signature=block.signature)
        case "thinking":
            return ThinkingContent(thinking=block.text, thinking_signature=block.signature, redacted=block.redacted)
        case "call":
            return _call(block)
        case _:
            assert_never(block.kind)


def _call(block: _Block) -> ToolCall:
    arguments, broken = arguments_of(block.text)
    return ToolCall(
        id=ToolCallId(block.id),
        name=block.name,
        arguments=arguments,
        thought_signature=block.signature,
        arguments_error=broken,
    )


def arguments_of(text: str) -> tuple[dict[str, Json], str | None]:
    """A call's arguments, and what stands in their place if they are no JSON object. No text at all is no argument.

    Characters that JSON wants escaped are let be inside strings: models write a line break as one.
    """
    if not text.strip():
        return {}, None
    try:
        try:
            value: Json = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            value = json.loads(text, strict=False, parse_constant=_refuse)
    except (ValueError, RecursionError):
        value = None
    if is_object(value):
        return value, None
    return {}, text if len(text) <= LONGEST_BROKEN else f"{text[:LONGEST_BROKEN]} …"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def as_arguments(value: Any) -> str:
    """Arguments that a wire sends as a value, as the text that others stream."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
