"""How full a context is, and what that goes by (T3, T5). No I/O.

`basis_of` says whether a report is believed and which messages are to be counted besides; `measured` makes the sum. Both the display and
what decides on a compaction go this way: there is no other one to a number.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sapwood.events.context import CounterName, Measured, TokenSource
from sapwood.events.failures import was_changed
from sapwood.events.messages import FAILED, AssistantMessage, Message, Usage, is_amount


def context_tokens(usage: Usage) -> int:
    """What a request with this usage left in the context; 0 where it says nothing of that, or what no request can have left there."""
    parts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    counts = (usage.total_tokens,) if usage.total_tokens else parts
    return sum(counts) if all(map(is_amount, counts)) else 0


def believable(message: Message) -> Usage | None:
    """The usage of an answer that neither failed nor was cut off by hand, and reports what can be."""
    match message:
        case AssistantMessage(stop_reason=reason, usage=usage) if reason not in FAILED and context_tokens(usage) > 0:
            return usage
        case _:
            return None


@attrs.frozen(kw_only=True)
class Report:
    """The newest usage of a selection that can be believed."""

    place: int
    """Where its entry stands on the path."""
    asked: int
    """Where the last entry stands that its request can have had; -1 if there is none."""
    usage: Usage
    following: int
    """How many messages of the selection stand behind it."""


@attrs.frozen
class Basis:
    """What the size of a context goes by."""

    source: TokenSource
    following: int
    """How many messages our own counter must count: those behind the report, or all."""
    reported: int = 0
    """What the provider counted of those before them."""


def basis_of(report: Report | None, said: int, *, compaction: int | None, edits: Sequence[tuple[int, int]]) -> Basis:
    """What to go by (T3): the newest report or none, for an older one counted less of what is there.

    Args:
        report: None if the selection has none.
        said: how many messages the selection has.
        compaction: where the compaction at its head stands on the path. An older answer's usage says nothing of this context.
        edits: (target, edit) of each edit that shows in it. A usage from the target on, and from before the edit, counted what is no
            longer there; and so did one whose request was on its way when the edit came.
    """
    if report is None or (compaction is not None and report.place <= compaction):
        return Basis("estimated" if compaction is None else "none", said)
    if any(target <= report.place < edit or target <= report.asked < edit < report.place for target, edit in edits):
        return Basis("estimated", said)
    return Basis("reported", report.following, context_tokens(report.usage))


def is_of_another_request(message: Message) -> bool:
    """Whether what it reports is of a request that extensions had changed: smaller than what the log says, perhaps."""
    return isinstance(message, AssistantMessage) and was_changed(message)


def measured(basis: Basis, counted: int, counter: CounterName | None, *, least: int = 0) -> Measured:
    """How full the context is (T5), given the tokens of all that follows and who counted them.

    `least`: what all of it counts, where the report is of another request: then the larger of the two is taken (T3).
    """
    return Measured(tokens=max(basis.reported + counted, least), source=basis.source, counted=counted, counter=counter)
