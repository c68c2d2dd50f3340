"""Sapwood: an event-sourced actor runtime for agent sessions.

Open a session with `open_session`, or several with a `Runtime`; read one without trio with `read`. Everything that a host, a scenario
or an extension needs by name stands here.
"""

from sapwood.actors.environment import Environment
from sapwood.actors.inbox import Handle
from sapwood.actors.kernel import Published, Resync
from sapwood.actors.model.providers.base import Finish, Provider, Request
from sapwood.actors.model.providers.scripted import Scripted, ScriptedAnswer
from sapwood.events.commands import Delivered, Failed, InputOutcome, Returned, Snapshot, Withdrawn
from sapwood.events.content import ImageContent, TextContent, ThinkingContent, ToolCall
from sapwood.events.context import Context, ContextItem, ContextUsage
from sapwood.events.errors import (
    CannotOpen,
    CannotWrite,
    NotASession,
    ProviderError,
    Refused,
    SapwoodError,
    SessionClosed,
    StaleLeaf,
    StoreError,
)
from sapwood.events.messages import AssistantMessage, Usage, UserMessage
from sapwood.events.models import Model, Price
from sapwood.reading import ReadSession, read
from sapwood.runtime import Runtime, open_session
from sapwood.session import Session

__all__ = [
    "AssistantMessage",
    "CannotOpen",
    "CannotWrite",
    "Context",
    "ContextItem",
    "ContextUsage",
    "Delivered",
    "Environment",
    "Failed",
    "Finish",
    "Handle",
    "ImageContent",
    "InputOutcome",
    "Model",
    "NotASession",
    "Price",
    "Provider",
    "ProviderError",
    "Published",
    "ReadSession",
    "Refused",
    "Request",
    "Resync",
    "Returned",
    "Runtime",
    "SapwoodError",
    "Scripted",
    "ScriptedAnswer",
    "Session",
    "SessionClosed",
    "Snapshot",
    "StaleLeaf",
    "StoreError",
    "TextContent",
    "ThinkingContent",
    "ToolCall",
    "Usage",
    "UserMessage",
    "Withdrawn",
    "open_session",
    "read",
]
