"""What a model is, as far as a session must know."""

from __future__ import annotations

from typing import Final

from sapwood.events.base import Number, Wire

DEFAULT_WINDOW: Final = 128_000
"""Tokens that a model of unknown window is taken to have: the seeds' number (C1, N3)."""


class Price(Wire, frozen=True, kw_only=True):
    """US dollars per million tokens."""

    input: Number
    output: Number
    cache_read: Number | None = None
    cache_write: Number | None = None


class Model(Wire, frozen=True, kw_only=True):
    """One model of one provider. What a host declares here wins over any catalogue (L10 in the list of faults)."""

    provider: str
    id: str
    context_window: int | None = None
    """Tokens, prompt and answer together; None if nobody knows."""
    max_output: int | None = None
    """Tokens of one answer; None if nobody knows."""
    api: str = "unknown"
    """The wire it speaks, such as `openai-responses`."""
    price: Price | None = None
    thinks: bool = False
    sees: bool = False

    @property
    def key(self) -> str:
        """`provider/id`, the name under which settings speak of it."""
        return f"{self.provider}/{self.id}"

    @property
    def window(self) -> int:
        """The window that decisions go by: the declared one, else `DEFAULT_WINDOW`."""
        return self.context_window or DEFAULT_WINDOW
