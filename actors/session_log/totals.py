"""Sums over a log: what its calls were billed, and how much of what is in it (T6). No I/O of its own.

1. Every billed call is in them once: answers, failed ones too, results of tools that called a model, summaries, and usage entries.
2. They are of the whole log, all branches: nothing that is compacted or left makes them fall.
3. A pull costs what came since the last one.
4. What a file says of itself may be anything: a count or a cost that is below zero, no number or beyond all measure counts as nothing.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import msgspec

from sapwood.actors.readable import Readable
from sapwood.events.base import is_object
from sapwood.events.content import ToolCall
from sapwood.events.entries import BranchSummary, Compaction, Entry, MessageEntry, UsageEntry
from sapwood.events.messages import AssistantMessage, ToolResultMessage, Usage, UserMessage, is_amount
from sapwood.events.stats import NOTHING, SessionStats, Spent

UNKNOWN: Final = "unknown"


class Totals:
    """The sums of a growing log, kept up to date by pulling."""

    def __init__(self, view: Readable) -> None:
        self._view = view
        self._seen = 0
        self._counts: dict[str, int] = defaultdict(int)
        self._by_model: dict[str, Spent] = {}
        self._by_purpose: dict[str, Spent] = {}
        self._spent = NOTHING

    def stats(self) -> SessionStats:
        """The sums as the log stands now."""
        while self._seen < len(self._view):
            self._take(self._view.entry(self._seen))
            self._seen += 1  # a disk that fails in between leaves the sums whole
        return SessionStats(
            entries=self._seen,
            **self._counts,
            spent=self._spent,
            by_model=dict(self._by_model),
            by_purpose=dict(self._by_purpose),
        )

    def _take(self, entry: Entry) -> None:  # raises for nothing that a log can hold
        match entry:
            case MessageEntry(message=message):
                self._counts["messages"] += 1
                match message:
                    case AssistantMessage():
                        self._counts["answers"] += 1
                        self._counts["tool_calls"] += sum(isinstance(block, ToolCall) for block in message.content)
                        self._bill(message.usage, "turn", f"{message.provider}/{message.model}")
                    case ToolResultMessage():
                        self._counts["tool_results"] += 1
                        self._bill(message.usage, "tool")
                    case UserMessage():
                        self._counts["user_messages"] += 1
                    case _:
                        pass
            case Compaction():
                self._counts["compactions"] += 1
                self._bill(entry.usage, "compaction", _model_of(entry))
            case BranchSummary():
                self._bill(entry.usage, "branch_summary", _model_of(entry))
            case UsageEntry():
                self._bill(entry.usage, entry.kind, f"{entry.provider}/{entry.model}")
            case _:
                pass

    def _bill(self, usage: Usage | None, purpose: str, model: str = UNKNOWN) -> None:
        if usage is None:
            return
        spent = spent_of(usage)
        self._spent += spent
        self._by_model[model] = self._by_model.get(model, NOTHING) + spent
        self._by_purpose[purpose] = self._by_purpose.get(purpose, NOTHING) + spent


def spent_of(usage: Usage) -> Spent:
    """What one call was billed with."""
    cost = None if usage.cost is None or not usage.cost.known else usage.cost.total
    spent = Spent(
        calls=1,
        input=_tokens(usage.input),
        output=_tokens(usage.output),
        cache_read=_tokens(usage.cache_read),
        cache_write=_tokens(usage.cache_write),
        cost=cost if cost is not None and is_amount(cost) else None,
    )
    return msgspec.structs.replace(spent, unpriced=int(spent.cost is None and spent.total > 0))


def _model_of(summary: Compaction | BranchSummary) -> str:
    """Who wrote it: the entry itself has no place for that, so ours stands in the details."""
    details = None if summary.from_hook else summary.details
    model = details.get("model") if is_object(details) else None
    return model if isinstance(model, str) else UNKNOWN


def _tokens(count: int) -> int:
    return count if is_amount(count) else 0
