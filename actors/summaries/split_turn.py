"""The summary of a history and that of the turn that was cut through, as one (C6). No I/O.

The user's request of that turn stands in it word for word: the rest of the turn, which is kept, is the answer to it.
"""

from __future__ import annotations

from typing import Final

from sapwood.actors.projection.counter import units
from sapwood.actors.summaries.frame import neutral
from sapwood.events.content import without_surrogates

TURN_CONTEXT: Final = "**Turn Context (split turn):**"
REQUEST: Final = "**The request of this turn, word for word:**"
NOTHING_EARLIER: Final = "Nothing came before this turn."
REQUEST_MAX: Final = 2_000
"""UTF-16 units: what a tool's result may take. A request that is longer carries a document, and its beginning says what it is for."""


def merged(history: str | None, prefix: str, request: str | None) -> str:
    """One summary of both.

    Args:
        history: the summary of all before the turn: a new one, or the previous one as it is. None if there is none.
        prefix: the summary of the turn's beginning.
        request: what the user asked for in it. None for a turn that an extension or a command began.
    """
    before = history.strip() if history is not None else ""
    whole = f"{before or NOTHING_EARLIER}\n\n---\n\n{TURN_CONTEXT}\n\n{prefix.strip()}"
    said = _short(neutral(without_surrogates(request)).strip()) if request is not None else ""
    return whole if said in prefix else f"{whole}\n\n{REQUEST}\n\n{said}"


def _short(request: str) -> str:
    total = units(request)
    if total <= REQUEST_MAX:
        return request
    shown = request.encode("utf-16-le")[: 2 * REQUEST_MAX].decode("utf-16-le", "ignore")
    return f"{shown}\n\n[... {total - units(shown)} more characters truncated]"
