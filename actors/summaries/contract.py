"""What a summary must look like, and what is none at all (C10, N5). No I/O.

1. Each kind has its headings, in their order, each on a line of its own: `lacking` tells which are not there, or not in their place.
2. What failed, was cut off, was stopped, calls a tool, says nothing or says too much is no summary: `refusal` says why, under the name of
   what was asked.
3. The text of a summary is what its author said: neither thinking nor what stands around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from sapwood.events.content import TextContent, ToolCall, without_surrogates
from sapwood.events.messages import AssistantMessage

Kind = Literal["compaction", "turn_prefix", "branch"]

_SHARED: Final = (
    "## Goal",
    "## Constraints & Preferences",
    "## Progress",
    "### Done",
    "### In Progress",
    "### Blocked",
    "## Key Decisions",
    "## Next Steps",
)
HEADINGS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "compaction": (*_SHARED, "## Critical Context"),
    "turn_prefix": ("## Original Request", "## Progress So Far", "## Context Needed to Continue"),
    "branch": _SHARED,
}
LABELS: Final[Mapping[Kind, str]] = {
    "compaction": "Summarization",
    "turn_prefix": "Turn prefix summarization",
    "branch": "Branch summarization",
}
"""What begins the sentence about a failure."""

LONGEST: Final = 1_048_576
"""Characters of a summary: what the log takes of one text (S12). A longer one frees nothing, and no half of it is a summary (C10)."""
CAPPED: Final = "generation hit the token cap and the summary is incomplete"
CALLED: Final = "attempted to call a tool"
ABORTED: Final = "the request was aborted"
EMPTY: Final = "the answer has no text"
UNFINISHED: Final = "the answer was not finished"
UNKNOWN: Final = "Unknown error"


def lacking(text: str, kind: Kind) -> tuple[str, ...]:
    """The headings that a summary lacks, in the contract's order: as few as can be blamed for its being out of order. () if it keeps it.

    Blanks behind a heading are no matter; its case is, and so is whatever else stands on its line.
    """
    wanted = HEADINGS[kind]
    chains: list[tuple[int, ...]] = [() for _ in wanted]
    """For each heading the longest run of headings in their order that ends with it, of what was read so far."""
    for line in text.splitlines():
        if line.rstrip() in wanted:
            at = wanted.index(line.rstrip())
            chains[at] = (*max((chains[at][:-1], *chains[:at]), key=len), at)
    kept = max(chains, key=len)
    return tuple(heading for at, heading in enumerate(wanted) if at not in kept)


def refusal(answer: AssistantMessage, label: str) -> str | None:
    """Why an answer is no summary, as `<label> failed: <reason>`; None if it is one. Headings are not looked at."""
    why = _why(answer)
    return None if why is None else f"{label} failed: {why}"


def text_of(answer: AssistantMessage) -> str:
    """The text of a summary: the answer's text blocks, a line break between two, without the blanks around it."""
    said = "\n".join(block.text for block in answer.content if isinstance(block, TextContent))
    return without_surrogates(said).strip()


def _why(answer: AssistantMessage) -> str | None:
    match answer.stop_reason:
        case "error":
            return (answer.error_message or "").strip() or UNKNOWN
        case "aborted":
            return ABORTED
        case "length":
            return CAPPED
        case "pending" | "deferred":
            return UNFINISHED
        case "toolUse":
            return CALLED
        case "stop":
            if any(isinstance(block, ToolCall) for block in answer.content):
                return CALLED
            return _unfit(text_of(answer))


def _unfit(text: str) -> str | None:
    if len(text) > LONGEST:
        return f"the answer has {len(text):,} characters, and {LONGEST:,} is the most of a summary"
    return None if text else EMPTY
