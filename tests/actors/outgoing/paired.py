"""What goes out is paired, whatever the log has: for the tests of all that goes out."""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.events.content import ToolCall
from sapwood.events.messages import AssistantMessage, Message, ToolResultMessage


def assert_paired(messages: Sequence[Message]) -> None:
    """The oracle: each call is followed, before any other role, by exactly one result; none is without a call; no id comes twice."""
    seen: set[str] = set()
    at = 0
    while at < len(messages):
        message = messages[at]
        assert not isinstance(message, ToolResultMessage), f"a result without a call at {at}"
        at += 1
        if isinstance(message, AssistantMessage):
            calls = [block.id for block in message.content if isinstance(block, ToolCall)]
            assert not seen & set(calls)
            assert len(set(calls)) == len(calls)
            seen |= set(calls)
            behind = messages[at : at + len(calls)]
            answered = [answer.tool_call_id for answer in behind if isinstance(answer, ToolResultMessage)]
            assert sorted(answered) == sorted(calls)
            at += len(calls)
