"""What a provider says, as far as it can be kept. No I/O.

1. A piece is checked before anybody sees it, field by field; a good one costs a look at its types.
2. What cannot be kept of an end is left out and what can is kept: the answer has failed, and says which fields (M2).
3. Whether something can be kept is for `why_unwritable` to say.
4. Half a character is no fault: two halves that meet in the answer are one character, and one that is left is replaced (S12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast, get_args

import msgspec

from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.events.base import Number, is_array
from sapwood.events.codec import why_unwritable
from sapwood.events.content import AssistantBlock, ToolCall, without_surrogates
from sapwood.events.deltas import (
    Delta,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from sapwood.events.errors import ProviderError, shown
from sapwood.events.failures import Failure
from sapwood.events.fitting import fitting
from sapwood.events.messages import (
    COUNTS,
    NO_USAGE,
    TOO_MUCH,
    UNKNOWN_COST,
    AssistantMessage,
    StopReason,
    Usage,
    is_amount,
)

T = TypeVar("T")

_TEXTS: Final[Mapping[type, tuple[str, ...]]] = {
    TextStart: (),
    TextDelta: ("delta",),
    TextEnd: ("content",),
    ThinkingStart: (),
    ThinkingDelta: ("delta",),
    ThinkingEnd: ("content",),
    ToolCallStart: ("id", "tool_name"),
    ToolCallDelta: ("delta",),
    ToolCallEnd: (),
    Finish: (),
}
"""The pieces, and the fields of each that are text and are told while the answer streams."""
ENDS: Final = tuple(reason for reason in get_args(StopReason) if reason != "pending")
"""How an answer may end; `pending` is how it begins."""
LAST_INDEX: Final = 2**53 - 1
"""The largest whole number that every reader of JSON reads exactly."""


class BadPiece(ProviderError):
    """A provider says what cannot be kept: a fault of its code, and not of the world that it speaks to."""

    def __init__(self, what: str, faults: Sequence[str]) -> None:
        super().__init__(without_surrogates(f"the provider's {what} cannot be kept: {'; '.join(faults)}"))
        self.faults = tuple(faults)


def is_plain(at: object, text: object) -> bool:
    """Whether a delta that stands there is good as it is, and is told as it is."""
    return type(at) is int and 0 <= at <= LAST_INDEX and type(text) is str and text.isascii()


def checked(piece: object) -> Piece:
    """The piece; what of it could change later is a copy. Raises `BadPiece`, which names the field. Of an end nothing is checked here."""
    kind = _kind(piece)
    if kind is None:
        raise BadPiece(_name(piece), ["a provider yields pieces of an answer and at last a Finish"])
    good = cast("Piece", piece)
    if isinstance(good, Finish):
        return good
    at = good.content_index
    if type(at) is not int or not 0 <= at <= LAST_INDEX:
        seen = shown(at) if type(at) is int else _name(at)
        raise BadPiece(_name(good), [f"content_index: expected a whole number from 0 to {LAST_INDEX}, got {seen}"])
    for field in _TEXTS[kind]:
        text = getattr(good, field)
        if not isinstance(text, str):
            raise BadPiece(_name(good), [f"{field}: expected str, got {_name(text)}"])
    return _with_a_copy(good) if isinstance(good, ToolCallEnd) else good


def told(piece: Delta) -> Delta:
    """The piece as it can be written, for who reads along; two halves of a character that stand in two pieces are replaced here."""
    kind = _kind(piece)
    changes: dict[str, str] = {}
    for field in () if kind is None else _TEXTS[kind]:
        text: str = getattr(piece, field)
        good = without_surrogates(text)
        if good is not text:
            changes[field] = good
    return msgspec.structs.replace(piece, **changes) if changes else piece


def _with_a_copy(piece: ToolCallEnd) -> ToolCallEnd:
    try:
        call: ToolCall = _block(piece.tool_call, ToolCall)
    except ValueError as fault:
        raise BadPiece(_name(piece), [f"tool_call: {fault}"]) from fault
    return msgspec.structs.replace(piece, tool_call=call)


def sound(finish: Finish, streamed: Mapping[int, AssistantBlock]) -> tuple[Finish, BadPiece | None]:
    """The end as it can be kept, and what was wrong with it. In the place of a block that cannot be kept stands what streamed there."""
    faults: list[str] = []

    def good(field: str, read: Callable[[], T], otherwise: T) -> T:
        try:
            return read()
        except ValueError as fault:
            faults.append(f"{field}: {fault}")
            return otherwise

    def plain(field: str, type_: Any) -> Any:
        return good(field, lambda: _writable(field, fitting(getattr(finish, field), type_)), None)

    def block(at: int, given: object) -> AssistantBlock | None:
        return good(f"content[{at}]", lambda: _block(given, AssistantBlock), streamed.get(at))

    def blocks() -> tuple[AssistantBlock, ...] | None:
        given: object = finish.content
        if given is None:
            return None
        if not is_array(given):
            raise ValueError(f"expected an array of blocks, got {_name(given)}")
        return tuple(one for at, item in enumerate(given) if (one := block(at, item)) is not None)

    content = good("content", blocks, None)
    reason: StopReason = good("stop_reason", lambda: _end(finish.stop_reason), "error")
    usage = good("usage", lambda: _writable("usage", _whole(_counted(fitting(finish.usage, Usage)))), NO_USAGE)
    error_message: str | None = plain("error_message", str | None)
    others = {
        "response_model": plain("response_model", str | None),
        "response_id": plain("response_id", str | None),
        "raw_stop_reason": plain("raw_stop_reason", str | None),
        "failure": good("failure", lambda: fitting(finish.failure, Failure | None), None),
        "duration_ms": plain("duration_ms", Number | None),
    }
    fault = BadPiece(_name(finish), faults) if faults else None
    if fault is not None:
        reason, error_message = "error", str(fault) if error_message is None else f"{error_message}; {fault}"
    kept = Finish(stop_reason=reason, content=content, usage=usage, error_message=error_message, **others)
    return kept, fault


def _kind(piece: object) -> type | None:
    """Which piece it is, if it is one: what a host derives from one is that one."""
    kind = type(piece)
    return kind if kind in _TEXTS else next((one for one in _TEXTS if isinstance(piece, one)), None)


def _end(reason: object) -> StopReason:
    try:
        read: StopReason = fitting(reason, StopReason)
        if read in ENDS:
            return read
        fault = f"{read} is no end"
    except ValueError as error:
        fault = str(error)
    raise ValueError(f"{fault} (an answer ends with {', '.join(ENDS)})")


def _block(block: object, type_: Any) -> Any:
    return _writable("content", (fitting(block, type_),))[0]


def _counted(usage: Usage) -> Usage:
    """The usage, if each of its counts can be one. `ValueError` names the first that cannot."""
    for field in COUNTS:
        tokens: int | None = getattr(usage, field)
        if tokens is not None and not is_amount(tokens):
            raise ValueError(f"{field}: expected tokens from 0 to {TOO_MUCH - 1}, got {shown(tokens)}")
    return usage


def _whole(usage: Usage) -> Usage:
    """With the sum and the prices that other readers of the file add up; what nobody knows is marked so (M8)."""
    total = usage.total_tokens
    if total is None:
        total = usage.input + usage.output + usage.cache_read + usage.cache_write
    return msgspec.structs.replace(usage, total_tokens=total, cost=usage.cost or UNKNOWN_COST)


_NOTHING: Final = AssistantMessage(
    content=(), api="", provider="", model="", usage=NO_USAGE, stop_reason="error", timestamp=0
)


def _writable(field: str, value: T) -> T:
    """The value, if an answer with it can be written. `ValueError` says why it cannot."""
    why_not = why_unwritable(msgspec.structs.replace(_NOTHING, **{field: value}))
    if why_not is not None:
        raise ValueError(why_not)
    return value


def _name(value: object) -> str:
    return type(value).__name__
