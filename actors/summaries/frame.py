"""What a model is sent for a summary: the conversation as material in a frame, and below it what is to be done with it. No I/O.

1. `<conversation>`, then `<previous-summary>` if there is one, then the instructions, then what a person asks for besides (C8).
2. Nothing that stands in the frame can close it, or open another: whatever reads as a tag of ours loses the `<` that makes it one.
3. Nothing else of a text is changed, and what is neutral already stays as it is.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

TAGS: Final = (
    "conversation",
    "previous-summary",
    "earlier-answer",
    "summary",
    "files",
    "read-files",
    "modified-files",
)
"""What our requests and our summaries are framed by."""

FOCUS: Final = "Whoever asked for this summary wants it to look after one thing above all:"

# controls, soft hyphens, fillers, direction marks, variation selectors, tag characters: nobody sees them, and a model may read past them
_UNSEEN: Final = (
    r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
_GAP: Final = f"[{_UNSEEN}]*+"
_HYPHEN: Final = rf"[\s_\-\u2010-\u2015\u2212{_UNSEEN}]*+"


def _spelled(tag: str) -> str:
    """A pattern for the name, however it is drawn out."""
    return _HYPHEN.join(_GAP.join(word) for word in tag.split("-"))


@cache  # made when it is first needed: it takes longer than most of what is imported
def _tag() -> re.Pattern[str]:
    """The `<` of a tag of ours, open or closed by a `>` or not: what follows a text may close it."""
    return re.compile(
        rf"<(?=[\s/\\\u2044\u2215{_UNSEEN}]*+(?:{'|'.join(map(_spelled, TAGS))})(?!{_GAP}-?{_GAP}\w))", re.IGNORECASE
    )


def neutral(text: str) -> str:
    """The text with `&lt;` for the `<` of whatever reads as a tag of ours."""
    return _tag().sub("&lt;", text)


def framed(
    conversation: str,
    instructions: str,
    *,
    previous: str | None = None,
    earlier: str | None = None,
    focus: str | None = None,
) -> str:
    """The prompt of one request.

    Args:
        conversation: flattened (`flatten`), its texts joined by blank lines.
        instructions: trusted, and sent as they are.
        previous: the summary so far, which this one continues.
        earlier: an answer to this same request that missed the format.
        focus: what a person asks for, in their words; it is added to the instructions.
    """
    blocks = [_block("conversation", conversation)]
    if previous is not None and previous.strip():
        blocks.append(_block("previous-summary", previous))
    if earlier is not None and earlier.strip():
        blocks.append(_block("earlier-answer", earlier))
    blocks.append(instructions)
    if focus is not None and focus.strip():
        blocks.append(f"{FOCUS} {neutral(focus.strip())}")
    return "\n\n".join(blocks)


def _block(tag: str, text: str) -> str:
    return f"<{tag}>\n{neutral(text)}\n</{tag}>"
