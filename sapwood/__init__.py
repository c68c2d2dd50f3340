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

if TYPE_CHECKING:
    from sapwood.actors.agent.prepare import SectionContext, SystemPrompt
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
    from sapwood.events.stats import Billed, SessionStats, Spent
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
    "Context",
    "ContextItem",
    "ContextTooLarge",
    "ContextUsage",
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

_HOMES = {
    "Billed": "sapwood.events.stats",
    "ListedSession": "sapwood.events.catalog",
    "ScannedSession": "sapwood.events.catalog",
    "UnlistedFile": "sapwood.events.catalog",
    "Sessions": "sapwood.sessions",
    "NewPlace": "sapwood.places",
    "new_place": "sapwood.places",
    "pi_sessions_folder": "sapwood.places",
    "sessions_folder": "sapwood.places",
    "fork": "sapwood.forking",
    "Forked": "sapwood.events.commands",
    "ForkFailed": "sapwood.events.errors",
    "list_price": "sapwood.prices",
    "LocalModelMissing": "sapwood.local.errors",
    "LocalServerFailed": "sapwood.local.errors",
    "LocalServer": "sapwood.local.starting",
    "local_server": "sapwood.local.starting",
    "known_model": "sapwood.models",
    "AnthropicProvider": "sapwood.actors.model.vendors",
    "OpenAIChat": "sapwood.actors.model.vendors",
    "OpenAIResponses": "sapwood.actors.model.vendors",
    "GeminiProvider": "sapwood.actors.model.vendors",
    "ChatDialect": "sapwood.actors.model.providers.openai_chat",
    "Credentials": "sapwood.actors.model.credentials",
    "Branch": "sapwood.actors.navigation.branches",
    "Navigated": "sapwood.events.commands",
    "NavigationFailed": "sapwood.events.errors",
    "EntryId": "sapwood.events.ids",
    "ToolCallId": "sapwood.events.ids",
    "builtin_tools": "sapwood.actors.tools.builtin",
    "CannotLoadExtension": "sapwood.events.file_errors",
    "installed_extensions": "sapwood.extending",
    "load_extension": "sapwood.extending",
    "Extension": "sapwood.actors.extensions.extension",
    "Deferred": "sapwood.actors.extensions.context",
    "ExtensionContext": "sapwood.actors.extensions.context",
    "Measured": "sapwood.events.context",
    "QueuedInputs": "sapwood.events.commands",
    "Replacement": "sapwood.events.entries",
    "RetryPolicy": "sapwood.actors.model.retry",
    "Settings": "sapwood.settings",
    "load_settings": "sapwood.settings_files",
    "BadSettings": "sapwood.events.file_errors",
    "BranchSummarySettings": "sapwood.actors.navigation.settings",
    "CompactionSettings": "sapwood.actors.compaction.threshold",
    "TokenOverride": "sapwood.actors.compaction.threshold",
    "Tool": "sapwood.actors.tools",
    "ToolContext": "sapwood.actors.tools",
    "ToolResult": "sapwood.actors.tools",
    "tool": "sapwood.actors.tools",
    "SectionContext": "sapwood.actors.agent.prepare",
    "SystemPrompt": "sapwood.actors.agent.prepare",
    "Event": "sapwood.events.runtime",
    "Store": "sapwood.store.port",
    "InvalidSessionId": "sapwood.events.errors",
    "Damage": "sapwood.events.damage",
    "Writer": "sapwood.events.errors",
    "ReadOnly": "sapwood.events.errors",
    "SessionInUse": "sapwood.events.errors",
    "SessionStats": "sapwood.events.stats",
    "Spent": "sapwood.events.stats",
    "StoreConflict": "sapwood.events.errors",
    "NewerVersion": "sapwood.events.errors",
    "TextDelta": "sapwood.events.deltas",
    "Reader": "sapwood.actors.kernel",
    "WouldDeadlock": "sapwood.actors.kernel",
    "WrongThread": "sapwood.actors.kernel",
    "Environment": "sapwood.actors.environment",
    "Handle": "sapwood.actors.inbox",
    "Published": "sapwood.actors.kernel",
    "Resync": "sapwood.actors.kernel",
    "Finish": "sapwood.actors.model.providers.base",
    "Provider": "sapwood.actors.model.providers.base",
    "Request": "sapwood.actors.model.providers.base",
    "Scripted": "sapwood.actors.model.providers.scripted",
    "ScriptedAnswer": "sapwood.actors.model.providers.scripted",
    "Compacted": "sapwood.events.commands",
    "CompactionFailed": "sapwood.events.errors",
    "ContextTooLarge": "sapwood.events.errors",
    "Delivered": "sapwood.events.commands",
    "Failed": "sapwood.events.commands",
    "InputOutcome": "sapwood.events.commands",
    "Returned": "sapwood.events.commands",
    "Snapshot": "sapwood.events.commands",
    "Withdrawn": "sapwood.events.commands",
    "ImageContent": "sapwood.events.content",
    "TextContent": "sapwood.events.content",
    "ThinkingContent": "sapwood.events.content",
    "ToolCall": "sapwood.events.content",
    "Context": "sapwood.events.context",
    "ContextItem": "sapwood.events.context",
    "ContextUsage": "sapwood.events.context",
    "CannotOpen": "sapwood.events.errors",
    "CannotWrite": "sapwood.events.errors",
    "NotASession": "sapwood.events.errors",
    "ProviderError": "sapwood.events.errors",
    "RedactionFailed": "sapwood.events.errors",
    "Redactor": "sapwood.actors.outgoing.veil",
    "Refused": "sapwood.events.errors",
    "SapwoodError": "sapwood.events.errors",
    "SessionBroken": "sapwood.events.errors",
    "SessionClosed": "sapwood.events.errors",
    "StaleContext": "sapwood.events.errors",
    "StaleLeaf": "sapwood.events.errors",
    "StoreError": "sapwood.events.errors",
    "AssistantMessage": "sapwood.events.messages",
    "SystemMessage": "sapwood.events.messages",
    "ToolResultMessage": "sapwood.events.messages",
    "Usage": "sapwood.events.messages",
    "UserMessage": "sapwood.events.messages",
    "Limits": "sapwood.events.models",
    "Model": "sapwood.events.models",
    "Price": "sapwood.events.models",
    "ReadSession": "sapwood.reading",
    "read": "sapwood.reading",
    "FollowEvent": "sapwood.following",
    "Following": "sapwood.following",
    "follow": "sapwood.following",
    "Runtime": "sapwood.runtime",
    "open_session": "sapwood.runtime",
    "Session": "sapwood.session",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sapwood' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
