"""What a run does next. No I/O, no clock, no awaits.

1. `next_step(state, happened) -> (state, Do)`: one effect at a time, and then what came of it.
2. That a message is over is told when it is in the log, never before; the model is not called before the input is (S4).
3. Every run ends: each `Do` is followed by another one or by `End`, whatever happens, and `agent_end` is told before it if it can be.
4. An answer that could not be recorded is not lost: `End` has it.
5. A turn is prepared before its first message is recorded; what changed of the prompt comes before that (P7).
6. Steering enters before the next request, follow-ups when the run would end (R3). What was stopped asks for neither.
7. A failed answer may be asked for again, by the one policy (M4): with a low-level run of its own, and nothing new but what was steered.
8. The context is looked at before a run, between turns and behind a run (C3): never between a call and its result, nor before a retry.
9. A request that was too large is hidden, the past is compacted, and it is made again, once (C16). Where that fails the run ends as it is.
10. Before a turn's end is told, and before the run settles, extensions may be asked whether it goes on: of what was stopped, nobody is.
"""

from __future__ import annotations

from typing import Final, assert_never

from msgspec.structs import replace

from sapwood.actors.agent.state import RunState
from sapwood.actors.agent.steps import (
    Answered,
    AtBoundary,
    Broke,
    CallModel,
    CallTools,
    Check,
    Checked,
    Crossed,
    Do,
    End,
    Happened,
    Hidden,
    Hide,
    Prepare,
    Prepared,
    Record,
    Recorded,
    Recover,
    Recovered,
    Started,
    TakeNext,
    Tell,
    TellQueue,
    Told,
    Took,
    ToolsDone,
    Wait,
    Waited,
)
from sapwood.actors.compaction.recovery import FAILED_WORDS, Recovery
from sapwood.actors.model.retry import Again, No, retry_answer
from sapwood.events.commands import Input
from sapwood.events.content import ToolCall
from sapwood.events.failures import failure_of
from sapwood.events.hooks import AgentBeforeSettle, BeforeTurnEnd
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, SystemMessage, UserMessage
from sapwood.events.runtime import (
    AgentEnd,
    AgentStart,
    AutoRetryEnd,
    AutoRetryStart,
    CompactionEnd,
    Diagnostic,
    MessageEnd,
    MessageStart,
    SessionCompactFailed,
    TurnEnd,
    TurnStart,
)

NEXT: Final = TakeNext(("steering", "follow_up"), begins=True)
STEERED: Final = TakeNext(("steering",), begins=False)
LOOKED: Final = Check(sends=False)
"""Behind a run: nothing is sent, so nothing is too large to be sent."""
CANCELLED: Final = "the wait before another attempt was cancelled"


def next_step(state: RunState, happened: Happened) -> tuple[RunState, Do]:
    """The state after what happened, and the one thing to do now."""
    state = _after(state, happened)
    first, *rest = state.todo
    return replace(state, todo=tuple(rest)), first


def _after(state: RunState, happened: Happened) -> RunState:
    match happened:
        case Started(input=taken):
            return _opened(state, (taken,), *_saying(taken), STEERED)
        case Told() | Hidden():
            return state
        case Checked():
            return state if state.opening is None else _begun(state, *state.opening)
        case Recovered():
            return _recovered(state, happened)
        case Prepared(change=change):
            return state if change is None else _first(state, *_announced(change))
        case Took():
            return _took(state, happened)
        case Answered(message=answer, jitter=jitter):
            state = replace(state, number=state.number + 1, retry=_verdict(state, answer, jitter))
            state = replace(state, unrecorded=answer, recovery=happened.recovery, tried=happened.tried)
            return _first(state, Record(answer))
        case Recorded(message=message, entry_id=entry_id):
            state = replace(state, messages=(*state.messages, message), unrecorded=None)
            state = _answered(state, message, entry_id) if isinstance(message, AssistantMessage) else state
            return _first(state, Tell(MessageEnd(message=message, entry_id=entry_id)))
        case ToolsDone():
            return _tools_done(state, happened)
        case Waited(stopped=True):
            return _first(state, _gave_up(state, CANCELLED), End(aborted=True))
        case Waited():
            return _begun(state, STEERED)
        case Crossed():
            return _crossed(state, happened)
        case Broke() if state.ending is not None:  # in telling that it ends
            return replace(state, todo=(state.ending,))
        case Broke(error=error):
            end = End(aborted=False, error=error, unrecorded=state.unrecorded)
            return replace(state, todo=(*_closing(state), end), ending=end)
        case _:
            assert_never(happened)


def _first(state: RunState, *things: Do) -> RunState:
    """With these to do before all others."""
    return replace(state, todo=(*things, *state.todo))


def _opened(state: RunState, incoming: tuple[Input, ...], *things: Do) -> RunState:
    """A low-level run begins with these, once the context was looked at."""
    return _first(replace(state, opening=things), Check(incoming))


def _begun(state: RunState, *things: Do) -> RunState:
    """A low-level run begins, with these before its first request."""
    state = replace(state, messages=(), over=False, opening=None, settling=False)
    return _first(_turn(state, 0, *things), Tell(AgentStart()))


def _turn(state: RunState, turn_index: int, *things: Do) -> RunState:
    todo = (Tell(TurnStart(turn_index=turn_index)), Prepare(), *things, CallModel(state.number))
    return _first(replace(state, turn_index=turn_index), *todo)


def _next_turn(state: RunState, incoming: tuple[Input, ...], *things: Do) -> RunState:
    return _first(_turn(state, state.turn_index + 1, *things), Check(incoming))


def _saying(taken: Input) -> tuple[Do, ...]:
    return _announced(UserMessage(content=taken.content, timestamp=taken.timestamp), taken.entry_id)


def _announced(message: SystemMessage | UserMessage, entry_id: EntryId | None = None) -> tuple[Do, ...]:
    return Tell(MessageStart(message=message)), Record(message, entry_id)


def _took(state: RunState, took: Took) -> RunState:
    asked, taken = took.asked, took.input
    if taken is None:
        if not asked.begins:
            return state
        if took.stopped:
            return _stopped(state)
        if state.over:
            return _settling(state)
        closing = (*_closing(state), LOOKED)
        return _first(replace(state, over=True), *closing, NEXT)  # who hears of the end may queue something
    mode = state.rules.steering if took.queue == "steering" else state.rules.follow_up
    more: tuple[Do, ...] = (TakeNext((took.queue,), begins=False),) if mode == "all" else ()
    things = (TellQueue(), *_saying(taken), *more)
    if not asked.begins:
        return _first(state, *things, Check(said=True))  # it joins the request that is about to be made
    if took.queue == "follow_up":
        things = (*things, STEERED)
    return _opened(state, (taken,), *things) if state.over else _next_turn(state, (taken,), *things)


def _settling(state: RunState) -> RunState:
    """Nothing waits to be said: the run settles, unless somebody who has not been asked yet has it go on."""
    if state.settling or not state.rules.asks_before_settle:
        return _first(state, End(aborted=False))
    asked = AtBoundary(AgentBeforeSettle(outcome=state.outcome), False if state.outcome == "completed" else None)
    return _first(replace(state, settling=True), asked, NEXT)  # that took its time: something may wait by then


def _turn_ended(state: RunState, turn_end: TurnEnd, *, goes_on: bool | None) -> RunState:
    """The end of a turn, once extensions were asked; what is to be done stands behind it where their word does not count (None)."""
    if not state.rules.asks_at_turn_end:
        return _beyond(state, turn_end, goes_on=goes_on)
    asked = BeforeTurnEnd(
        turn_index=state.turn_index,
        message=turn_end.message,
        tool_results=turn_end.tool_results,
        outcome=state.outcome,
    )
    return _first(state, AtBoundary(asked, goes_on))


def _crossed(state: RunState, crossed: Crossed) -> RunState:
    asked = crossed.asked
    goes_on = asked.goes_on if asked.goes_on is None or crossed.goes_on is None else crossed.goes_on
    if isinstance(asked.question, BeforeTurnEnd):
        turn_end = TurnEnd(message=asked.question.message, tool_results=asked.question.tool_results)
        return _beyond(state, turn_end, goes_on=goes_on)
    return _opened(replace(state, todo=()), (), STEERED) if goes_on else state


def _beyond(state: RunState, turn_end: TurnEnd, *, goes_on: bool | None) -> RunState:
    if goes_on is not None:
        state = _next_turn(state, (), STEERED) if goes_on else _first(state, NEXT)
    return _first(state, Tell(turn_end))


def _recovered(state: RunState, recovered: Recovered) -> RunState:
    if recovered.stopped:
        return _stopped(state)
    return _begun(state, STEERED) if recovered.done else _first(state, NEXT)


def _stopped(state: RunState) -> RunState:
    """What was to be done is not done."""
    return replace(state, todo=(*_closing(state), End(aborted=True)), over=True, opening=None)


def _verdict(state: RunState, answer: AssistantMessage, jitter: float) -> Again | No | None:
    if answer.stop_reason != "error":
        return None
    return retry_answer(answer, state.attempt + 1, state.rules.retry, jitter=jitter)


def _answered(state: RunState, answer: AssistantMessage, entry_id: EntryId) -> RunState:
    """What follows an answer that is in the log."""
    turn_end = TurnEnd(message=answer, tool_results=())
    state = replace(state, outcome="error" if answer.stop_reason == "error" else "completed")
    calls = tuple(block for block in answer.content if isinstance(block, ToolCall))
    if state.recovery is not None:
        return _recovering(state, state.recovery, turn_end, entry_id)
    match answer.stop_reason, state.retry:
        case "error", Again(delay_ms=delay_ms):
            again = AutoRetryStart(
                attempt=state.attempt + 1,
                max_attempts=state.rules.retry.max_retries,
                delay_ms=delay_ms,
                error_message=answer.error_message or "",
            )
            todo = (*_closing(state, will_retry=True), Tell(again), Wait(delay_ms))
            state = _first(replace(state, attempt=state.attempt + 1, over=True), *todo)
            return _turn_ended(state, turn_end, goes_on=None)
        case "error" | "aborted" as reason, _:
            gave_up = (_gave_up(state, answer.error_message),) if state.attempt else ()
            last = (End(aborted=True),) if reason == "aborted" else (LOOKED, NEXT)
            todo = (*_closing(state), *gave_up, *_why_not(state.retry, answer), *last)
            state = _first(replace(state, attempt=0, over=True), *todo)
            ended = _beyond if reason == "aborted" else _turn_ended
            return ended(state, turn_end, goes_on=None)
        case reason, _:
            good = (Tell(AutoRetryEnd(success=True, attempt=state.attempt)),) if state.attempt else ()
            state = replace(state, attempt=0, answer=answer)
            if not calls:
                return _first(_turn_ended(state, turn_end, goes_on=False), *good)
            return _first(state, *good, CallTools(state.number, calls, truncated=reason == "length"))


def _why_not(verdict: Again | No | None, answer: AssistantMessage) -> tuple[Do, ...]:
    """A provider that asks for a wait is told of, where no retry waits as long (M4): the answer's own words do not say it."""
    if not isinstance(verdict, No) or failure_of(answer).retry_after_ms is None:
        return ()
    return (Tell(Diagnostic(code="not_retried", message=verdict.why)),)


def _recovering(state: RunState, recovery: Recovery, turn_end: TurnEnd, entry_id: EntryId) -> RunState:
    """The end of a low-level run whose answer calls for a compaction (C16)."""
    return _turn_ended(_behind_recovering(state, recovery, entry_id), turn_end, goes_on=None)


def _behind_recovering(state: RunState, recovery: Recovery, entry_id: EntryId) -> RunState:
    tried = (Tell(AutoRetryEnd(success=not recovery.retries, attempt=state.attempt)),) if state.attempt else ()
    again = recovery.retries and not state.tried
    ended = (*_closing(state, will_retry=again), *tried)
    over = replace(state, attempt=0, over=True)
    if again:
        return _first(over, *ended, Hide(entry_id), Recover(will_retry=True))
    if not recovery.retries:
        return _first(over, *ended, Recover(will_retry=False))
    words = FAILED_WORDS[recovery.kind]
    end = CompactionEnd(reason="overflow", aborted=False, will_retry=False, error_message=words)
    failed = SessionCompactFailed(
        reason="overflow", error_message=words, aborted=False, will_retry=False, from_extension=False
    )
    return _first(over, *ended, Tell(end), Tell(failed), NEXT)


def _tools_done(state: RunState, done: ToolsDone) -> RunState:
    """The results are told in the order of the calls, however they came, and the next turn begins."""
    if state.answer is None:
        raise AssertionError("calls are run of an answer that is in the log")
    results = tuple(ran.message for ran in done.results)
    told: list[Do] = []
    for ran in done.results:
        told += [Tell(MessageStart(message=ran.message)), Tell(MessageEnd(message=ran.message, entry_id=ran.entry_id))]
    turn_end = TurnEnd(message=state.answer, tool_results=results)
    state = replace(state, messages=(*state.messages, *results))
    if done.stopped:
        return _first(replace(state, over=True), *told, Tell(turn_end), *_closing(state), End(aborted=True))
    goes_on = not all(ran.terminate for ran in done.results)
    return _first(_turn_ended(state, turn_end, goes_on=goes_on), *told)


def _closing(state: RunState, *, will_retry: bool = False) -> tuple[Do, ...]:
    """The end of the low-level run, if it was not told."""
    return () if state.over else (Tell(AgentEnd(messages=state.messages, will_retry=will_retry)),)


def _gave_up(state: RunState, error: str | None) -> Tell:
    return Tell(AutoRetryEnd(success=False, attempt=state.attempt, final_error=error))
