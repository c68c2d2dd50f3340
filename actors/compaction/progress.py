"""When another compaction by itself is worth trying (C17). No I/O.

1. One that failed, was refused, or freed too little is not tried again for the same context: not before there is new input, or the
   context has grown by `GROWTH` of the window, or another model is to read it.
2. So the calls that one input can cost are bounded by what is said in its run, whatever settings, extensions and models do.
"""

from __future__ import annotations

from typing import Final

GROWTH: Final = 0.05
"""Of the window: a context that is larger by this is another one."""


class Progress:
    """Of one session. Forgotten with the process: the next one tries once more."""

    def __init__(self) -> None:
        self._quiet_until: float | None = None
        self._model: str | None = None
        self.why: str | None = None
        """Why the last one came to nothing."""

    def has_input(self) -> None:
        """Somebody says something new."""
        self._quiet_until = self.why = None

    def may(self, tokens: int, model: str) -> bool:
        """Whether a context of so many tokens is to be compacted for this model."""
        return self._quiet_until is None or model != self._model or tokens > self._quiet_until

    def came_to_nothing(self, tokens: int, window: int, model: str, why: str) -> None:
        """It was tried with so many tokens for this model, and these are still there."""
        self._model = model
        self._quiet_until = tokens + GROWTH * window
        self.why = why
