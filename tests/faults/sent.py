"""What a provider was sent."""

from __future__ import annotations

import msgspec

from sapwood import Request
from sapwood.events.content import text_of
from sapwood.events.messages import ToolResultMessage
from tests.build import words


def texts(request: Request) -> list[str]:
    return [words(message) for message in request.messages]


def results_of(request: Request, call_id: str) -> list[str]:
    return [
        text_of(message.content)
        for message in request.messages
        if isinstance(message, ToolResultMessage) and message.tool_call_id == call_id
    ]


def as_bytes(request: Request) -> list[bytes]:
    return [msgspec.json.encode(message) for message in request.messages]
