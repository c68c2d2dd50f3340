"""Sapwood: an event-sourced actor runtime for agent sessions.

Open a session with `open_session`, or several with a `Runtime`; read one without trio with `read`, and `follow` one that another program
writes. What a host needs by name stands here; the kinds of event are in `sapwood.events.runtime`, those of entry in
`sapwood.events.entries`.

A name's home is imported when the name is first used: who only reads sessions does not pay for trio, and importing this costs next to
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sapwood.homes import HOMES

if TYPE_CHECKING:
    from sapwood.actors.agent.prepare import SystemPrompt
    from sapwood.actors.compaction.threshold import CompactionSettings, TokenOverride
    from sapwood.actors.environment import Environment
    from sapwood.actors.extensions.context import Deferred, ExtensionContext
    from sapwood.actors.extensions.extension import Extension
    from sapwood.actors.inbox import Handle
    from sapwood.actors.kernel import Published, Reader, Resync, WouldDeadlock, WrongThread
    from sapwood.actors.model.credentials import Credentials
    from sapwood.actors.model.providers.base import Finish, Provider, Request
    from sapwood.actors.model.providers.openai_chat import ChatDialect
    from sapwood.actors.model.providers.scripted import Scripted, ScriptedAnswer
    from sapwood.actors.model.retry import RetryPolicy
    from sapwood.actors.model.vendors import AnthropicProvider, GeminiProvider, OpenAIChat, OpenAIResponses
    from sapwood.actors.navigation.branches import Branch
    from sapwood.actors.navigation.settings import BranchSummarySettings
    from sapwood.actors.outgoing.veil import Redactor
    from sapwood.actors.projection.section import SectionContext
    from sapwood.actors.tools import Tool, ToolContext, ToolResult, tool
    from sapwood.actors.tools.builtin import builtin_tools
    from sapwood.events.catalog import ListedSession, ScannedSession, UnlistedFile
    from sapwood.events.commands import (
        Compacted,
        Delivered,
        Failed,
        Forked,
        InputOutcome,
        Navigated,
        QueuedInputs,
        Returned,
        Snapshot,
        Withdrawn,
    )
    from sapwood.events.content import ImageContent, TextContent, ThinkingContent, ToolCall
    from sapwood.events.context import Context, ContextItem, ContextUsage, Measured
    from sapwood.events.damage import Damage
    from sapwood.events.deltas import TextDelta
    from sapwood.events.entries import Replacement
    from sapwood.events.errors import (
        CannotOpen,
        CannotWrite,
        CompactionFailed,
        ContextTooLarge,
        ForkFailed,
        InvalidSessionId,
        NavigationFailed,
        NewerVersion,
        NotASession,
        ProviderError,
        ReadOnly,
        RedactionFailed,
        Refused,
        SapwoodError,
        SessionBroken,
        SessionClosed,
        SessionInUse,
        StaleContext,
        StaleLeaf,
        StoreConflict,
        StoreError,
        Writer,
    )
    from sapwood.events.file_errors import BadSettings, CannotLoadExtension
    from sapwood.events.ids import EntryId, ToolCallId
    from sapwood.events.messages import AssistantMessage, SystemMessage, ToolResultMessage, Usage, UserMessage
    from sapwood.events.models import Limits, Model, Price
    from sapwood.events.runtime import Event
    from sapwood.events.stats import Billed, Compared, CounterCheck, SessionStats, Spent
    from sapwood.extending import installed_extensions, load_extension
    from sapwood.following import FollowEvent, Following, follow
    from sapwood.forking import fork
    from sapwood.local.errors import LocalModelMissing, LocalServerFailed
    from sapwood.local.starting import LocalServer, local_server
    from sapwood.models import known_model
    from sapwood.places import NewPlace, new_place, pi_sessions_folder, sessions_folder
    from sapwood.prices import list_price
    from sapwood.reading import ReadSession, read
    from sapwood.runtime import Runtime, open_session
    from sapwood.session import Session
    from sapwood.sessions import Sessions
    from sapwood.settings import Settings
    from sapwood.settings_files import load_settings
    from sapwood.store.port import Store

__all__ = [
    "AnthropicProvider",
    "AssistantMessage",
    "BadSettings",
    "Billed",
    "Branch",
    "BranchSummarySettings",
    "CannotLoadExtension",
    "CannotOpen",
    "CannotWrite",
    "ChatDialect",
    "Compacted",
    "CompactionFailed",
    "CompactionSettings",
    "Compared",
    "Context",
    "ContextItem",
    "ContextTooLarge",
    "ContextUsage",
    "CounterCheck",
    "Credentials",
    "Damage",
    "Deferred",
    "Delivered",
    "EntryId",
    "Environment",
    "Event",
    "Extension",
    "ExtensionContext",
    "Failed",
    "Finish",
    "FollowEvent",
    "Following",
    "ForkFailed",
    "Forked",
    "GeminiProvider",
    "Handle",
    "ImageContent",
    "InputOutcome",
    "InvalidSessionId",
    "Limits",
    "ListedSession",
    "LocalModelMissing",
    "LocalServer",
    "LocalServerFailed",
    "Measured",
    "Model",
    "Navigated",
    "NavigationFailed",
    "NewPlace",
    "NewerVersion",
    "NotASession",
    "OpenAIChat",
    "OpenAIResponses",
    "Price",
    "Provider",
    "ProviderError",
    "Published",
    "QueuedInputs",
    "ReadOnly",
    "ReadSession",
    "Reader",
    "RedactionFailed",
    "Redactor",
    "Refused",
    "Replacement",
    "Request",
    "Resync",
    "RetryPolicy",
    "Returned",
    "Runtime",
    "SapwoodError",
    "ScannedSession",
    "Scripted",
    "ScriptedAnswer",
    "SectionContext",
    "Session",
    "SessionBroken",
    "SessionClosed",
    "SessionInUse",
    "SessionStats",
    "Sessions",
    "Settings",
    "Snapshot",
    "Spent",
    "StaleContext",
    "StaleLeaf",
    "Store",
    "StoreConflict",
    "StoreError",
    "SystemMessage",
    "SystemPrompt",
    "TextContent",
    "TextDelta",
    "ThinkingContent",
    "TokenOverride",
    "Tool",
    "ToolCall",
    "ToolCallId",
    "ToolContext",
    "ToolResult",
    "ToolResultMessage",
    "UnlistedFile",
    "Usage",
    "UserMessage",
    "Withdrawn",
    "WouldDeadlock",
    "Writer",
    "WrongThread",
    "builtin_tools",
    "follow",
    "fork",
    "installed_extensions",
    "known_model",
    "list_price",
    "load_extension",
    "load_settings",
    "local_server",
    "new_place",
    "open_session",
    "pi_sessions_folder",
    "read",
    "sessions_folder",
    "tool",
]


def __getattr__(name: str) -> object:
    home = HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sapwood' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
