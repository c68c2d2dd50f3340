"""What a host may set of how a session behaves."""

from __future__ import annotations

from typing import Any, Final, cast, get_args

import attrs

from sapwood.actors.agent.state import Rules
from sapwood.actors.compaction.threshold import CompactionSettings
from sapwood.actors.model.retry import RetryPolicy
from sapwood.actors.navigation.settings import BranchSummarySettings
from sapwood.events.commands import QueueMode
from sapwood.events.errors import Refused, shown
from sapwood.events.models import Model

_PARTS: Final = (("retry", RetryPolicy), ("compaction", CompactionSettings), ("branch_summary", BranchSummarySettings))


@attrs.frozen(kw_only=True)
class Settings:
    """How a session behaves. `Refused` for what is no setting."""

    steering_mode: QueueMode = "one-at-a-time"
    """How many steered inputs enter before one request: the oldest, or `all`."""
    follow_up_mode: QueueMode = "one-at-a-time"
    """The same of follow-ups, when the run would end."""
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    """When a failed answer is asked for again (M4)."""
    compaction: CompactionSettings = attrs.field(factory=CompactionSettings)
    """When the context is compacted, and how much of it stays (C1, C2)."""
    branch_summary: BranchSummarySettings = attrs.field(factory=BranchSummarySettings)
    """How a branch that is left is summed up (N3, N4)."""
    summary_model: Model | None = None
    """Who makes the summaries; None: the session's own model."""

    def __attrs_post_init__(self) -> None:
        for name, mode in (("steering_mode", self.steering_mode), ("follow_up_mode", self.follow_up_mode)):
            if mode not in get_args(QueueMode):
                raise Refused("bad-input", f"Settings({name}=…) is 'one-at-a-time' or 'all', not {shown(mode)}")
        for name, kind in _PARTS:
            part: Any = getattr(self, name)
            if not isinstance(part, kind):
                raise Refused("bad-input", f"Settings({name}=…) is a sapwood.{kind.__name__}, not {shown(part)}")
        model = cast("object", self.summary_model)
        if model is not None and not isinstance(model, Model):
            raise Refused("bad-input", f"Settings(summary_model=…) is a sapwood.Model or None, not {shown(model)}")

    @property
    def rules(self) -> Rules:
        """What the run goes by."""
        return Rules(steering=self.steering_mode, follow_up=self.follow_up_mode, retry=self.retry)
