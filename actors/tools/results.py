"""What came of a call, as the model and the log are told it. No I/O.

1. Every call gets exactly one result. One that did not run, or was stopped, says so in words that leave no doubt.
2. Whatever a function returns is made fit to be kept: it is a result, or the reason why it is none.
3. What a tool was billed is kept with either: it was paid for (T6).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import attrs
import msgspec

from sapwood.events.base import Json, Number
from sapwood.events.codec import why_unwritable
from sapwood.events.content import ImageContent, TextContent, ToolCall, UserBlock, mended, without_surrogates
from sapwood.events.fitting import fitting
from sapwood.events.messages import ToolResultMessage, Usage

UNSTARTED: Final = "This call did not run: the run was stopped before it began. Nothing came of it."
INTERRUPTED: Final = (
    "This call was stopped while it ran. It may have had effects, in part or as a whole: check before you repeat it."
)
LEFT_BEHIND: Final = (
    "This call was told to stop while it ran, and did not. It may go on having effects that nobody sees: "
    "check before you repeat it."
)
TRUNCATED: Final = (
    "This call did not run: the answer that makes it was cut off at its limit of length, so its arguments may not be all there. "
    "Make the call again, and split up what is long."
)
BROKEN: Final = (
    "What ran this call broke before its result was known. It may have had effects, in part or as a whole: "
    "check before you repeat it."
)


@attrs.frozen(kw_only=True)
class ToolResult:
    """What a tool returns that has more to say than its content."""

    content: str | UserBlock | Sequence[str | UserBlock] = ()
    details: Json = None
    """For the log and for those who watch; the model does not see it."""
    is_error: bool = False
    useless: bool = False
    """Nobody will need it again: a summary may leave it out (N4)."""
    terminate: bool = False
    """The run may stop here; it does if every result of the answer's calls says so."""
    usage: Usage | None = None
    """What the tool itself was billed."""


@attrs.frozen(kw_only=True)
class CallOutcome:
    """What came of one call."""

    content: tuple[UserBlock, ...]
    is_error: bool
    details: Json = None
    useless: bool = False
    terminate: bool = False
    usage: Usage | None = None


def failed(words: str) -> CallOutcome:
    """A result that is none, and why."""
    return CallOutcome(content=(TextContent(text=words),), is_error=True)


def unknown_tool(name: str, known: Sequence[str]) -> CallOutcome:
    there = f"The tools are: {', '.join(known)}." if known else "There are none."
    return failed(f"There is no tool called {name!r}. {there}")


def of_returned(value: object) -> CallOutcome:
    """What a function returned, as a result."""
    usage: Usage | None = None
    try:
        if isinstance(value, ToolResult):
            usage = _usage(value.usage)
            return CallOutcome(
                content=_blocks(value.content),
                is_error=bool(value.is_error),
                details=plain_json(value.details),
                useless=bool(value.useless),
                terminate=bool(value.terminate),
                usage=usage,
            )
        return CallOutcome(content=_blocks(value), is_error=False)
    except (TypeError, ValueError, RecursionError, OverflowError) as fault:
        why = failed(f"The tool ran, and what it returned is no result: {without_surrogates(str(fault))}")
        return attrs.evolve(why, usage=usage)


def message_of(
    call: ToolCall, outcome: CallOutcome, *, timestamp: int, duration_ms: Number | None
) -> ToolResultMessage:
    """As it is recorded. What cannot be kept of it is an error that says so, whatever it is."""
    message = ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        content=outcome.content,
        details=outcome.details,
        usage=outcome.usage,
        is_error=outcome.is_error,
        useless=outcome.useless or None,
        timestamp=timestamp,
        duration_ms=duration_ms,
    )
    why_not = why_unwritable(message)
    if why_not is None:
        return message
    why = failed(f"The tool ran, and its result cannot be kept: {why_not}")
    rest = msgspec.structs.replace(message, content=why.content, details=None, is_error=True)
    return rest if why_unwritable(rest) is None else msgspec.structs.replace(rest, usage=None)


def _blocks(value: object) -> tuple[UserBlock, ...]:
    match value:
        case None:
            return ()
        case str():
            return (TextContent(text=without_surrogates(value)),)
        case TextContent() | ImageContent():
            return (fitting(value, UserBlock),)
        case list() | tuple() if all(isinstance(one, str | TextContent | ImageContent) for one in _items(value)):
            return tuple(block for one in _items(value) for block in _blocks(one))
        case _:
            return (TextContent(text=msgspec.json.encode(plain_json(value)).decode()),)


def _usage(value: object) -> Usage | None:
    try:
        usage: Usage | None = fitting(value, Usage | None)
    except ValueError as fault:
        raise ValueError(f"its usage: {fault}") from fault
    return usage


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value)


def plain_json(value: object) -> Json:
    """A copy that is JSON. Raises what msgspec raises for what is none."""
    plain: Any = msgspec.to_builtins(value, str_keys=True)
    return mended(plain)
