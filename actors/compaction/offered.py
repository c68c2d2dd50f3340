"""Whether a summary that an extension gave can be used (C18). No I/O."""

from __future__ import annotations

from sapwood.actors.summaries.contract import LONGEST
from sapwood.events.context import Surveyed
from sapwood.events.entries import MessageEntry
from sapwood.events.hooks import ProvideSummary
from sapwood.events.messages import ToolResultMessage


def unfit_text(text: str) -> str | None:
    """Why a text is no summary, in words; None for one that is."""
    if not text.strip():
        return "its text is empty"
    if len(text) > LONGEST:
        return f"its text has {len(text)} characters, and {LONGEST} is the most"
    return None


def misfit(answer: ProvideSummary, surveyed: Surveyed) -> str | None:
    """Why it cannot be used, in words; None for one that can."""
    why = unfit_text(answer.text)
    if why is not None:
        return why
    if answer.first_kept is None or answer.first_kept == "nothing":
        return None
    behind = surveyed.entries[int(surveyed.compacted) :]
    kept = next((one for one in behind if one.entry.id == answer.first_kept), None)
    if kept is None:
        return f"its first kept entry {answer.first_kept!r} is not in the context, so nothing could begin there"
    if isinstance(kept.entry, MessageEntry) and isinstance(kept.entry.message, ToolResultMessage):
        return f"its first kept entry {answer.first_kept!r} is the result of a call that would be gone"
    return None
