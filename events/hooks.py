"""Questions to extensions, and the answers that each may get.

A question is not news: its handlers are asked in order and what they answer changes what happens. The type of the answer is tied to
the type of the question, so a checker refuses a wrong one. None, or no answer, always means: as you would have done.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from sapwood.events.asking import Ask
from sapwood.events.base import Json, Wire
from sapwood.events.content import ImageContent, UserBlock, UserContent
from sapwood.events.entries import Replacement
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import AssistantMessage, Message, ToolResultMessage, Usage
from sapwood.events.runtime import CompactionReason

A = TypeVar("A", covariant=True)

TurnOutcome = Literal["completed", "error"]
"""How a turn, or the last one of a run, ended. Of one that was stopped nobody is asked (R4)."""
Source = Literal["host", "extension"]
"""Who says an input."""


class Question(
    Ask[A],
    Generic[A],
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
    tag_field="type",
):
    """Base of every question; `A` is what a handler may answer."""


class Cancel(Wire, frozen=True, kw_only=True, tag_field="answer", tag="cancel"):
    """It shall not happen."""

    reason: str = ""
    by: str = ""
    """The extension that says so; filled in for it."""


class ProvideSummary(Wire, frozen=True, kw_only=True, tag_field="answer", tag="summary"):
    """Use this summary in the place of a model's. It is checked before it is stored (C18)."""

    text: str
    first_kept: EntryId | Literal["nothing"] | None = None
    """For a compaction: where the kept part begins; None leaves it where the plan has it."""
    usage: Usage | None = None
    details: Json = None


class TreeAnswer(Wire, frozen=True, kw_only=True, tag_field="answer", tag="tree"):
    """Another summary, other instructions or a label for a navigation (N6)."""

    summary: str | None = None
    instructions: str | None = None
    replace_instructions: bool | None = None
    label: str | None = None
    usage: Usage | None = None
    details: Json = None


class Block(Wire, frozen=True, kw_only=True, tag_field="answer", tag="block"):
    """The tool shall not run; the model reads the reason."""

    reason: str = "Tool execution was blocked"
    terminate: bool = False


class ChangeArguments(Wire, frozen=True, kw_only=True, tag_field="answer", tag="arguments"):
    """Run the tool with these arguments; they are validated again."""

    arguments: dict[str, Json]


class ChangeResult(Wire, frozen=True, kw_only=True, tag_field="answer", tag="result"):
    """Only what is given changes."""

    content: tuple[UserBlock, ...] | None = None
    details: Json = None
    is_error: bool | None = None
    usage: Usage | None = None
    """What the change itself was billed: it is added to the tool's own."""


class ChangeMessages(Wire, frozen=True, kw_only=True, tag_field="answer", tag="messages"):
    """Send these messages in the place of the ones shown."""

    messages: tuple[Message, ...]


class ChangeMessage(Wire, frozen=True, kw_only=True, tag_field="answer", tag="message"):
    """Keep this message, of the same role, in the place of the one shown."""

    message: Message


class ChangeInput(Wire, frozen=True, kw_only=True, tag_field="answer", tag="input"):
    """Take the input as if this had been typed."""

    text: str
    images: tuple[ImageContent, ...] | None = None


class Handled(Wire, frozen=True, kw_only=True, tag_field="answer", tag="handled"):
    """The extension did what was asked: the model is not called and nothing is recorded. Whoever said it gets `Refused("handled", …)`."""

    reason: str = ""
    """What is told to whoever said it."""
    by: str = ""
    """The extension that says so; filled in for it."""


class DraftState(Wire, frozen=True, kw_only=True, tag_field="draft", tag="custom"):
    """State of the extension, to be kept in the log as a `custom` entry; the model does not see it."""

    custom_type: str
    data: Json = None


class DraftMessage(Wire, frozen=True, kw_only=True, tag_field="draft", tag="custom_message"):
    """A message of the extension, to be kept as a `custom_message` entry; the model reads it as a user's."""

    custom_type: str
    content: UserContent
    display: bool = True
    """Whether it is meant for people as well."""
    details: Json = None


class DraftEdit(Wire, frozen=True, kw_only=True, tag_field="draft", tag="context_edit"):
    """Hide an entry from the model (None), or let it see other content (P3)."""

    target_id: EntryId
    replacement: Replacement | None = None


class DraftLabel(Wire, frozen=True, kw_only=True, tag_field="draft", tag="label"):
    """Mark an entry; None takes the mark off."""

    target_id: EntryId
    label: str | None = None


Draft = DraftState | DraftMessage | DraftEdit | DraftLabel
"""An entry that an extension has written: it gets its id, its time and its place when it is appended."""


class AddBeforeStart(Wire, frozen=True, kw_only=True, tag_field="answer", tag="before_start"):
    """Messages to add behind what was said, or a system prompt that goes out in the place of the composed one in this run."""

    messages: tuple[DraftMessage, ...] = ()
    system_prompt: str | None = None


class Boundary(Wire, frozen=True, kw_only=True, tag_field="answer", tag="boundary"):
    """Entries to append at a boundary of the run, and whether to go on."""

    entries: tuple[Draft, ...] | None = None
    go_on: bool | None = None
    """True: another request, if there is something new to answer. False: none, but for what waits to be said. None: as it would have."""


class ChangeHeaders(Wire, frozen=True, kw_only=True, tag_field="answer", tag="headers"):
    """Headers to set; None takes one away."""

    headers: dict[str, str | None]


class ChangePayload(Wire, frozen=True, kw_only=True, tag_field="answer", tag="payload"):
    """Send this body in the place of the one shown."""

    payload: Json


class CompactionPreparation(Wire, frozen=True, kw_only=True):
    """Everything that a summary can be made from (C18)."""

    messages_to_summarize: tuple[Message, ...]
    turn_prefix_messages: tuple[Message, ...]
    is_split_turn: bool
    previous_summary: str | None = None
    read_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()
    tokens_before: int
    first_kept_entry_id: EntryId | None
    settings: dict[str, Json]
    """The effective ones, overrides applied."""


class SessionBeforeCompact(
    Question[Cancel | ProvideSummary | None], frozen=True, kw_only=True, tag="session_before_compact"
):
    preparation: CompactionPreparation
    branch_entry_ids: tuple[EntryId, ...]
    custom_instructions: str | None = None
    reason: CompactionReason
    will_retry: bool


class TreePreparation(Wire, frozen=True, kw_only=True):
    """What a navigation is about to do (N6)."""

    target_id: EntryId | None
    old_leaf_id: EntryId | None
    common_ancestor_id: EntryId | None
    entry_ids_to_summarize: tuple[EntryId, ...]
    user_wants_summary: bool
    custom_instructions: str | None = None
    replace_instructions: bool = False
    label: str | None = None


class SessionBeforeTree(Question[Cancel | TreeAnswer | None], frozen=True, kw_only=True, tag="session_before_tree"):
    preparation: TreePreparation


class SessionBeforeFork(Question[Cancel | None], frozen=True, kw_only=True, tag="session_before_fork"):
    entry_id: EntryId | None
    whole_tree: bool


class SessionStart(Question[None], frozen=True, kw_only=True, tag="session_start"):
    reason: Literal["new", "resume", "fork"]


class SessionShutdown(Question[None], frozen=True, kw_only=True, tag="session_shutdown"):
    """Asked exactly once for each `session_start` (H4)."""


class InputReceived(Question[ChangeInput | Handled | None], frozen=True, kw_only=True, tag="input"):
    text: str
    images: tuple[ImageContent, ...] = ()
    source: Source


class BeforeAgentStart(Question[AddBeforeStart | None], frozen=True, kw_only=True, tag="before_agent_start"):
    prompt: str
    images: tuple[ImageContent, ...] = ()
    sections: dict[str, str]


class ContextQuestion(Question[ChangeMessages | None], frozen=True, kw_only=True, tag="context"):
    """The messages of the next request, without the system's."""

    messages: tuple[Message, ...]


class ContextWithSystem(Question[ChangeMessages | None], frozen=True, kw_only=True, tag="context_with_system"):
    messages: tuple[Message, ...]


class BeforeMessageAppend(Question[ChangeMessage | None], frozen=True, kw_only=True, tag="before_message_append"):
    """Asked before what a user, the model or a tool said is in the log; `message_end` only tells (R1)."""

    message: Message


class BeforeTurnEnd(Question[Boundary | None], frozen=True, kw_only=True, tag="before_turn_end"):
    """Asked before `turn_end` is told, of a turn that nobody stopped. `go_on` counts where it completed."""

    turn_index: int
    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]
    outcome: TurnOutcome


class AgentBeforeSettle(Question[Boundary | None], frozen=True, kw_only=True, tag="agent_before_settle"):
    """Asked before `agent_settled` is told, of a run that nobody stopped. `go_on` counts where it completed."""

    outcome: TurnOutcome


class BeforeProviderHeaders(Question[ChangeHeaders | None], frozen=True, kw_only=True, tag="before_provider_headers"):
    header_names: tuple[str, ...]
    """Names alone: a key is never shown (M1)."""


class BeforeProviderRequest(Question[ChangePayload | None], frozen=True, kw_only=True, tag="before_provider_request"):
    payload: Json


class AfterProviderResponse(Question[None], frozen=True, kw_only=True, tag="after_provider_response"):
    status: int
    headers: dict[str, str]


class ProviderStreamEvent(Question[None], frozen=True, kw_only=True, tag="provider_stream_event"):
    provider: str
    api: str
    model: str
    data: Json


class ToolCallQuestion(Question[Block | ChangeArguments | None], frozen=True, kw_only=True, tag="tool_call"):
    """Fails closed: a handler that raises blocks the call (H2)."""

    tool_name: str
    tool_call_id: ToolCallId
    arguments: dict[str, Json]


class ToolResultQuestion(Question[ChangeResult | None], frozen=True, kw_only=True, tag="tool_result"):
    tool_name: str
    tool_call_id: ToolCallId
    content: UserContent
    details: Json = None
    is_error: bool


AnyQuestion = (
    SessionBeforeCompact
    | SessionBeforeTree
    | SessionBeforeFork
    | SessionStart
    | SessionShutdown
    | InputReceived
    | BeforeAgentStart
    | ContextQuestion
    | ContextWithSystem
    | BeforeMessageAppend
    | BeforeTurnEnd
    | AgentBeforeSettle
    | BeforeProviderHeaders
    | BeforeProviderRequest
    | AfterProviderResponse
    | ProviderStreamEvent
    | ToolCallQuestion
    | ToolResultQuestion
)
