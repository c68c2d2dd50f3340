"""One logger, bound with the session and the event's number; silent until the host configures structlog (E5)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

Level = Literal["debug", "info", "warning", "error"]


@attrs.frozen
class Log:
    """A logger with something bound to each of its lines."""

    bound: Mapping[str, object] = attrs.field(factory=dict[str, object])

    def bind(self, **more: object) -> Log:
        """The same logger with more bound to it."""
        return Log({**self.bound, **more})

    def say(self, level: Level, event: str, **facts: object) -> None:
        """One line, if the host has configured structlog; a host that never imported it pays nothing."""
        structlog = sys.modules.get("structlog")
        if structlog is not None and structlog.is_configured():
            structlog.get_logger("sapwood").bind(**self.bound).log(
                {"debug": 10, "info": 20, "warning": 30, "error": 40}[level], event, **facts
            )
