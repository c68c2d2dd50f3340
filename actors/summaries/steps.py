"""What a summary job is, what it may be told to do, and what may come of it. Values only."""

from __future__ import annotations

import attrs

from sapwood.actors.model.retry import RetryPolicy
from sapwood.actors.summaries.contract import Kind
from sapwood.actors.summaries.parts import Count
from sapwood.actors.summaries.prompts import Words
from sapwood.events.base import Number
from sapwood.events.messages import AssistantMessage, Usage


@attrs.frozen(kw_only=True)
class Job:
    """One summary that is wanted."""

    kind: Kind
    texts: tuple[str, ...]
    """The conversation, flattened."""
    tokens: tuple[int, ...]
    """What each of them has by `count`."""
    room: int
    """Tokens that one whole request may take, its system prompt too."""
    count: Count
    words: Words
    previous: str | None = None
    """The summary that this one continues."""
    focus: str | None = None
    """What a person asks for; it is added to the instructions."""
    instructions: str | None = None
    """They take the place of ours. The format is not checked then (C10)."""
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)


@attrs.frozen
class Ask:
    """Send this request: one user message, no tools."""

    prompt: str
    system: str


@attrs.frozen
class Wait:
    """Let so many milliseconds go by, before the retry of this number."""

    delay_ms: Number
    attempt: int
    error_message: str


@attrs.frozen(kw_only=True)
class Written:
    """The summary is made."""

    text: str
    usage: Usage | None
    """Of all calls, failed ones too; None if nothing is known to have been billed."""
    lacking: tuple[str, ...]
    """Headings that it has not, though it was asked for them twice."""
    shortened: bool
    """Whether a summary before it was too long to be shown whole to who continued it."""
    calls: int


@attrs.frozen(kw_only=True)
class Sizes:
    """Why a request cannot be made to fit, in tokens."""

    asked: int
    """What was asked for last; 0 if nothing was."""
    room: int
    """What the next request could take."""
    least: int
    """What the smallest one takes that makes sense."""


@attrs.frozen(kw_only=True)
class GaveUp:
    """There is no summary, and nothing is to be written."""

    reason: str
    aborted: bool
    usage: Usage | None
    calls: int
    sizes: Sizes | None = None
    """Given if a request was, or would be, too large."""


Do = Ask | Wait | Written | GaveUp


@attrs.frozen
class Begun:
    """The job may begin."""


@attrs.frozen
class Answered:
    """What the model said to the request."""

    message: AssistantMessage
    jitter: float = 0.0
    """A number from 0 up to 1, drawn for the wait before another attempt."""
    overflowed: bool = False
    """Whether it failed because the request was too large."""


@attrs.frozen
class Waited:
    """The time is over, or whoever wanted the summary does not any more."""

    stopped: bool = False


Happened = Begun | Answered | Waited
