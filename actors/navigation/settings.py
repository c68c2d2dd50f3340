"""What a host may set of the summary of a branch that is left (N3, N4, N9). No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, cast, get_args

import attrs

from sapwood.actors.compaction.threshold import amount_or_refuse
from sapwood.events.base import Json
from sapwood.events.errors import Refused, shown
from sapwood.events.messages import Message

RESERVED_TOKENS: Final = 16_384
"""Of the window, for the prompt and the summary itself: the branch takes the rest."""

Manner = Literal["pi", "omp"]
"""Whose way of summing up: they differ in what of the tools is told, and in whether instructions are added or replace (N4)."""

Convert = Callable[[Sequence[Message]], Sequence[Message]]


@attrs.frozen(kw_only=True)
class BranchSummarySettings:
    """How a branch is summed up. `Refused` for what is no such setting."""

    enabled: bool = False
    """Whether a host should offer it; who asks for a summary gets one all the same (N9)."""
    reserve_tokens: int = RESERVED_TOKENS
    """Tokens of the window that the branch may not have (N3)."""
    manner: Manner = "pi"
    metadata: Mapping[str, Json] | None = None
    """What the provider is told beside the request, where its wire has a place for that. No file sets it."""
    convert: Convert | None = None
    """Makes other messages of those that are summed up, before they become text: a plain function, run apart. No file sets it."""

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
        metadata, convert = cast("object", self.metadata), cast("object", self.convert)
        for name, given, fits, kind in (
            ("metadata", metadata, isinstance(metadata, Mapping), "a mapping"),
            ("convert", convert, callable(convert), "a function of messages"),
        ):
            if given is not None and not fits:
                raise Refused("bad-input", f"BranchSummarySettings({name}=…) is {kind} or None, not {shown(given)}")
