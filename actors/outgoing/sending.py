"""Which of the selected messages do not go out, and why (P5). No I/O.

1. A failed or aborted answer is not sent, nor are the results of its calls.
2. A command that its person kept from the model is not sent.
3. A message with nothing in it is not sent.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sapwood.events.content import ContentBlock, TextContent, ToolCall
from sapwood.events.context import Context, Unsent
from sapwood.events.messages import (
    FAILED,
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    Message,
    ToolResultMessage,
    UserMessage,
)


def unsent(messages: Sequence[Message]) -> list[Unsent | None]:
    """For each message why it stays behind, or None if it goes out."""
    return Verdicts().of(messages)


class Verdicts:
    """Verdicts on messages that come piece by piece, as on all of them at once."""

    def __init__(self) -> None:
        self._unanswerable: set[str] = set()
        """Ids of calls that stay behind and that no sent answer has made again."""

    def of(self, messages: Sequence[Message]) -> list[Unsent | None]:
        """For each of the next messages why it stays behind, or None if it goes out."""
        return [self._verdict(message) for message in messages]

    def _verdict(self, message: Message) -> Unsent | None:
        verdict = _verdict(message, self._unanswerable)
        if isinstance(message, AssistantMessage):
            calls = {block.id for block in message.content if isinstance(block, ToolCall)}
            if verdict is None:
                self._unanswerable -= calls
            else:
                self._unanswerable |= calls
        return verdict


def _verdict(message: Message, unanswerable: set[str]) -> Unsent | None:
    match message:
        case AssistantMessage(stop_reason="aborted"):
            return "aborted"
        case AssistantMessage(stop_reason=reason) if reason in FAILED:
            return "failed"
        case AssistantMessage(content=content) if not sendable(content):
            return "empty"
        case ToolResultMessage(tool_call_id=call) if call in unanswerable:
            return "result_of_unsent_call"
        case BashExecutionMessage(exclude_from_context=True):
            return "excluded"
        case UserMessage(content=content) | CustomMessage(content=content) if not _has_anything(content):
            return "empty"
        case _:
            return None


def sendable(content: Sequence[ContentBlock]) -> bool:
    """Whether an answer has anything to send besides its thinking: thinking alone is nothing to go on from."""
    return any(
        isinstance(block, ToolCall) or (isinstance(block, TextContent) and block.text.strip()) for block in content
    )


def _has_anything(content: str | Sequence[ContentBlock]) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    return any(not isinstance(block, TextContent) or block.text.strip() for block in content)


def marked(context: Context) -> Context:
    """The selection with each message that does not go out marked with the reason."""
    verdicts = unsent(context.messages)
    items = tuple(
        item if why is None else msgspec.structs.replace(item, unsent=why)
        for item, why in zip(context.items, verdicts, strict=True)
    )
    return msgspec.structs.replace(context, items=items)
