"""A conversation as text, for whoever sums it up: told, not continued (C8). No I/O.

1. One text a message that says something, under who said it; the texts are joined by blank lines in the request.
2. What is not sent to a model (P5) is not told either, nor is the system's prompt, nor thinking.
3. A tool's result is cut at `TOOL_RESULT_MAX` and says how much is missing; an image is `IMAGE`.
4. What reads as a tag of our frame is left to the frame. Halves of characters are replaced here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sapwood.actors.outgoing.rendering import render
from sapwood.actors.outgoing.sending import unsent
from sapwood.actors.projection.counter import units
from sapwood.actors.projection.parts import json_of
from sapwood.events.content import ContentBlock, ImageContent, TextContent, ToolCall, text_of, without_surrogates
from sapwood.events.messages import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage

TOOL_RESULT_MAX: Final = 2_000
"""UTF-16 units, as Pi counts. Results are most of a conversation and the least of what it decided."""

IMAGE: Final = "[image]"
"""Stands for an image: no request for a summary carries one."""


def flatten(messages: Iterable[Message], *, results: bool = True) -> list[str]:
    """The texts of a stretch of conversation, in order. `results=False` leaves the results of tools out (N4)."""
    told = tuple(messages)
    texts = (_told(message, results=results) for message, why in zip(told, unsent(told), strict=True) if why is None)
    return [without_surrogates(text) for text in texts if text]


def cut_result(text: str) -> str:
    """A tool's result as a summary sees it: its beginning, never half a character, and how many UTF-16 units are missing."""
    text = without_surrogates(text)
    total = units(text)
    if total <= TOOL_RESULT_MAX:
        return text
    shown = text.encode("utf-16-le")[: 2 * TOOL_RESULT_MAX].decode("utf-16-le", "ignore")
    return f"{shown}\n\n[... {total - units(shown)} more characters truncated]"


def _told(message: Message, *, results: bool) -> str:
    match message:
        case SystemMessage():
            return ""
        case AssistantMessage(content=content):
            return _answer(content)
        case ToolResultMessage(content=content):
            return _under("Tool result", _shown(content, cut_result(text_of(content)))) if results else ""
        case _:
            return _user(message)


def _user(message: Message) -> str:
    """Whatever a model reads as a user's, in the words that it reads it in."""
    match render(message, provider="", model=""):
        case UserMessage(content=content):
            return _under("User", _shown(content, text_of(content)))
        case _:
            raise AssertionError("only messages of these roles are rendered as another one")


def _answer(content: Sequence[ContentBlock]) -> str:
    said = "\n".join(block.text for block in content if isinstance(block, TextContent) and block.text.strip())
    calls = "; ".join(call_line(block) for block in content if isinstance(block, ToolCall))
    return "\n\n".join(filter(None, (_under("Assistant", said), _under("Assistant tool calls", calls))))


def call_line(call: ToolCall) -> str:
    """A call as it is told: its name and its arguments."""
    return f"{call.name}({', '.join(f'{name}={json_of(value)}' for name, value in call.arguments.items())})"


def _shown(content: str | Sequence[ContentBlock], text: str) -> str:
    """The text, and a mark for each image below it."""
    images = 0 if isinstance(content, str) else sum(isinstance(block, ImageContent) for block in content)
    return "\n".join([*([text] if text.strip() else []), *([IMAGE] * images)])


def _under(who: str, text: str) -> str:
    return f"[{who}]: {text}" if text.strip() else ""
