"""Messages, entries and events in a few words, for people. No I/O."""

from __future__ import annotations

from typing import assert_never

import msgspec

from sapwood.events.base import Json
from sapwood.events.content import ContentBlock, ImageContent, TextContent, ThinkingContent, ToolCall, text_of
from sapwood.events.entries import (
    LEAF_MARKER,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    Entry,
    Label,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ThinkingLevelChange,
    Unknown,
    UsageEntry,
    kind_of,
)
from sapwood.events.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from sapwood.events.runtime import (
    AgentEnd,
    AgentSettled,
    EntryAppended,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
)
from sapwood.words.wording import cut

BRANCH_SUMMARY = "[branch summary]:"
"""What a branch summary begins with (V1)."""


def text_of_message(message: Message) -> str:
    """What the message says, without its thinking, calls and images."""
    match message:
        case SystemMessage(content=content, sections=sections):
            told = (text_of(content), *(text for text in (sections or {}).values() if text is not None))
            return "\n\n".join(text for text in told if text)
        case UserMessage(content=content) | CustomMessage(content=content):
            return text_of(content)
        case AssistantMessage(content=content) | ToolResultMessage(content=content):
            return text_of(content)
        case BashExecutionMessage(command=command, output=output):
            return f"$ {command}\n{output}" if output else f"$ {command}"
        case BranchSummaryMessage(summary=summary) | CompactionSummaryMessage(summary=summary):
            return summary
        case _:
            assert_never(message)


def message_in_words(message: Message) -> str:
    """The whole message as a person reads it: its text, and its other blocks in brackets."""
    match message:
        case UserMessage(content=content) | CustomMessage(content=content):
            return content if isinstance(content, str) else "\n".join(map(_block, content))
        case AssistantMessage(content=content, error_message=error):
            said = [_block(block) for block in content]
            return "\n".join([*said, f"[{message.stop_reason}: {error}]"] if error else said)
        case ToolResultMessage(content=content, tool_name=tool, is_error=is_error):
            return f"{tool}{' failed' if is_error else ''}: " + "\n".join(map(_block, content)).lstrip()
        case BranchSummaryMessage(summary=summary):
            return f"{BRANCH_SUMMARY} {summary}"
        case SystemMessage(sections=sections, tools_added=tools) if not text_of_message(message):
            named = [*(sections or {}), *(tool.name for tool in tools or ())]
            return f"[{', '.join(named)}]" if named else ""
        case SystemMessage() | BashExecutionMessage() | CompactionSummaryMessage():
            return text_of_message(message)
        case _:
            assert_never(message)


def kind_in_words(entry: Entry) -> str:
    """The role of a message, the kind of anything else."""
    return entry.message.role if isinstance(entry, MessageEntry) else kind_of(entry)


def entry_in_words(entry: Entry) -> str:
    """What the entry says; what it does, if it says nothing."""
    match entry:
        case MessageEntry(message=message):
            return message_in_words(message)
        case ModelChange(provider=provider, model_id=model):
            return f"{provider}/{model}"
        case ThinkingLevelChange(thinking_level=level):
            return level
        case UsageEntry(kind=kind, usage=usage):
            return f"{kind}: {usage_in_words(usage)}"
        case Compaction(summary=summary):
            return summary
        case BranchSummary(summary=summary):
            return f"{BRANCH_SUMMARY} {summary}"
        case ContextEdit(target_id=target, replacement=replacement):
            return f"hides {target}" if replacement is None else f"changes {target}"
        case Custom(custom_type=custom):
            return "the leaf was moved here" if custom == LEAF_MARKER else custom
        case CustomMessageEntry(custom_type=custom, content=content):
            return f"{custom}: {text_of(content)}"
        case Label(target_id=target, label=label):
            return f"{label!r} on {target}" if label else f"none on {target}"
        case SessionInfo(name=name):
            return name or "(no name)"
        case Unknown():
            return "(a kind that this release does not know)"
        case _:
            assert_never(entry)


def usage_in_words(usage: Usage) -> str:
    """Tokens in and out."""
    cached = f", {usage.cache_read:,} cached" if usage.cache_read else ""
    return f"{usage.input:,} in, {usage.output:,} out{cached}"


def _failure(message: Message) -> str:
    """Behind what failed, in brackets, why: what is told of a message may be cut before its end."""
    why = message.error_message if isinstance(message, AssistantMessage) else None
    return f" ({cut(why)})" if why else ""


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode()


def _block(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text):
            return text
        case ThinkingContent(thinking=thinking):
            return f"[thinking: {thinking}]"
        case ImageContent(mime_type=mime):
            return f"[{mime}]"
        case ToolCall(name=name, arguments=arguments):
            told = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            return f"[{name}({told})]"
        case _:
            assert_never(block)


def event_in_words(event: Event) -> str:
    """What the event tells besides its name."""
    match event:
        case MessageStart(message=message) | MessageEnd(message=message):
            who = f"{message.role}{_failure(message)}"
            return f"{who}: {message_in_words(message)}" if text_of_message(message) else who
        case MessageUpdate(assistant_message_event=piece):
            value = msgspec.to_builtins(piece)
            kind, said = value.pop("type"), value.get("delta", value.get("content", ""))
            return f"{kind}: {said}" if isinstance(said, str) and said else str(kind)
        case EntryAppended(entry=entry, entry_id=entry_id, kind=kind):
            return f"{entry_id} {kind if entry is None else kind_in_words(entry)}"
        case TurnEnd(message=answer, tool_results=results):
            ended = f"{answer.stop_reason}{_failure(answer)}, {usage_in_words(answer.usage)}"
            return f"{ended}, {len(results)} results" if results else ended
        case ToolExecutionStart(tool_name=tool, args=args, tool_call_id=call):
            return f"{call} {tool} {_json(args)}"
        case ToolExecutionUpdate(tool_name=tool, partial_result=part, tool_call_id=call):
            return f"{call} {tool}: {part if isinstance(part, str) else _json(part)}"
        case ToolExecutionEnd(tool_name=tool, result=result, is_error=is_error, tool_call_id=call):
            return f"{call} {tool}{' failed' if is_error else ''}: {text_of(result)}"
        case AgentEnd(messages=messages, will_retry=will_retry):
            return f"{len(messages)} messages" + (", will retry" if will_retry else "")
        case AgentSettled(aborted=aborted, error_message=why):
            return ", ".join(filter(None, ["aborted" if aborted else "", why]))
        case _:
            fields = {key: value for key, value in msgspec.to_builtins(event).items() if key != "type"}
            return ", ".join(
                f"{key}: {value if isinstance(value, str) else _json(value)}" for key, value in fields.items()
            )
