"""What a compaction would summarise and what it would keep (C5 to C7, C14). No I/O.

1. The range begins behind the compaction that speaks for what came before: what that one kept is summarised or kept now, exactly once,
   and its summary goes along (C7).
2. The prompt is no part of it: the entry carries the whole of it (C13).
3. A cut inside a turn gives two stretches: what came before the turn, and the turn's own beginning (C6).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from sapwood.actors.compaction.cut import find_cut
from sapwood.events.content import text_of
from sapwood.events.context import SelectedEntry, Surveyed
from sapwood.events.entries import BOOKKEEPING, Compaction, kind_of
from sapwood.events.errors import Refused
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message, SystemMessage, UserMessage

ALREADY: Final = "Already compacted"
TOO_SMALL: Final = "Nothing to compact (session too small)"


@attrs.frozen(kw_only=True)
class Plan:
    """One compaction, before anybody was asked for a summary."""

    first_kept: EntryId
    history: tuple[Message, ...]
    """What is summarised, but for the turn that the cut falls into."""
    turn_prefix: tuple[Message, ...]
    """The beginning of that turn."""
    is_split: bool
    previous: Compaction | None
    """The compaction whose summary goes along."""
    tokens_before: int
    thinking_level: str
    """The session's (C8)."""
    summarised: tuple[SelectedEntry, ...]
    """What the summary stands for, with what edits hide of it: from the compaction that speaks, if there is one, up to the cut."""
    kept: tuple[SelectedEntry, ...]
    """From the cut on."""

    @property
    def request(self) -> str | None:
        """What was asked for in the turn that is split, as text; None where nothing of it is."""
        said = next((text_of(one.content) for one in self.turn_prefix if isinstance(one, UserMessage)), "")
        return said or None


def plan(surveyed: Surveyed, keep: int) -> Plan | Refused:
    """The plan that keeps about so many tokens, or why there is none: in Pi's words (C14)."""
    entries, start = surveyed.entries, int(surveyed.compacted)
    if surveyed.compacted and not _has_news(entries[1:], entries[0].place):
        return Refused("already-compacted", ALREADY)
    cut = find_cut(entries, surveyed.tokens, start=start, keep=keep)
    if cut is None:
        return Refused("nothing-to-do", TOO_SMALL)
    turn = cut.at if cut.turn_start is None else cut.turn_start
    history, prefix = _said(entries[start:turn]), _said(entries[turn : cut.at])
    if not (history or prefix):
        return Refused("nothing-to-do", TOO_SMALL)
    return Plan(
        first_kept=entries[cut.at].entry.id,
        history=history,
        turn_prefix=prefix,
        is_split=cut.turn_start is not None,
        previous=_speaking(entries[0]) if surveyed.compacted else None,
        tokens_before=surveyed.measured.tokens,
        thinking_level=surveyed.thinking_level,
        summarised=entries[: cut.at],
        kept=entries[cut.at :],
    )


def _has_news(behind: Sequence[SelectedEntry], place: int) -> bool:
    """Whether more than bookkeeping came behind the compaction: what it kept stands before it."""
    return any(one.place > place and kind_of(one.entry) not in BOOKKEEPING for one in behind)


def _speaking(head: SelectedEntry) -> Compaction | None:
    """The compaction at the head, unless somebody has hidden it."""
    return head.entry if isinstance(head.entry, Compaction) and head.messages else None


def _said(entries: Iterable[SelectedEntry]) -> tuple[Message, ...]:
    return tuple(message for one in entries for message in one.messages if not isinstance(message, SystemMessage))
