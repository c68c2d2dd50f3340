"""What a host may ask of a session, and the outcomes.

Commands are imperative. Every accepted input has exactly one outcome (R3); what is refused raises `Refused` and changes nothing.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from sapwood.events.asking import Ask
from sapwood.events.base import Json, Wire
from sapwood.events.content import ImageContent, TextContent, UserBlock
from sapwood.events.entries import BranchSummary, Compaction, Replacement
from sapwood.events.ids import EntryId, SessionId
from sapwood.events.messages import FAILED, AssistantMessage
from sapwood.events.models import Model

T = TypeVar("T", covariant=True)


class Delivered(Wire, frozen=True, kw_only=True, tag_field="outcome", tag="delivered"):
    """The input is in the log under `entry_id`, and the run that took it up has settled."""

    entry_id: EntryId
    answer: AssistantMessage | None = None
    """The last answer of the run, a failed one too (see `failed`); None if it was interrupted before there was one."""
    turns: int = 0
    """Turns that ended in the run."""
    aborted: bool = False
    error: str | None = None
    """What broke the run behind the input, in words; None if it came to its end."""
    error_type: str | None = None
    """The name of that error's class: of a `StoreConflict` behind the input, `Session.restore` may be the way on."""
    unrecorded: AssistantMessage | None = None
    """An answer that came and is not in the log, since what broke the run kept it out."""

    @property
    def failed(self) -> bool:
        """Whether there is no whole answer: it is missing, it failed or was aborted, or something broke the run.

        Why is told by `error`, or by the answer's `stop_reason` and `error_message`.
        """
        return self.answer is None or self.answer.stop_reason in FAILED or self.aborted or self.error is not None


class Returned(Wire, frozen=True, kw_only=True, tag_field="outcome", tag="returned"):
    """The input is not in the log and is handed back whole."""

    text: str
    images: tuple[ImageContent, ...] = ()


class Withdrawn(Wire, frozen=True, kw_only=True, tag_field="outcome", tag="cancelled"):
    """The host took the input back before it was delivered."""

    text: str
    images: tuple[ImageContent, ...] = ()


class Failed(Wire, frozen=True, kw_only=True, tag_field="outcome", tag="failed"):
    """The input is not in the log, and why. It is handed back whole."""

    reason: str
    text: str
    images: tuple[ImageContent, ...] = ()


InputOutcome = Delivered | Returned | Withdrawn | Failed
"""Exactly one of these comes of each accepted input (R3)."""


class Command(
    Ask[T],
    Generic[T],
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
    tag_field="type",
):
    """Base of what a host may ask."""


class Input(Wire, frozen=True, kw_only=True):
    """Something that a person, or a host in a person's name, says to the model."""

    entry_id: EntryId
    """The id that its entry will have: picked when it is submitted, so that the log itself tells whether it was delivered."""
    text: str
    images: tuple[ImageContent, ...] = ()
    timestamp: int
    source: Literal["host", "extension"] = "host"
    """Who says it: extensions are told when they are asked about it."""

    @property
    def content(self) -> tuple[UserBlock, ...] | str:
        """As a user message holds it: plain text alone, or blocks when there are images."""
        return (TextContent(text=self.text), *self.images) if self.images else self.text


QueueName = Literal["steering", "follow_up"]
"""Steering enters after the current turn's tools, a follow-up when the run would end."""
QueueMode = Literal["one-at-a-time", "all"]
"""How many inputs of a queue enter at once (R3)."""


class QueuedInputs(Wire, frozen=True, kw_only=True):
    """What waits, oldest first."""

    steering: tuple[Input, ...] = ()
    follow_up: tuple[Input, ...] = ()


class Prompt(Command[None], frozen=True, kw_only=True, tag="prompt"):
    """Starts a run with this input. Refused while a run, a compaction or a navigation is on (R6)."""

    input: Input


class Steer(Command[None], frozen=True, kw_only=True, tag="steer"):
    """Enters after the current turn's tools (R3)."""

    input: Input


class FollowUp(Command[None], frozen=True, kw_only=True, tag="follow_up"):
    """Enters when the run would end (R3)."""

    input: Input


class Withdraw(Command[bool], frozen=True, kw_only=True, tag="withdraw"):
    """Takes an accepted input back; False if it is delivered already."""

    entry_id: EntryId


class Abort(Command[None], frozen=True, kw_only=True, tag="abort"):
    """Ends whatever is under way, and returns when it has settled (R4)."""


class Compacted(Wire, frozen=True, kw_only=True):
    """A compaction is in the log."""

    entry: Compaction
    tokens_after: int
    """What the context comes to now: our own count, for no report is of it yet."""
    returned: tuple[Returned, ...] = ()
    """What waited in the queues when a person asked for it, handed back (C15)."""


class Compact(Command[Compacted], frozen=True, kw_only=True, tag="compact"):
    """Summarises the past now (C15): stops the run that is on, and hands back what waits to be said."""

    entry_id: EntryId
    """The id that its entry will have: picked by who asks, so that it can be asked twice."""
    instructions: str | None = None
    ask_extensions: bool = True


class Navigated(Wire, frozen=True, kw_only=True):
    """The session stands where it was to go."""

    leaf: EntryId | None
    """The last entry, under which the next one hangs: what the move wrote, or what was there if nothing was to be done."""
    text: str = ""
    """What a person or an extension had said there, handed back to be said otherwise: the session stands before it (N1)."""
    images: tuple[ImageContent, ...] = ()
    summary: BranchSummary | None = None
    """As it is in the log."""


class Navigate(Command[Navigated], frozen=True, kw_only=True, tag="navigate"):
    """Moves to another place in the tree (N1)."""

    target: EntryId | None
    summarize: bool = False
    instructions: str | None = None
    replace_instructions: bool = False
    label: str | None = None
    answer: str | None = None
    ask_extensions: bool = True


class Forked(Wire, frozen=True, kw_only=True):
    """A session was copied to a new one (S15)."""

    path: str
    """The new session's file."""
    session_id: SessionId
    entries: int
    """How many were copied; behind them stands the marker that says so."""


class SetModel(Command[None], frozen=True, kw_only=True, tag="set_model"):
    entry_id: EntryId
    """The id that its entry will have, here and below: picked by who asks, so that who asks again after a crash gets one entry."""
    model: Model


class SetThinkingLevel(Command[None], frozen=True, kw_only=True, tag="set_thinking_level"):
    entry_id: EntryId
    level: str


class SetTools(Command[None], frozen=True, kw_only=True, tag="set_tools"):
    names: tuple[str, ...]


class Edit(Command[EntryId], frozen=True, kw_only=True, tag="edit"):
    """Hides an entry from the model (None) or gives it other content (P3)."""

    entry_id: EntryId
    target: EntryId
    replacement: Replacement | None


class SetLabel(Command[EntryId], frozen=True, kw_only=True, tag="label"):
    """Marks an entry; None takes the mark off."""

    entry_id: EntryId
    target: EntryId
    label: str | None


class AppendCustom(Command[EntryId], frozen=True, kw_only=True, tag="append_custom"):
    """Keeps state of an extension in the log; the model does not see it."""

    entry_id: EntryId
    custom_type: str
    data: Json = None


AnyCommand = (
    Prompt
    | Steer
    | FollowUp
    | Withdraw
    | Abort
    | Compact
    | Navigate
    | SetModel
    | SetThinkingLevel
    | SetTools
    | Edit
    | SetLabel
    | AppendCustom
)

SessionState = Literal["idle", "run", "compaction", "navigation"]
"""Who may change the tree right now; `idle` for nobody."""


class Snapshot(Wire, frozen=True, kw_only=True):
    """What a reader that was lost has to know to follow again."""

    state: SessionState
    leaf: EntryId | None
    entries: int
    """How many entries are committed; each can be read from the session."""
