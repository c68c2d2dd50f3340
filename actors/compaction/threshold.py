"""When a context is to be compacted, and what the settings come to for one model (C1, C2). No I/O.

1. The trigger is an absolute amount: `tokens > window - reserve`, strictly. `enabled` is global; the two amounts may differ by model.
2. Each amount falls back by itself: the model's override, the ordinary value, the default. Keys are exact.
3. Where the reserve would leave less than a quarter of the window it is three quarters of it, and what is kept is never more than half of
   the threshold: whatever is set, a compaction leaves room (C1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeGuard, cast

import attrs

from sapwood.events.errors import Refused, shown
from sapwood.events.models import Model

RESERVE_TOKENS: Final = 16_384
KEEP_RECENT_TOKENS: Final = 20_000
MOST_SAFE: Final = 2**53 - 1
"""The largest whole number that JavaScript holds: Pi's settings files take no larger one."""


def is_amount(value: object) -> TypeGuard[int]:
    """Whether it is a whole number that a setting can have. A float is none, 1000.0 neither: the next one would be 1000.5."""
    return type(value) is int and 0 <= value <= MOST_SAFE


def amount_or_refuse(value: object, name: str) -> int:
    """The value, if it is an amount of tokens; else `Refused`, in Pi's words: `name` is its way in the settings."""
    if is_amount(value):
        return value
    raise Refused("bad-input", f"Invalid {name} setting: {shown(value)}. Expected a non-negative safe integer.")


@attrs.frozen(kw_only=True)
class TokenOverride:
    """What a model has otherwise; None: as the ordinary setting has it."""

    reserve_tokens: int | None = None
    keep_recent_tokens: int | None = None


@attrs.frozen(kw_only=True)
class CompactionSettings:
    """When and how far to compact. `Refused` for what is no amount of tokens."""

    enabled: bool = True
    """Whether it happens by itself; a person may ask for it all the same (C15)."""
    reserve_tokens: int = RESERVE_TOKENS
    """Tokens of the window that are to stay free: beyond that a compaction is due."""
    keep_recent_tokens: int = KEEP_RECENT_TOKENS
    """Tokens of the latest messages that stay as they are."""
    model_overrides: Mapping[str, TokenOverride] = attrs.field(factory=dict[str, TokenOverride], hash=False)
    """By `provider/id`, exactly, with whatever slashes the id has itself. Copied: a change of what was given changes nothing."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise Refused(
                "bad-input", f"Invalid compaction.enabled setting: {shown(self.enabled)}. Expected true or false."
            )
        amount_or_refuse(self.reserve_tokens, "compaction.reserveTokens")
        amount_or_refuse(self.keep_recent_tokens, "compaction.keepRecentTokens")
        overrides = cast("object", self.model_overrides)
        if not isinstance(overrides, Mapping):
            raise Refused(
                "bad-input", f"Invalid compaction.modelOverrides setting: {shown(overrides)}. Expected an object."
            )
        object.__setattr__(self, "model_overrides", dict(self.model_overrides))
        for key, override in self.model_overrides.items():
            at = f'compaction.modelOverrides["{key}"]'
            if not isinstance(override, TokenOverride):
                raise Refused("bad-input", f"Invalid {at} setting: {shown(override)}. Expected an object.")
            if override.reserve_tokens is not None:
                amount_or_refuse(override.reserve_tokens, f"{at}.reserveTokens")
            if override.keep_recent_tokens is not None:
                amount_or_refuse(override.keep_recent_tokens, f"{at}.keepRecentTokens")

    def of(self, model: Model) -> Budget:
        """What these come to for this model."""
        override = self.model_overrides.get(model.key, TokenOverride())
        asked = self.reserve_tokens if override.reserve_tokens is None else override.reserve_tokens
        keep = self.keep_recent_tokens if override.keep_recent_tokens is None else override.keep_recent_tokens
        window = model.window
        most = window - -(-window // 4)
        reserve = min(asked, most)
        return Budget(
            enabled=self.enabled,
            window=window,
            reserve_tokens=reserve,
            keep_recent_tokens=min(keep, (window - reserve) // 2),
            asked_reserve_tokens=asked,
        )


@attrs.frozen(kw_only=True)
class Budget:
    """The settings in effect, for one model. All amounts are tokens."""

    enabled: bool
    window: int
    reserve_tokens: int
    keep_recent_tokens: int
    asked_reserve_tokens: int
    """The reserve that was set, where the window does not bear it."""

    @property
    def threshold(self) -> int:
        """What a context may have: a compaction is due beyond it."""
        return self.window - self.reserve_tokens

    @property
    def is_clamped(self) -> bool:
        """Whether the model is too small for the reserve that was set."""
        return self.reserve_tokens < self.asked_reserve_tokens

    def is_over(self, tokens: int) -> bool:
        """Whether so many tokens are beyond the threshold. Says nothing of `enabled`."""
        return tokens > self.threshold
