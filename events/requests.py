"""What actors ask of each other. The commands of a host are in `commands.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, UnsetType

from sapwood.events.asking import Ask
from sapwood.events.base import Json, Wire
from sapwood.events.commands import Compacted, Input, Navigated, QueueName, SessionState
from sapwood.events.content import ToolCall
from sapwood.events.context import Context, Measured, Selection, Surveyed
from sapwood.events.entries import KnownEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, Message, ToolResultMessage
from sapwood.events.models import Model
from sapwood.events.runtime import CompactionReason, Purpose

CallId = str
"""Names one model call within a session."""


class Appended(Wire, frozen=True, kw_only=True):
    """The entries are in the log, in this order, under these ids."""

    entry_ids: tuple[EntryId, ...]
    leaf: EntryId | None


class Append(Ask[Appended], frozen=True, kw_only=True):
    """Append these entries as one write (S3). Idempotent: the same ids with the same content are "already done".

    The log sets each `parent_id`: the first hangs under the leaf, each next one under the one before. Refuses with `StaleLeaf` if
    the leaf is no longer `expected_leaf` and more than bookkeeping came since (S6), and with `Refused` if an id is taken by another entry.
    """

    entries: tuple[KnownEntry, ...]
    expected_leaf: EntryId | UnsetType | None = UNSET
    """UNSET: wherever the leaf is."""
    under: EntryId | UnsetType | None = UNSET
    """The parent of the first one, if it is to be another than the leaf: a branch. `Refused` if there is none of that id."""
    patient: bool = True
    """Whether it waits for a disk that refuses (S8), unacknowledged. False: it is refused with what the disk says."""


class CatchUp(Ask[None], frozen=True, kw_only=True):
    """Take in what another program has appended (S9): what is read from now on stands as an append would find it.

    Refuses as an append would: a session that can only be read, a file that was taken away.
    """


class Withdraw(Ask[None], frozen=True, kw_only=True):
    """An append of this entry that waits for a disk that refuses waits no longer: it is refused with what the disk says (S8).

    Nothing for one that is being written, or that is in the log.
    """

    entry_id: EntryId


class Restore(Ask[str | None], frozen=True, kw_only=True):
    """Put a file that somebody deleted or replaced back to its path; the new path of what stood there, if something did (S9)."""


class Select(Ask[Selection], frozen=True, kw_only=True):
    """What the model is sent at the leaf, uncounted."""


class Project(Ask[Context], frozen=True, kw_only=True):
    """What the model sees at the leaf, entry by entry, counted."""


class Measure(Ask[Measured], frozen=True, kw_only=True):
    """How full the context at the leaf is."""


class Survey(Ask[Surveyed], frozen=True, kw_only=True):
    """The selection at the leaf entry by entry, its end counted."""

    tokens: int
    """Count so many of the newest entries that they come to more than this; it is no use to know of the others."""


class PrepareCounting(Wire, frozen=True):
    """Somebody will ask how full the context is: load what counts it, beside everything else. Told, and not answered."""


Holder = SessionState
Newcomer = Literal["prompt", "queued", "compaction", "navigation"]
"""Who asks for the tree; `queued` is a steer or a follow-up."""


class Acquire(Ask[None], frozen=True, kw_only=True):
    """The right to change the tree, or `Refused` with the words of the table. Who asks gives it back with the same key, however it ends."""

    newcomer: Newcomer
    key: str
    """Names whoever will hold it: it can be given back even by one who never learned that it was granted."""


class Accept(Ask[None], frozen=True, kw_only=True):
    """An input is accepted: from now on it has exactly one outcome (R3). `SessionClosed` if nobody waits for one any more."""

    input: Input
    queue: QueueName | None = None
    """The queue that it waits in; None for what a run begins with."""


class Resolve(Ask[None], frozen=True, kw_only=True):
    """The run that took up this input is over: it has its outcome after this, whatever became of the news of it."""

    entry_id: EntryId


class Generate(Ask[AssistantMessage], frozen=True, kw_only=True):
    """One attempt at one model call. The reply is always a message: a failure is one whose `stop_reason` says so."""

    call_id: CallId
    model: Model
    purpose: Purpose
    messages: tuple[Message, ...]
    """The selection; what may not go out is left out, and tool calls are paired, on the way (P4, P5)."""
    thinking_level: str = "off"
    max_output: int | None = None
    """Tokens of the answer at most; None: what the model gives."""
    cache_write: bool = True
    """Whether the prompt may be written to the provider's cache."""
    cache_key: str | None = None
    """What requests with the same beginning have in common, for providers that route by it."""
    metadata: Mapping[str, Json] | None = None
    """What the host has the provider told beside the request."""
    changed: bool = False
    """Whether extensions have changed the messages: a report of what they come to is none of what the log says (T3)."""


class StopCall(Ask[bool], frozen=True, kw_only=True):
    """Ends a model call, or one that is about to come; its asker gets what came until now as an aborted message. False: not yet there."""

    call_id: CallId


BatchId = str
"""Names the calls of one answer within a session."""


class Ran(Wire, frozen=True, kw_only=True):
    """A call has its result, and that is in the log."""

    message: ToolResultMessage
    entry_id: EntryId
    terminate: bool = False
    """Whether the run may stop here, as far as this call goes."""


class ToolsRan(Wire, frozen=True, kw_only=True):
    """Every call has its result, in the order of the calls."""

    results: tuple[Ran, ...]
    last: EntryId
    """What was recorded last."""


class RunTools(Ask[ToolsRan], frozen=True, kw_only=True):
    """Run these calls, and record a result of each as soon as it is there (R2). Whatever becomes of a call is a result.

    Raises `StoreError` and the like if a result could not be recorded.
    """

    batch_id: BatchId
    calls: tuple[ToolCall, ...]
    behind: EntryId
    """The entry that the first result hangs under."""
    unrun: Literal["truncated", "broken"] | None = None
    """Why none of them is to be run: the answer was cut off (R7), or what ran them broke."""


class CompactNow(Ask[Compacted], frozen=True, kw_only=True):
    """Summarise the past of the path to the leaf (C). The model and the settings are those of the moment when it was asked for.

    Refuses with `Refused` where there is nothing to compact (C14), or somebody else has the tree; `CompactionFailed` for one that was
    begun and came to nothing: the log is as it was.
    """

    key: str
    """Names it, and holds the tree for it where nobody does: see `Acquire`."""
    entry_id: EntryId
    """The id that its entry will have."""
    reason: CompactionReason
    model: Model
    will_retry: bool = False
    """Whether what called for it is tried again behind it (C16)."""
    instructions: str | None = None
    """What a person wants kept above all (C8)."""
    ask_extensions: bool = True
    """False: a person has it done whatever extensions would say (C18)."""


class CheckCompaction(Ask[None], frozen=True, kw_only=True):
    """Whether a person's compaction would be refused as things stand: `Refused` then, and told as for one that was asked for (C14).

    `StoreError` for a session that cannot be written. `StopCompaction` stops it too.
    """

    key: str
    """Of the compaction that is to follow."""
    model: Model


class StopCompaction(Ask[None], frozen=True, kw_only=True):
    """Stop a compaction that is under way, or about to come; one whose entry is being written ends well all the same."""

    key: str


class NavigateTo(Ask[Navigated], frozen=True, kw_only=True):
    """Move the leaf (N). The model is that of the moment when it was asked for.

    Refuses with `Refused` where somebody else has the tree, or what is asked for cannot be; `NavigationFailed` for one that was begun and
    came to nothing, `StaleLeaf` and `StoreError` for one that could not be written: the leaf is where it was.
    """

    key: str
    """Names it, and holds the tree for it: see `Acquire`."""
    target: EntryId | None
    """None: before the first entry."""
    model: Model | None
    """The session's; None: nobody could write a summary."""
    summarize: bool = False
    instructions: str | None = None
    """What a person wants of the summary."""
    replace_instructions: bool = False
    """Whether these take the place of ours."""
    label: str | None = None
    """A mark on the summary, or else on the target."""
    answer: str | None = None
    """What the person says now to what a tool had asked: the target is its result (N8)."""
    ask_extensions: bool = True
    """False: a person has it done whatever extensions would say."""


class StopNavigation(Ask[None], frozen=True, kw_only=True):
    """Stop a navigation that is under way, or about to come; one that is being written ends well all the same."""

    key: str


class StopTools(Ask[None], frozen=True, kw_only=True):
    """Stop the calls of an answer, or of one that is about to come: those under way are cancelled, and the others do not begin (R4)."""

    batch_id: BatchId
