"""What the model sees, entry by entry, and how full it is."""

from __future__ import annotations

import math
from typing import Final, Literal

import msgspec

from sapwood.events.base import Number, Wire
from sapwood.events.entries import ContextEdit, Entry
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message

Unsent = Literal["aborted", "failed", "result_of_unsent_call", "excluded", "empty"]
"""Why a selected message does not go out (P5)."""
Absent = Literal["compacted", "hidden", "silent", "unreadable"]
"""Why an entry of the path gives no message.

It is summarised away, hidden by an edit, of a kind that says nothing to the model, or of one that does and cannot be read.
"""
TokenSource = Literal["reported", "estimated", "none"]
"""What the size of a context goes by: what the provider reported with an answer; our own count; or a count that is no fact."""

CounterName = Literal["o200k_base", "cl100k_base", "heuristic"]
"""Who counts tokens: an encoding of OpenAI's, exactly; or a rule of thumb, four characters a token (T1, T2)."""
DEFAULT_COUNTER: Final[CounterName] = "o200k_base"
"""Exact for OpenAI's models, and near to others'; the heuristic is a third of the truth for Chinese (T2)."""


class ContextItem(Wire, frozen=True, kw_only=True):
    """One message of the selection (P1 to P3)."""

    entry_id: EntryId
    """The entry that it comes from; two messages may share one (a compaction gives prompt and summary)."""
    message: Message
    tokens: int
    """By the counter in use."""
    unsent: Unsent | None = None
    """None: it goes out."""


class Context(Wire, frozen=True, kw_only=True):
    """The selection of one path, oldest first."""

    leaf: EntryId | None
    items: tuple[ContextItem, ...]
    absent: dict[EntryId, Absent]
    """Entries of the path that give no message, and why."""
    gaps: dict[EntryId, str] = msgspec.field(default_factory=dict[EntryId, str])
    """Entries of the path above which history is lost, and the parent that each of them names (S7)."""
    thinking_level: str
    """`off` unless the path says otherwise."""
    model: tuple[str, str] | None
    """Provider and id that the path was last on."""
    counter: CounterName | None = None
    """Who counted the tokens of the items; None where there was nothing to count."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The selected messages alone."""
        return tuple(item.message for item in self.items)


class Selection(Wire, frozen=True, kw_only=True):
    """What goes to the model, and nothing of what it costs: nobody waits for a count to be asked a question."""

    messages: tuple[Message, ...]
    thinking_level: str


class Measured(Wire, frozen=True, kw_only=True):
    """How full a context is (T5): what decisions go by, and whether a person may be shown it as a fact."""

    tokens: int
    source: TokenSource
    counted: int
    """How many of them our own counter counted: what came since the report, or all of them."""
    counter: CounterName | None = None
    """Which counter that was; None where there was nothing for it to count."""

    @property
    def known(self) -> bool:
        """Whether anybody can know. False after a compaction, until a good answer came."""
        return self.source != "none"


class ContextUsage(Wire, frozen=True, kw_only=True):
    """How full the window is (T5). `str()` gives `41.2%/200000`, or `?/200000` while nobody can know."""

    tokens: int | None
    window: int

    @property
    def percent(self) -> Number | None:
        """Of the window; None while the tokens are unknown."""
        try:
            return None if self.tokens is None else self.tokens / self.window * 100
        except OverflowError:  # whoever made it may have said anything
            return math.inf

    def __str__(self) -> str:
        percent = self.percent
        return f"?/{self.window}" if percent is None else f"{percent:.1f}%/{self.window}"


class SelectedEntry(msgspec.Struct, frozen=True):
    """An entry of the selection and the messages that it gives."""

    place: int
    """On the path, from the root."""
    entry: Entry
    messages: tuple[Message, ...]
    """None of them for an entry that says nothing here, or that an edit hides."""
    edit: ContextEdit | None = None
    """The latest of the edits that came for it."""


class Surveyed(msgspec.Struct, frozen=True, kw_only=True):
    """The selection entry by entry, and what its end counts: what a cut is found in (C5)."""

    leaf: EntryId | None
    entries: tuple[SelectedEntry, ...]
    """In the order in which the model sees them: a compaction that speaks is the first."""
    tokens: tuple[int, ...]
    """Of the last entries, as many as were counted, oldest first."""
    measured: Measured
    """How full the context is."""
    compacted: bool
    """Whether the first entry is a compaction that speaks for what came before."""
    thinking_level: str
