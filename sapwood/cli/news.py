"""What happens beside an answer, in one line each. No I/O.

What an answer says is no news, and neither is what only programs need.
"""

from __future__ import annotations

from typing import Final

from sapwood.events.base import Json
from sapwood.events.content import text_of
from sapwood.events.models import DEFAULT_WINDOW
from sapwood.events.runtime import (
    AutoRetryStart,
    CompactionEnd,
    CompactionReason,
    CompactionStart,
    DamageFound,
    Diagnostic,
    Event,
    ExtensionError,
    SessionFileLost,
    SessionMoved,
    SessionTree,
    StoreDegraded,
    StoreRecovered,
    SummarizationRetryScheduled,
    ToolAbandoned,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from sapwood.words.wording import counted, cut, named, one_line

WHY: Final[dict[CompactionReason, str]] = {
    "manual": "as you asked",
    "threshold": "the window is nearly full",
    "overflow": "the request was too large",
}
"""Why a compaction happens, for people."""


def news_line(event: Event) -> str | None:
    """The event in one line, or None for what is no news."""
    match event:
        case ToolExecutionStart(tool_name=tool, args=args):
            return f"{one_line(tool, 40)}: {cut(_told(args))}"
        case ToolExecutionEnd(tool_name=tool, result=result, is_error=True):
            return f"{one_line(tool, 40)} failed: {cut(text_of(result)) or 'without a word'}"
        case ToolAbandoned(tool_name=tool):
            return f"{one_line(tool, 40)} does not stop and was left behind; it may still have effects"
        case AutoRetryStart(attempt=attempt, max_attempts=most, delay_ms=delay, error_message=why):
            return f"another attempt ({attempt} of {most}) in {_seconds(delay)}: {one_line(why)}"
        case SummarizationRetryScheduled(attempt=attempt, max_attempts=most, delay_ms=delay, error_message=why):
            return f"another attempt at the summary ({attempt} of {most}) in {_seconds(delay)}: {one_line(why)}"
        case CompactionStart(reason=reason):
            return f"compaction ({WHY[reason]}): the past is being summed up"
        case CompactionEnd(result=result) if result is not None:
            return f"compacted: the summary stands for {counted(result.tokens_before, 'token')} of context"
        case CompactionEnd(reason="manual"):
            return None  # who asked for it is told
        case CompactionEnd(aborted=True):
            return "the compaction was stopped"
        case CompactionEnd(error_message=why):
            return f"no compaction: {one_line(why or 'nothing came of it')}"
        case SessionTree(new_leaf_id=leaf):
            return f"moved to {'before the first entry' if leaf is None else one_line(leaf, 40)}"
        case SessionMoved(new_path=path, why=why):
            return f"the session goes on in {named(path)}: {one_line(why)}"
        case SessionFileLost(path=path, what=what):
            return f"somebody has {what} {named(path)}: what stands there now is to be followed anew"
        case DamageFound(records=records):
            return f"the file is damaged in {counted(len(records), 'place')}: see `sapwood check`"
        case StoreDegraded(error_message=why):
            return f"the disk refuses, and what is to be written waits (Ctrl-C ends that): {one_line(why)}"
        case StoreRecovered():
            return "the disk takes it again"
        case ExtensionError(extension=extension, error_message=why):
            return f"the extension {one_line(extension, 40)} failed: {one_line(why)}"
        case Diagnostic(message=message):
            return one_line(message)
        case _:
            return None


def window_note(name: str) -> str:
    """What is said where nobody knows how large a window is."""
    return f"the window of {one_line(name)} is taken to be {DEFAULT_WINDOW:,} tokens: say --window N if it is not"


def _told(args: dict[str, Json]) -> str:
    """What a tool is asked to do: the one argument as it is, of several each with its name."""
    if len(args) == 1:
        return str(next(iter(args.values())))
    return ", ".join(f"{key}={value!r}" for key, value in args.items())


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.3g} s"
