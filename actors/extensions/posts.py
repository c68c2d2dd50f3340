"""What an extension has still to be told, oldest first. No I/O, no awaits.

1. Pieces of one answer are joined where the extension is late: it reads the same text in fewer pieces.
2. Beyond `MOST` the oldest are left out, and how many that were is told.
"""

from __future__ import annotations

from collections import deque
from typing import Final, TypeAlias

import attrs

from sapwood.events.hooks import AfterProviderResponse, ProviderStreamEvent
from sapwood.events.runtime import MessageUpdate, News, merged

MOST: Final = 4096
"""As many as a reader of events may lag behind: some forty turns with tools."""
Told: TypeAlias = News | AfterProviderResponse | ProviderStreamEvent
"""What may be told to an extension that nobody waits for."""


@attrs.define(eq=False)
class Post:
    """Of one extension."""

    extension: str
    waiting: deque[Told] = attrs.field(factory=deque[Told])
    lost: int = 0
    """How many were left out and not told of yet."""

    def put(self, one: Told) -> None:
        last = self.waiting[-1] if self.waiting else None
        if isinstance(last, MessageUpdate) and isinstance(one, MessageUpdate):
            joined = merged(last, one)
            if joined is not None:
                self.waiting[-1] = joined
                return
        self.waiting.append(one)
        if len(self.waiting) > MOST:
            self.waiting.popleft()
            self.lost += 1
