"""What a host may set of the summary of a branch that is left (N3, N4, N9). No I/O."""

from __future__ import annotations

from typing import Final, Literal, get_args

import attrs

from sapwood.actors.compaction.threshold import amount_or_refuse
from sapwood.events.errors import Refused, shown

RESERVED_TOKENS: Final = 16_384
"""Of the window, for the prompt and the summary itself: the branch takes the rest."""

Manner = Literal["pi", "omp"]
"""Whose way of summing up: they differ in what of the tools is told, and in whether instructions are added or replace (N4)."""


@attrs.frozen(kw_only=True)
class BranchSummarySettings:
    """How a branch is summed up. `Refused` for what is no such setting."""

    enabled: bool = False
    """Whether a host should offer it; who asks for a summary gets one all the same (N9)."""
    reserve_tokens: int = RESERVED_TOKENS
    """Tokens of the window that the branch may not have (N3)."""
    manner: Manner = "pi"

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise Refused(
                "bad-input", f"Invalid branchSummary.enabled setting: {shown(self.enabled)}. Expected true or false."
            )
        amount_or_refuse(self.reserve_tokens, "branchSummary.reserveTokens")
        if self.manner not in get_args(Manner):
            raise Refused(
                "bad-input", f'Invalid branchSummary.manner setting: {shown(self.manner)}. Expected "pi" or "omp".'
            )
