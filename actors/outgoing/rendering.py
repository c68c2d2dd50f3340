"""Our own kinds of message, put into words that any model can read. No I/O.

What leaves here is of four roles: system, user, assistant and toolResult. The words are ours; what stands between them is the log's.
"""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from sapwood.events.content import AssistantBlock, TextContent, ThinkingContent, ToolCall, UserBlock, UserContent
from sapwood.events.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)

COMPACTION_INTRO: Final = (
    "Earlier parts of this conversation were summarised to save room. What follows stands for them:"
)
BRANCH_INTRO: Final = "Another line of this conversation was tried and left again. This is what it found:"
NO_OUTPUT: Final = "(no output)"

OutgoingMessage = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage


def render(message: Message, *, provider: str, model: str) -> OutgoingMessage:
    """The message as it goes to this model of this provider. Thinking and signatures go to who thought them, or not at all."""
    match message:
        case SystemMessage():
            return message
        case UserMessage(content=content):
            return msgspec.structs.replace(message, content=_without_empty(content))
        case CustomMessage(content=content, timestamp=timestamp):
            return UserMessage(content=_without_empty(content), timestamp=timestamp)
        case AssistantMessage(content=content):
            same = message.provider == provider and message.model == model
            kept = tuple(block if same else _unsigned(block) for block in content if _goes(block, same_model=same))
            return message if kept == content else msgspec.structs.replace(message, content=kept)
        case ToolResultMessage(content=content):
            shown = _blocks_without_empty(content) or (TextContent(text=NO_OUTPUT),)
            return message if shown == content else msgspec.structs.replace(message, content=shown)
        case BashExecutionMessage(timestamp=timestamp):
            return UserMessage(content=_command(message), timestamp=timestamp)
        case CompactionSummaryMessage(summary=summary, timestamp=timestamp):
            return UserMessage(content=_wrapped(COMPACTION_INTRO, summary), timestamp=timestamp)
        case BranchSummaryMessage(summary=summary, timestamp=timestamp):
            return UserMessage(content=_wrapped(BRANCH_INTRO, summary), timestamp=timestamp)
        case _:
            assert_never(message)


def _wrapped(intro: str, summary: str) -> str:
    return f"{intro}\n\n<summary>\n{summary}\n</summary>"


def _command(message: BashExecutionMessage) -> str:
    output = f"```\n{message.output}\n```" if message.output else NO_OUTPUT
    lines = [f"I ran `{message.command}`:", output]
    if message.cancelled:
        lines.append("I stopped it before it ended.")
    elif message.exit_code:
        lines.append(f"It ended with exit code {message.exit_code}.")
    if message.truncated and message.full_output_path:
        lines.append(f"This is not all of its output; the rest is in {message.full_output_path}.")
    return "\n\n".join(lines)


def _goes(block: AssistantBlock, *, same_model: bool) -> bool:
    match block:
        case TextContent(text=text):
            return bool(text.strip())
        case ThinkingContent(thinking_signature=signature):
            return same_model and bool(signature)
        case _:
            return True


def _unsigned(block: AssistantBlock) -> AssistantBlock:
    """Without what only the model that said it can read."""
    match block:
        case TextContent(text_signature=str()):
            return msgspec.structs.replace(block, text_signature=None)
        case ToolCall(thought_signature=str()):
            return msgspec.structs.replace(block, thought_signature=None)
        case _:
            return block


def _without_empty(content: UserContent) -> UserContent:
    return content if isinstance(content, str) else _blocks_without_empty(content)


def _blocks_without_empty(content: tuple[UserBlock, ...]) -> tuple[UserBlock, ...]:
    return tuple(block for block in content if not isinstance(block, TextContent) or block.text.strip())
