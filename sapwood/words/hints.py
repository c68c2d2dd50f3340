"""What may have been meant by a word that nobody knows. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from sapwood.words.wording import LONGEST_VALUE, quoted

LISTED: Final = 12
"""Right names that a message can show at once and still be read."""


def hint(word: str, known: Iterable[str]) -> str:
    """`: did you mean 'prompt'?` for a word near a known one; else the known ones, if they are few."""
    known = sorted(known)
    near = get_close_matches(word[:LONGEST_VALUE], known, n=1)
    if near:
        return f": did you mean {near[0]!r}?"
    return f" (there are: {', '.join(known)})" if len(known) <= LISTED else ""


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """`unknown key 'promt': did you mean 'prompt'?`"""
    return f"unknown {what} {quoted(word)}{hint(word, known)}"
