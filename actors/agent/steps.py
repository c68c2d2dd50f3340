"""What a run may be told to do, and what may come of it. Values only."""

from __future__ import annotations

import attrs

from sapwood.actors.compaction.recovery import Recovery
from sapwood.events.base import Number
from sapwood.events.commands import Input, QueueName
from sapwood.events.content import ToolCall
from sapwood.events.errors import SapwoodError
from sapwood.events.hooks import AgentBeforeSettle, BeforeTurnEnd
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
class Check:
    """Compact, if the context is too large for the next request (C3)."""

    incoming: tuple[Input, ...] = ()
    """What is about to be said, besides what the log has."""
    said: bool = False
    """Whether something new has just been said, and is in the log."""
    sends: bool = True
    """Whether a request follows: one that cannot be made to fit is not sent (C17)."""


@attrs.frozen
class Hide:
    """Append that the model does not see this entry any more."""

    entry_id: EntryId


@attrs.frozen
class Recover:
    """Compact, since a request was too large (C16)."""

    will_retry: bool


@attrs.frozen
class Wait:
    """Let so many milliseconds go by."""

    delay_ms: Number


@attrs.frozen
class AtBoundary:
    """Ask extensions what they want appended here, and whether the run goes on."""

    question: BeforeTurnEnd | AgentBeforeSettle
    goes_on: bool | None = None
    """Whether it would; None: their word on it does not count."""


@attrs.frozen
class End:
    """Nothing more is to be done."""

    aborted: bool
    error: SapwoodError | None = None
    """What broke the run, if something did."""
    unrecorded: AssistantMessage | None = None
    """The answer that was to be recorded then."""


Do = (
    Tell
    | TellQueue
    | Prepare
    | Record
    | TakeNext
    | CallModel
    | CallTools
    | Check
    | Hide
    | Recover
    | Wait
    | AtBoundary
    | End
)


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
    """What was taken, if there was anything."""

    asked: TakeNext
    input: Input | None = None
    queue: QueueName = "steering"
    """Where it waited."""
    stopped: bool = False
    """Whether the run was stopped: then it takes nothing."""


@attrs.frozen
class Answered:
    """The model gave an answer, a failed one perhaps."""

    message: AssistantMessage
    jitter: float = 0.0
    """A number from 0 up to 1, drawn for the wait before another attempt."""
    recovery: Recovery | None = None
    """Whether it calls for a compaction."""
    tried: bool = False
    """Whether such a recovery was tried since the last input or good answer."""


@attrs.frozen
class ToolsDone:
    """Every call has its result in the log, in the order of the calls."""

    results: tuple[Ran, ...]
    stopped: bool = False
    """Whether the run was stopped meanwhile."""


@attrs.frozen
class Checked:
    """The context was looked at, and made smaller where that was due and could be done.

    A run that was stopped meanwhile goes on to its next request, which is answered as stopped: so the log tells.
    """


@attrs.frozen
class Hidden:
    """The edit is in the log."""


@attrs.frozen
class Recovered:
    """The compaction that a recovery needs was tried."""

    done: bool
    """Whether its entry is in the log, and the attempt may be made again."""
    stopped: bool = False
    """Whether the run was stopped meanwhile."""


@attrs.frozen
class Waited:
    """The time is over, or the run was stopped."""

    stopped: bool = False


@attrs.frozen
class Crossed:
    """What extensions wanted at a boundary is in the log."""

    asked: AtBoundary
    goes_on: bool | None = None
    """What they say of going on; None: nothing, or what cannot be."""


@attrs.frozen
class Broke:
    """What was to be done could not be: the disk refused, or an actor crashed."""

    error: SapwoodError


Happened = (
    Started
    | Told
    | Prepared
    | Recorded
    | Took
    | Answered
    | ToolsDone
    | Checked
    | Hidden
    | Recovered
    | Waited
    | Crossed
    | Broke
)
