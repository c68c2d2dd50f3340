"""Sums over a log: what its calls were billed, and how much of what is in it (T6). No I/O of its own.

1. Every billed call is in them once: answers, failed ones too, results of tools that called a model, summaries, and usage entries.
2. They are of the whole log, all branches: nothing that is compacted or left makes them fall.
3. A pull costs what came since the last one.
4. What a fork has from its parent is told apart from its own (S15): by its marker, or, in a copy that another program made and did not
   mark, by the time at which it was made.
5. What a file says of itself may be anything: a count or a cost that is below zero, no number or beyond all measure counts as nothing.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, Protocol

import msgspec

from sapwood.actors.readable import Readable
from sapwood.events.base import is_object
from sapwood.events.content import ToolCall
from sapwood.events.entries import (
    FORK_MARKER,
    BranchSummary,
    Compaction,
    Custom,
    Entry,
    Header,
    MessageEntry,
    UsageEntry,
)
from sapwood.events.messages import AssistantMessage, ToolResultMessage, Usage, UserMessage, is_amount
from sapwood.events.stats import NOTHING, Billed, SessionStats, Spent
from sapwood.events.times import milliseconds
from sapwood.store.copying import copied_by

UNKNOWN: Final = "unknown"


class Log(Readable, Protocol):
    """The committed entries, and whose copy they are."""

    @property
    def header(self) -> Header: ...


class Totals:
    """The sums of a growing log, kept up to date by pulling."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._copied: int | None = None
        """How many entries the marker says were copied; None without one."""
        self._looked = 0
        """Entries of the markers' kind that were looked at."""
        self._begin()

    def _begin(self) -> None:
        self._seen = 0
        self._counts: dict[str, int] = defaultdict(int)
        self._all, self._own, self._inherited = _Sums(), _Sums(), _Sums()

    def stats(self) -> SessionStats:
        """The sums as the log stands now."""
        if self._log.header.parent_session is not None and self._is_marked_anew():
            self._begin()
        while self._seen < len(self._log):
            self._take(self._log.entry(self._seen))
            self._seen += 1  # a disk that fails in between leaves the sums whole
        everything = self._all.bill()
        return SessionStats(
            entries=self._seen,
            **self._counts,
            spent=everything.spent,
            by_model=everything.by_model,
            by_purpose=everything.by_purpose,
            own=self._own.bill(),
            inherited=self._inherited.bill(),
            counting=None,  # somebody else's to say
        )

    def _is_marked_anew(self) -> bool:
        """Whether there is a marker that was not there before. The last one counts: those before it were copied themselves."""
        places = self._log.tree.of_kind("custom")
        counts = (self._counted_by(place) for place in reversed(places[self._looked :]))
        count = next((one for one in counts if one is not None), None)
        self._looked = len(places)
        self._copied = self._copied if count is None else count
        return count is not None

    def _counted_by(self, place: int) -> int | None:
        match self._log.entry(place):
            case Custom(custom_type=kind, data=data) if kind == FORK_MARKER:
                return copied_by(data, place)
            case _:
                return None

    def _is_inherited(self, entry: Entry) -> bool:
        header = self._log.header
        if self._copied is not None:
            return self._seen < self._copied
        if header.parent_session is None:
            return False
        made, when = milliseconds(header.timestamp), milliseconds(entry.timestamp)
        return made is not None and when is not None and when < made

    def _take(self, entry: Entry) -> None:  # raises for nothing that a log can hold
        match entry:
            case MessageEntry(message=message):
                self._counts["messages"] += 1
                match message:
                    case AssistantMessage():
                        self._counts["answers"] += 1
                        self._counts["tool_calls"] += sum(isinstance(block, ToolCall) for block in message.content)
                        self._bill(entry, message.usage, "turn", f"{message.provider}/{message.model}")
                    case ToolResultMessage():
                        self._counts["tool_results"] += 1
                        self._bill(entry, message.usage, "tool")
                    case UserMessage():
                        self._counts["user_messages"] += 1
                    case _:
                        pass
            case Compaction():
                self._counts["compactions"] += 1
                self._bill(entry, entry.usage, "compaction", _model_of(entry))
            case BranchSummary():
                self._bill(entry, entry.usage, "branch_summary", _model_of(entry))
            case UsageEntry():
                self._bill(entry, entry.usage, entry.kind, f"{entry.provider}/{entry.model}")
            case _:
                pass

    def _bill(self, entry: Entry, usage: Usage | None, purpose: str, model: str = UNKNOWN) -> None:
        if usage is None:
            return
        spent = spent_of(usage)
        self._all.add(spent, purpose, model)
        (self._inherited if self._is_inherited(entry) else self._own).add(spent, purpose, model)


class _Sums:
    """A bill that grows."""

    def __init__(self) -> None:
        self._spent = NOTHING
        self._by_model: dict[str, Spent] = {}
        self._by_purpose: dict[str, Spent] = {}

    def add(self, spent: Spent, purpose: str, model: str) -> None:
        self._spent += spent
        self._by_model[model] = self._by_model.get(model, NOTHING) + spent
        self._by_purpose[purpose] = self._by_purpose.get(purpose, NOTHING) + spent

    def bill(self) -> Billed:
        return Billed(spent=self._spent, by_model=dict(self._by_model), by_purpose=dict(self._by_purpose))


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
