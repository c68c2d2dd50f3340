"""What a run is between two steps, and what it goes by. Values only."""

from __future__ import annotations

from typing import Final

import attrs
import msgspec

from sapwood.actors.agent.steps import Do, End
from sapwood.actors.compaction.recovery import Recovery
from sapwood.actors.model.retry import Again, No, RetryPolicy
from sapwood.events.commands import QueueMode
from sapwood.events.hooks import TurnOutcome
from sapwood.events.messages import AssistantMessage, Message


@attrs.frozen(kw_only=True)
class Rules:
    """What a run goes by."""

    steering: QueueMode = "one-at-a-time"
    follow_up: QueueMode = "one-at-a-time"
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    asks_at_turn_end: bool = False
    """Whether anybody is to be asked then; `asks_before_settle` too."""
    asks_before_settle: bool = False


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """A run, between two steps."""

    rules: Rules = Rules()
    turn_index: int = 0
    """Of the low-level run, as Pi counts."""
    number: int = 0
    """Answers that the whole run has had."""
    attempt: int = 0
    """Retries of the present answer."""
    retry: Again | No | None = None
    """Whether the answer that failed is asked for again; None for one that did not fail."""
    messages: tuple[Message, ...] = ()
    """What this low-level run put into the log."""
    over: bool = True
    """Whether its end was told, or its beginning not yet."""
    opening: tuple[Do, ...] | None = None
    """What a low-level run begins with that waits for the context to be looked at."""
    recovery: Recovery | None = None
    """What the answer that came last calls for."""
    tried: bool = False
    """Whether that was tried before."""
    todo: tuple[Do, ...] = ()
    unrecorded: AssistantMessage | None = None
    """What the model said, until it is in the log."""
    answer: AssistantMessage | None = None
    """What it said last, in the log."""
    outcome: TurnOutcome = "completed"
    """How its last turn ended."""
    settling: bool = False
    """Whether it was asked for the last time whether it goes on."""
    ending: End | None = None
    """What is left to do, of a run that broke."""


IDLE: Final = RunState()
