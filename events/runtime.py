"""News: what has happened. Nobody answers it; whoever cares subscribes to it.

Names and payloads are Pi's where Pi has them. News of a durable fact comes after the entry is in the log, never before.
Questions, which are answered, are in `hooks.py`.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from sapwood.events.base import Json, Number, Wire
from sapwood.events.content import UserBlock
from sapwood.events.damage import Damage
from sapwood.events.deltas import Delta, joined
from sapwood.events.entries import BranchSummary, Compaction, KnownEntry
from sapwood.events.errors import Interference
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import AssistantMessage, Message, ToolResultMessage, Usage

CompactionReason = Literal["manual", "threshold", "overflow"]
"""Why a compaction happens (C4)."""
Purpose = Literal["turn", "compaction", "turn_prefix", "branch_summary", "tool"]
"""What a model call is for (T6)."""


class News(Wire, frozen=True, kw_only=True, tag_field="type"):
    """Base of every event."""


class AgentStart(News, frozen=True, kw_only=True, tag="agent_start"):
    """A low-level run begins."""


class AgentEnd(News, frozen=True, kw_only=True, tag="agent_end"):
    """A low-level run is over."""

    messages: tuple[Message, ...]
    will_retry: bool
    """Whether a retry or a recovery will be attempted (R1; unlike Pi, recoveries count)."""


class AgentSettled(News, frozen=True, kw_only=True, tag="agent_settled"):
    """Nothing more will happen until somebody asks."""

    aborted: bool
    error_message: str | None = None
    """What broke the run: a disk that refused, an actor that crashed. A failed answer is no such thing; it is in the log."""
    error_type: str | None = None
    """The name of that error's class, such as `StoreConflict`."""
    unrecorded: AssistantMessage | None = None
    """An answer that came and is not in the log, since what broke the run kept it out."""


class TurnStart(News, frozen=True, kw_only=True, tag="turn_start"):
    """One request to the model, and the tools that its answer asks for, begin."""

    turn_index: int


class TurnEnd(News, frozen=True, kw_only=True, tag="turn_end"):
    """The answer and the results of its calls are in the log."""

    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]


class MessageStart(News, frozen=True, kw_only=True, tag="message_start"):
    """A message begins; an assistant's has nothing in it yet."""

    message: Message


class MessageEnd(News, frozen=True, kw_only=True, tag="message_end"):
    """The message is in the log, under `entry_id`."""

    message: Message
    entry_id: EntryId


class MessageUpdate(News, frozen=True, kw_only=True, tag="message_update"):
    """A piece of the answer came in."""

    call_id: str
    """Which model call streams; one call, one answer."""
    assistant_message_event: Delta
    """Pi's name for it."""


class ToolExecutionStart(News, frozen=True, kw_only=True, tag="tool_execution_start"):
    tool_call_id: ToolCallId
    tool_name: str
    args: dict[str, Json]
    parent_tool_call_id: ToolCallId | None = None


class ToolExecutionUpdate(News, frozen=True, kw_only=True, tag="tool_execution_update"):
    tool_call_id: ToolCallId
    tool_name: str
    partial_result: Json
    parent_tool_call_id: ToolCallId | None = None


class ToolExecutionEnd(News, frozen=True, kw_only=True, tag="tool_execution_end"):
    tool_call_id: ToolCallId
    tool_name: str
    result: tuple[UserBlock, ...]
    is_error: bool
    duration_ms: Number | None = None
    parent_tool_call_id: ToolCallId | None = None


class ToolAbandoned(News, frozen=True, kw_only=True, tag="tool_abandoned"):
    """Code of a tool went on after it was cancelled; its result is discarded (R4)."""

    tool_call_id: ToolCallId
    tool_name: str
    after_ms: Number
    """Milliseconds from the call's beginning until nobody waited for it any more."""


class QueueUpdate(News, frozen=True, kw_only=True, tag="queue_update"):
    """What waits, oldest first, as texts."""

    steering: tuple[str, ...]
    follow_up: tuple[str, ...]


class EntryAppended(News, frozen=True, kw_only=True, tag="entry_appended"):
    """An entry is in the log."""

    entry_id: EntryId
    kind: str
    entry: KnownEntry | None = None
    """None for an entry of a kind that this release has no type for, and where the disk does not give it right now."""


class SessionInfoChanged(News, frozen=True, kw_only=True, tag="session_info_changed"):
    name: str | None = None


class ModelChanged(News, frozen=True, kw_only=True, tag="model_changed"):
    provider: str
    model_id: str


class ThinkingLevelChanged(News, frozen=True, kw_only=True, tag="thinking_level_changed"):
    level: str


class CompactionStart(News, frozen=True, kw_only=True, tag="compaction_start"):
    reason: CompactionReason


class CompactionEnd(News, frozen=True, kw_only=True, tag="compaction_end"):
    """Exactly one after each `compaction_start` (C18)."""

    reason: CompactionReason
    result: Compaction | None = None
    aborted: bool
    will_retry: bool
    error_message: str | None = None


class SessionCompact(News, frozen=True, kw_only=True, tag="session_compact"):
    compaction_entry: Compaction
    from_extension: bool
    reason: CompactionReason
    will_retry: bool


class SessionCompactFailed(News, frozen=True, kw_only=True, tag="session_compact_failed"):
    reason: CompactionReason
    error_message: str | None = None
    aborted: bool
    will_retry: bool
    from_extension: bool


class SessionTree(News, frozen=True, kw_only=True, tag="session_tree"):
    """The leaf moved to another branch."""

    new_leaf_id: EntryId | None
    old_leaf_id: EntryId | None
    summary_entry: BranchSummary | None = None
    from_extension: bool | None = None


class SessionTreeFailed(News, frozen=True, kw_only=True, tag="session_tree_failed"):
    """A move was begun and came to nothing: the leaf is where it was. Extensions were asked, so they are told (N6)."""

    target_id: EntryId | None
    error_message: str | None = None
    """None if somebody stopped it."""
    aborted: bool
    from_extension: bool


class AutoRetryStart(News, frozen=True, kw_only=True, tag="auto_retry_start"):
    attempt: int
    max_attempts: int
    delay_ms: Number
    error_message: str


class AutoRetryEnd(News, frozen=True, kw_only=True, tag="auto_retry_end"):
    success: bool
    attempt: int
    final_error: str | None = None


class SummarizationRetryScheduled(News, frozen=True, kw_only=True, tag="summarization_retry_scheduled"):
    attempt: int
    max_attempts: int
    delay_ms: Number
    error_message: str


class SummarizationRetryAttemptStart(News, frozen=True, kw_only=True, tag="summarization_retry_attempt_start"):
    source: Literal["compaction", "branchSummary"]
    reason: CompactionReason | None = None


class SummarizationRetryFinished(News, frozen=True, kw_only=True, tag="summarization_retry_finished"):
    pass


class UsageReported(News, frozen=True, kw_only=True, tag="usage_reported"):
    """A call was billed."""

    purpose: Purpose
    provider: str
    model: str
    usage: Usage


class SessionMoved(News, frozen=True, kw_only=True, tag="session_moved"):
    """What is written from now on goes to another file than the one that was opened (S3)."""

    old_path: str
    new_path: str
    why: str


class SessionFileLost(News, frozen=True, kw_only=True, tag="session_file_lost"):
    """A file that is followed is no longer what it was (S9): it was deleted, replaced, made shorter or changed. Nothing comes after it."""

    path: str
    what: Interference


class DamageFound(News, frozen=True, kw_only=True, tag="damage_found"):
    """The file is damaged, here and there (S7). It stays as it is; everything else in it is read."""

    records: tuple[Damage, ...]


class StoreDegraded(News, frozen=True, kw_only=True, tag="store_degraded"):
    """The disk refuses; what waits is unacknowledged (S8)."""

    error_message: str
    waiting: int


class StoreRecovered(News, frozen=True, kw_only=True, tag="store_recovered"):
    """What waited is written, in order (S8)."""

    written: int


class ExtensionError(News, frozen=True, kw_only=True, tag="extension_error"):
    """A handler failed; nobody else is harmed (H2)."""

    extension: str
    event: str
    error_message: str


class Diagnostic(News, frozen=True, kw_only=True, tag="diagnostic"):
    """Something was repaired, estimated or left out, and here is what."""

    code: str
    """A fixed word, such as `pairing` or `first_kept_missing`."""
    message: str
    entry_id: EntryId | None = None
    facts: dict[str, Any] | None = None


Event = (
    AgentStart
    | AgentEnd
    | AgentSettled
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | ToolAbandoned
    | QueueUpdate
    | EntryAppended
    | SessionInfoChanged
    | ModelChanged
    | ThinkingLevelChanged
    | CompactionStart
    | CompactionEnd
    | SessionCompact
    | SessionCompactFailed
    | SessionTree
    | SessionTreeFailed
    | AutoRetryStart
    | AutoRetryEnd
    | SummarizationRetryScheduled
    | SummarizationRetryAttemptStart
    | SummarizationRetryFinished
    | UsageReported
    | SessionMoved
    | SessionFileLost
    | DamageFound
    | StoreDegraded
    | StoreRecovered
    | ExtensionError
    | Diagnostic
)


def name_of(event: Event) -> str:
    """The event's `type` on the wire."""
    return str(event.__struct_config__.tag)


def merged(first: Event, second: Event) -> Event | None:
    """One event for two neighbouring pieces of one answer, for a reader that lags; None if they are not that. Raises nothing."""
    if not (isinstance(first, MessageUpdate) and isinstance(second, MessageUpdate)):
        return None
    call, other = cast("object", first.call_id), cast("object", second.call_id)  # a host may feed events of its own
    if not (isinstance(call, str) and isinstance(other, str) and call == other):
        return None
    piece = joined(first.assistant_message_event, second.assistant_message_event)
    return None if piece is None else MessageUpdate(call_id=call, assistant_message_event=piece)
