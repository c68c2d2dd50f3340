"""Who may change the tree right now.

1. There is one holder, or none.
2. A refusal changes nothing.
3. Policy is the table; the code below only reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import attrs

from sapwood.events.requests import Holder, Newcomer

BUSY: Final = "Wait for the current compaction or tree navigation to finish before navigating the session tree."
"""The same words in both directions: whichever comes second waits for the same thing."""
RESPONDING: Final = "Wait for the current response to finish before navigating the session tree."
"""Pi's words."""
COMPACTING: Final = "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
"""Pi's words."""
RUNNING: Final = (
    "A run is in progress: steer() reaches it behind the tools of its present turn, follow_up() when it would end; "
    "or abort() it, and prompt again."
)
NAVIGATING: Final = "The session is moving to another branch: prompt again when it is there, or follow_up() now."

At = Literal["idle", "run", "run_compacting", "compaction", "navigation"]
"""A holder, and whether a run is compacting under its own lease."""


@attrs.frozen
class Grant:
    """The newcomer gets the lease."""


@attrs.frozen
class Queue:
    """The newcomer needs no lease: what it brings waits its turn."""


@attrs.frozen
class AbortFirst:
    """The holder is to be aborted, and then the newcomer gets the lease."""


@attrs.frozen
class Busy:
    """Refused, in these words."""

    words: str


Ruling = Grant | Queue | AbortFirst | Busy

TABLE: Final[Mapping[tuple[At, Newcomer], Ruling]] = {
    ("idle", "prompt"): Grant(),
    ("idle", "queued"): Queue(),
    ("idle", "compaction"): Grant(),
    ("idle", "navigation"): Grant(),
    ("run", "prompt"): Busy(RUNNING),
    ("run", "queued"): Queue(),
    ("run", "compaction"): AbortFirst(),
    ("run", "navigation"): Busy(RESPONDING),
    ("run_compacting", "prompt"): Busy(RUNNING),
    ("run_compacting", "queued"): Queue(),
    ("run_compacting", "compaction"): Busy(BUSY),
    ("run_compacting", "navigation"): Busy(BUSY),
    ("compaction", "prompt"): Busy(COMPACTING),
    ("compaction", "queued"): Queue(),
    ("compaction", "compaction"): Busy(BUSY),
    ("compaction", "navigation"): Busy(BUSY),
    ("navigation", "prompt"): Busy(NAVIGATING),
    ("navigation", "queued"): Queue(),
    ("navigation", "compaction"): Busy(BUSY),
    ("navigation", "navigation"): Busy(BUSY),
}

HOLDS: Final[Mapping[Newcomer, Holder]] = {"prompt": "run", "compaction": "compaction", "navigation": "navigation"}
"""What a newcomer is once it holds the lease. `queued` never does."""


def decide(at: At, newcomer: Newcomer) -> Ruling:
    """What a newcomer gets. Total: every pair is in the table, and a test says so."""
    return TABLE[at, newcomer]
