"""Messages: what was said, by whom, and what it cost."""

from __future__ import annotations

from typing import Final, Literal, Self

import msgspec

from sapwood.events.base import Json, Number, Wire
from sapwood.events.content import AssistantBlock, TextContent, UserBlock, UserContent
from sapwood.events.errors import Refused, shown
from sapwood.events.ids import EntryId, ToolCallId

StopReason = Literal["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"]
FAILED: frozenset[StopReason] = frozenset({"error", "aborted"})
"""Answers that are kept in the log and never sent again (P5)."""


TOO_MUCH: Final = 10**12
"""What one call cannot take, of tokens or of money: a file and a provider may say anything. So sums stay finite, and JSON can hold them."""


def is_amount(number: Number) -> bool:
    """Whether one call can have taken so many tokens, or cost so much."""
    return 0 <= number < TOO_MUCH


class Cost(Wire, frozen=True, kw_only=True):
    """In the currency of the price list (US dollars for the catalogue's prices)."""

    input: Number
    output: Number
    cache_read: Number
    cache_write: Number
    total: Number
    total_from_provider: bool | None = None
    known: bool = True
    """False: nobody knows the price, and the zeros stand for that; Pi's own sums need numbers there (M8)."""


class Usage(Wire, frozen=True, kw_only=True):
    """Tokens, as the provider reported them."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_1h: int | None = msgspec.field(default=None, name="cacheWrite1h")
    """Named by hand: the rule would write `cacheWrite1H`."""
    reasoning: int | None = None
    total_tokens: int | None = None
    """Files of 2025 lack it."""
    cost: Cost | None = None
    """None where a provider reports no price; an answer is written with `UNKNOWN_COST` then: zeros, marked as unknown (M8)."""

    # The four counts have no defaults: a default is left out of a line, where Pi needs it, or filled into another writer's that lacks it.
    @classmethod
    def of(
        cls,
        *,
        input: int,  # noqa: A002 - the field's own name
        output: int,
        cache_read: int = 0,
        cache_write: int = 0,
        reasoning: int | None = None,
        total_tokens: int | None = None,
        cost: Cost | None = None,
    ) -> Self:
        """What a provider reports, which may know of no cache. The same fields, zeros where it says nothing.

        `Refused` for what no call can have taken.
        """
        counts = {"input": input, "output": output, "cache_read": cache_read, "cache_write": cache_write}
        for field, count in {**counts, "reasoning": reasoning, "total_tokens": total_tokens}.items():
            if (count is not None or field in counts) and not (type(count) is int and is_amount(count)):
                raise Refused("bad-input", f"Usage.of({field}=…) is a number of tokens from 0 on, not {shown(count)}")
        if cost is not None and not isinstance(cost, Cost):
            raise Refused("bad-input", f"Usage.of(cost=…) is a Cost, or None, not {shown(cost)}")
        return cls(
            input=input,
            output=output,
            cache_read=cache_read,
            cache_write=cache_write,
            reasoning=reasoning,
            total_tokens=total_tokens,
            cost=cost,
        )


COUNTS: Final = tuple(field.name for field in msgspec.structs.fields(Usage) if field.name != "cost")
"""The fields of a usage that are counts of tokens: each is one by `is_amount`, or says nothing."""


class ToolDefinition(Wire, frozen=True, kw_only=True):
    name: str
    description: str
    parameters: Json
    constrained_sampling: Json = None


class ToolReference(Wire, frozen=True, kw_only=True):
    name: str


class Said(Wire, frozen=True, kw_only=True, tag_field="role"):
    """Base of the messages."""

    @property
    def role(self) -> str:
        """Who says it, as on the wire: `user`, `assistant`, `toolResult` …"""
        return str(self.__struct_config__.tag)


class SystemMessage(Said, frozen=True, kw_only=True, tag="system"):
    """A change to the prompt and the tools; replaying all of a path gives the present ones (P7)."""

    content: str | tuple[TextContent, ...]
    sections: dict[str, str | None] | None = None
    tools_added: tuple[ToolDefinition, ...] | None = None
    tools_removed: tuple[ToolReference, ...] | None = None
    timestamp: int


class UserMessage(Said, frozen=True, kw_only=True, tag="user"):
    content: UserContent
    timestamp: int


class DeferredAnswer(Wire, frozen=True, kw_only=True):
    provider: str
    model_id: str
    api: str
    id: str
    expires_at: Number | None = None
    poll_after_ms: Number | None = None
    data: Json = None


class AssistantMessage(Said, frozen=True, kw_only=True, tag="assistant"):
    content: tuple[AssistantBlock, ...]
    api: str
    provider: str
    model: str
    response_model: str | None = None
    response_id: str | None = None
    provider_thinking_level: str | None = None
    thinking_level: str | None = None
    diagnostics: Json = None
    usage: Usage
    stop_reason: StopReason
    deferred: DeferredAnswer | None = None
    error_message: str | None = None
    raw_stop_reason: str | None = None
    end_turn: bool | None = None
    timestamp: int
    """Unix milliseconds when the request started."""
    duration_ms: Number | None = None


class ToolResultMessage(Said, frozen=True, kw_only=True, tag="toolResult"):
    tool_call_id: ToolCallId
    tool_name: str
    content: tuple[UserBlock, ...]
    details: Json = None
    usage: Usage | None = None
    nested_calls: Json = None
    is_error: bool
    useless: bool | None = None
    """The tool's own word that nobody will need this again (R2, N4)."""
    timestamp: int
    duration_ms: Number | None = None


class BashExecutionMessage(Said, frozen=True, kw_only=True, tag="bashExecution"):
    """A command that the person ran, not the model."""

    command: str
    output: str
    exit_code: int | None = None
    cancelled: bool
    truncated: bool
    full_output_path: str | None = None
    exclude_from_context: bool | None = None
    timestamp: int


class CustomMessage(Said, frozen=True, kw_only=True, tag="custom"):
    """An extension's message: the model reads it as a user's."""

    custom_type: str
    content: UserContent
    display: bool
    details: Json = None
    timestamp: int


class BranchSummaryMessage(Said, frozen=True, kw_only=True, tag="branchSummary"):
    """Derived from a branch_summary entry; never stored as a message."""

    summary: str
    from_id: EntryId | Literal["root"] | None
    timestamp: int


class CompactionSummaryMessage(Said, frozen=True, kw_only=True, tag="compactionSummary"):
    """Derived from a compaction entry; never stored as a message."""

    summary: str
    tokens_before: int
    timestamp: int


StoredMessage = (
    SystemMessage | UserMessage | AssistantMessage | ToolResultMessage | BashExecutionMessage | CustomMessage
)
"""What a `message` entry may hold."""

Message = (
    SystemMessage
    | UserMessage
    | AssistantMessage
    | ToolResultMessage
    | BashExecutionMessage
    | CustomMessage
    | BranchSummaryMessage
    | CompactionSummaryMessage
)
"""What a projection may hold."""

UNKNOWN_COST = Cost(input=0, output=0, cache_read=0, cache_write=0, total=0, known=False)

NO_USAGE = Usage(input=0, output=0, cache_read=0, cache_write=0, total_tokens=0, cost=UNKNOWN_COST)
"""For an attempt that ended before anything was billed."""
