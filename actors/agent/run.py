"""What a run does next. No I/O, no clock, no awaits.

1. `next_step(state, happened) -> (state, Do)`: one effect at a time, and then what came of it.
2. That a message is over is told when it is in the log, never before; the model is not called before the input is (S4).
3. Every run ends: each `Do` is followed by another one or by `End`, whatever happens, and `agent_end` is told before it if it can be.
4. An answer that could not be recorded is not lost: `End` has it.
5. Where the host asked for a system prompt, a turn is prepared before its first message is recorded; what changed comes before that (P7).
"""

from __future__ import annotations

from typing import assert_never

import attrs

from sapwood.events.commands import Input
from sapwood.events.errors import SapwoodError
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, Message, SystemMessage, UserMessage
from sapwood.events.runtime import AgentEnd, AgentStart, Event, MessageEnd, MessageStart, TurnEnd, TurnStart


@attrs.frozen
class Tell:
    """Publish this event."""

    event: Event


@attrs.frozen
class Prepare:
    """Find out what the system prompt is to be, and what of it the branch does not have."""


@attrs.frozen
class Record:
    """Append this message; under this id, if it has one already."""

    message: SystemMessage | UserMessage | AssistantMessage
    entry_id: EntryId | None = None


@attrs.frozen
class CallModel:
    """Project, and ask the model for one answer."""

    turn_index: int


@attrs.frozen
class End:
    """Nothing more is to be done."""

    aborted: bool
    error: SapwoodError | None = None
    """What broke the run, if something did."""
    unrecorded: AssistantMessage | None = None
    """The answer that was to be recorded then."""


Do = Tell | Prepare | Record | CallModel | End


@attrs.frozen
class Started:
    """The run has the tree, and this is what it is for."""

    input: Input
    prepares: bool = False
    """Whether its turns are prepared: the host asked for a system prompt."""


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
class Answered:
    """The model gave an answer, a failed one perhaps."""

    message: AssistantMessage


@attrs.frozen
class Broke:
    """What was to be done could not be: the disk refused, or an actor crashed."""

    error: SapwoodError


Happened = Started | Told | Prepared | Recorded | Answered | Broke


@attrs.frozen
class RunState:
    """A run, between two steps."""

    turn_index: int = 0
    messages: tuple[Message, ...] = ()
    """What this run put into the log."""
    todo: tuple[Do, ...] = ()
    answer: AssistantMessage | None = None
    """What the model said, until it is in the log."""
    ending: End | None = None
    """What is left to do, of a run that broke."""


IDLE = RunState()


def next_step(state: RunState, happened: Happened) -> tuple[RunState, Do]:
    """The state after what happened, and the one thing to do now."""
    match happened:
        case Started(input=taken, prepares=prepares):
            message = UserMessage(content=taken.content, timestamp=taken.timestamp)
            opening = (Tell(AgentStart()), Tell(TurnStart(turn_index=0)), *((Prepare(),) if prepares else ()))
            state = RunState(todo=(*opening, *_saying(message, taken.entry_id)))
        case Prepared(change=change):
            state = state if change is None else attrs.evolve(state, todo=(*_saying(change), *state.todo))
        case Recorded(message=message, entry_id=entry_id):
            told = Tell(MessageEnd(message=message, entry_id=entry_id))
            todo = (told, *_after(state, message), *state.todo)
            state = attrs.evolve(state, messages=(*state.messages, message), todo=todo, answer=None)
        case Answered(message=answer):
            state = attrs.evolve(state, todo=(Record(answer),), answer=answer)
        case Broke() if state.ending is not None:  # in telling that it ends
            state = attrs.evolve(state, todo=(state.ending,))
        case Broke(error=error):
            end = End(aborted=False, error=error, unrecorded=state.answer)
            telling = Tell(AgentEnd(messages=state.messages, will_retry=False))
            state = attrs.evolve(state, todo=(telling, end), ending=end)
        case Told():
            pass
        case _:
            assert_never(happened)
    first, *rest = state.todo
    return attrs.evolve(state, todo=tuple(rest)), first


def _saying(message: SystemMessage | UserMessage, entry_id: EntryId | None = None) -> tuple[Do, ...]:
    return Tell(MessageStart(message=message)), Record(message, entry_id)


def _after(state: RunState, message: SystemMessage | UserMessage | AssistantMessage) -> tuple[Do, ...]:
    """What follows a message that is in the log, besides what is to be done anyway."""
    match message:
        case SystemMessage():
            return ()
        case UserMessage():
            return (CallModel(state.turn_index),)
        case AssistantMessage(stop_reason=reason):
            return (
                Tell(TurnEnd(message=message, tool_results=())),
                Tell(AgentEnd(messages=(*state.messages, message), will_retry=False)),
                End(aborted=reason == "aborted"),
            )
        case _:
            assert_never(message)
