"""What stands in the entry of a branch's summary (N5, C12). No I/O; the words are ours.

1. The preamble first, on lines of its own, then the summary, then the files, a blank line between two.
2. Lists that the summary has already are stale, and are taken out.
"""

from __future__ import annotations

from typing import Final

from sapwood.actors.navigation.settings import Manner
from sapwood.actors.summaries.file_lists import Files, listed, listed_in_one

PREAMBLE: Final = "The session went down another branch before it came here.\nThis is what was found there:"


def stored_summary(text: str, files: Files, manner: Manner) -> str:
    """The summary as the entry has it. In pi's manner it ends with two lists, in omp's with one (N4)."""
    told = f"{PREAMBLE}\n\n{text.strip()}"
    return listed(told, files) if manner == "pi" else listed_in_one(told, files)
