"""What a run may be told to do, and what may come of it. Values only."""

from __future__ import annotations

import attrs

from sapwood.events.base import Number
from sapwood.events.commands import Input, QueueName
from sapwood.events.content import ToolCall
from sapwood.events.errors import SapwoodError
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, SystemMessage, UserMessage
from sapwood.events.requests import Ran
from sapwood.events.runtime import Event


@attrs.frozen
class Tell:
    """Publish this event."""

    event: Event


@attrs.frozen
class Prepare:
    """Find out what the system prompt and the tools are to be, and what of them the branch does not have."""


@attrs.frozen
class Record:
    """Append this message; under this id, if it has one already."""

    message: SystemMessage | UserMessage | AssistantMessage
    entry_id: EntryId | None = None


@attrs.frozen
class TakeNext:
    """Take the oldest input of the first of these queues that has one."""

    queues: tuple[QueueName, ...]
    begins: bool
    """Whether a turn begins with it; else it joins the one that is about to ask."""


@attrs.frozen
class TellQueue:
    """Publish what waits."""


@attrs.frozen
class CallModel:
    """Project, and ask the model for one answer: the nth of the whole run."""

    number: int


@attrs.frozen
class CallTools:
    """Run the calls of the nth answer, or say of each why it was not run."""

    number: int
    calls: tuple[ToolCall, ...]
    truncated: bool


@attrs.frozen
class Wait:
    """Let so many milliseconds go by."""

    delay_ms: Number


@attrs.frozen
class End:
    """Nothing more is to be done."""

    aborted: bool
    error: SapwoodError | None = None
    """What broke the run, if something did."""
    unrecorded: AssistantMessage | None = None
    """The answer that was to be recorded then."""


Do = Tell | TellQueue | Prepare | Record | TakeNext | CallModel | CallTools | Wait | End


@attrs.frozen
class Started:
    """The run has the tree, and this is what it is for."""

    input: Input


@attrs.frozen
class Told:
    """The event is published."""


@attrs.frozen
class Prepared:
    """The turn is prepared, and this is to be said before it."""

    change: SystemMessage | None


@attrs.frozen
class Recorded:
    """The message is in the log."""

    message: SystemMessage | UserMessage | AssistantMessage
    entry_id: EntryId


@attrs.frozen
class Took:
    """What was taken, if there was anything; a run that was stopped takes nothing."""

    asked: TakeNext
    input: Input | None = None
    queue: QueueName = "steering"
    """Where it waited."""


@attrs.frozen
class Answered:
    """The model gave an answer, a failed one perhaps."""

    message: AssistantMessage
    jitter: float = 0.0
    """A number from 0 up to 1, drawn for the wait before another attempt."""


@attrs.frozen
class ToolsDone:
    """Every call has its result in the log, in the order of the calls."""

    results: tuple[Ran, ...]
    stopped: bool = False
    """Whether the run was stopped meanwhile."""


@attrs.frozen
class Waited:
    """The time is over, or the run was stopped."""

    stopped: bool = False


@attrs.frozen
class Broke:
    """What was to be done could not be: the disk refused, or an actor crashed."""

    error: SapwoodError


Happened = Started | Told | Prepared | Recorded | Took | Answered | ToolsDone | Waited | Broke
