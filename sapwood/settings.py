"""What a host may set of how a session behaves."""

from __future__ import annotations

from typing import cast, get_args

import attrs

from sapwood.actors.agent.run import Rules
from sapwood.actors.model.retry import RetryPolicy
from sapwood.events.commands import QueueMode
from sapwood.events.errors import Refused


@attrs.frozen(kw_only=True)
class Settings:
    """How a session behaves. `Refused` for what is no setting."""

    steering_mode: QueueMode = "one-at-a-time"
    """How many steered inputs enter before one request: the oldest, or `all`."""
    follow_up_mode: QueueMode = "one-at-a-time"
    """The same of follow-ups, when the run would end."""
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    """When a failed answer is asked for again (M4)."""

    def __attrs_post_init__(self) -> None:
        for name, mode in (("steering_mode", self.steering_mode), ("follow_up_mode", self.follow_up_mode)):
            if mode not in get_args(QueueMode):
                raise Refused("bad-input", f"Settings({name}=…) is 'one-at-a-time' or 'all', not {mode!r:.80}")
        retry = cast("object", self.retry)
        if not isinstance(retry, RetryPolicy):
            raise Refused("bad-input", f"Settings(retry=…) is a sapwood.RetryPolicy, not {retry!r:.80}")

    @property
    def rules(self) -> Rules:
        """What the run goes by."""
        return Rules(steering=self.steering_mode, follow_up=self.follow_up_mode, retry=self.retry)
