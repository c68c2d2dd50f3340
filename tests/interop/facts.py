"""The facts of an event of ours that Pi tells too. No I/O."""

from __future__ import annotations

from sapwood.events.messages import AssistantMessage, Message, ToolResultMessage
from sapwood.events.runtime import (
    AgentEnd,
    AgentSettled,
    AutoRetryEnd,
    AutoRetryStart,
    CompactionEnd,
    CompactionStart,
    EntryAppended,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    QueueUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
    name_of,
)
from tests.interop.departures import Told


def _message(message: Message) -> Told:
    role = {"role": message.role}
    if isinstance(message, ToolResultMessage):
        return {**role, "toolCallId": message.tool_call_id, "isError": message.is_error}
    return role


def _ended(message: Message) -> Told:
    return {"stopReason": message.stop_reason} if isinstance(message, AssistantMessage) else {}


def facts_of(event: Event) -> Told:
    """The same of ours as `FACTS` in `events.mjs` of Pi's."""
    return {"type": name_of(event), **_facts(event)}


def _facts(event: Event) -> Told:
    match event:
        case TurnStart(turn_index=turn_index):
            return {"turnIndex": turn_index}
        case TurnEnd(message=message, tool_results=results):
            return {"stopReason": message.stop_reason, "calls": [one.tool_call_id for one in results]}
        case MessageStart(message=message):
            return _message(message)
        case MessageUpdate(assistant_message_event=piece):
            return {"piece": piece.__struct_config__.tag}
        case MessageEnd(message=message):
            return {**_message(message), **_ended(message)}
        case ToolExecutionStart() | ToolExecutionUpdate():
            return {"toolCallId": event.tool_call_id, "toolName": event.tool_name}
        case ToolExecutionEnd():
            return {"toolCallId": event.tool_call_id, "toolName": event.tool_name, "isError": event.is_error}
        case AgentEnd(messages=messages, will_retry=will_retry):
            return {"willRetry": will_retry, "roles": [message.role for message in messages]}
        case AgentSettled(aborted=aborted):
            return {"aborted": aborted}
        case QueueUpdate(steering=steering, follow_up=follow_up):
            return {"steering": list(steering), "followUp": list(follow_up)}
        case EntryAppended(kind=kind):
            return {"kind": kind}
        case CompactionStart(reason=reason):
            return {"reason": reason}
        case CompactionEnd():
            return {
                "reason": event.reason,
                "done": event.result is not None,
                "aborted": event.aborted,
                "willRetry": event.will_retry,
                "failed": event.error_message is not None,
            }
        case AutoRetryStart(attempt=attempt, max_attempts=most):
            return {"attempt": attempt, "maxAttempts": most}
        case AutoRetryEnd(success=success, attempt=attempt):
            return {"success": success, "attempt": attempt}
        case _:
            return {}
