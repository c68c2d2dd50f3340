"""What is told of one compaction, in order and paired (C18).

1. After `compaction_start` comes exactly one `compaction_end`, however it ends.
2. Where extensions were asked, or a summary was begun, exactly one of `session_compact` and `session_compact_failed` comes as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sapwood.events.entries import Compaction
from sapwood.events.errors import CompactionFailed
from sapwood.events.runtime import (
    CompactionEnd,
    CompactionReason,
    CompactionStart,
    Event,
    SessionCompact,
    SessionCompactFailed,
)

FAILED: Final[dict[CompactionReason, str]] = {
    "manual": "Compaction failed",
    "threshold": "Auto-compaction failed",
    "overflow": "Context overflow recovery failed",
}
"""Pi's words for what failed."""


class Telling:
    """The news of one compaction."""

    def __init__(self, reason: CompactionReason, publish: Callable[[Event], int], *, will_retry: bool = False) -> None:
        """`will_retry`: whether what called for it is tried again behind it."""
        self._reason: CompactionReason = reason
        self._will_retry = will_retry
        self._publish = publish
        self._started = False
        self._attempted = False
        self._over = False
        self.from_extension = False
        """Whether an extension gave what it comes to, or stopped it."""

    def start(self) -> None:
        """It begins, if it did not."""
        if not self._started:
            self._started = True
            self._publish(CompactionStart(reason=self._reason))

    def attempt(self) -> None:
        """From now on extensions or a model are asked."""
        self.start()
        self._attempted = True

    def done(self, entry: Compaction) -> None:
        """The entry is in the log."""
        self._over = True
        reason, will_retry = self._reason, self._will_retry
        self._publish(
            SessionCompact(
                compaction_entry=entry, from_extension=self.from_extension, reason=reason, will_retry=will_retry
            )
        )
        self._publish(CompactionEnd(reason=reason, result=entry, aborted=False, will_retry=will_retry))

    def failed(self, why: Exception | None) -> None:
        """It came to nothing, if its end was not told. None, or a `CompactionFailed` that is an abort: somebody stopped it."""
        if not self._started or self._over:
            return
        self._over = True
        aborted = why is None or (isinstance(why, CompactionFailed) and why.aborted)
        reason = self._reason
        said = None if aborted else f"{FAILED[reason]}: {why}"
        self._publish(CompactionEnd(reason=reason, aborted=aborted, will_retry=False, error_message=said))
        if self._attempted:
            self._publish(
                SessionCompactFailed(
                    reason=reason,
                    error_message=said,
                    aborted=aborted,
                    will_retry=False,
                    from_extension=self.from_extension,
                )
            )
