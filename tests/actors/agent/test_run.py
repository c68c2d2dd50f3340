"""What a run does next, step by step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.agent.run import (
    IDLE,
    Answered,
    Broke,
    CallModel,
    Do,
    End,
    Happened,
    Prepare,
    Prepared,
    Record,
    Recorded,
    Started,
    Tell,
    Told,
    next_step,
)
from sapwood.events.commands import Input
from sapwood.events.errors import CannotWrite
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, Message, StopReason, SystemMessage
from sapwood.events.runtime import AgentEnd, AgentStart, MessageEnd, MessageStart, TurnEnd, TurnStart
from tests.build import MS, assistant, system, user

INPUT = Input(entry_id=EntryId("u1"), text="hello", timestamp=MS)


CHANGE = system(house="Be brief.")


def play(answer: AssistantMessage, *, prepares: bool = False, change: SystemMessage | None = None) -> list[Do]:
    """Everything that a run does, when its model gives `answer`."""
    done: list[Do] = []
    state = IDLE
    happened: Happened = Started(INPUT, prepares)
    while not (done and isinstance(done[-1], End)):
        state, do = next_step(state, happened)
        done.append(do)
        match do:
            case Record(message=message, entry_id=entry_id):
                happened = Recorded(message, entry_id or EntryId("a1"))
            case CallModel():
                happened = Answered(answer)
            case Prepare():
                happened = Prepared(change)
            case Tell() | End():
                happened = Told()
    return done


def test_a_plain_answer_is_told_in_pis_order_and_nothing_before_it_is_recorded() -> None:
    answer = assistant("hi")

    assert play(answer) == [
        Tell(AgentStart()),
        Tell(TurnStart(turn_index=0)),
        Tell(MessageStart(message=user())),
        Record(user(), EntryId("u1")),
        Tell(MessageEnd(message=user(), entry_id=EntryId("u1"))),
        CallModel(0),
        Record(answer),
        Tell(MessageEnd(message=answer, entry_id=EntryId("a1"))),
        Tell(TurnEnd(message=answer, tool_results=())),
        Tell(AgentEnd(messages=(user(), answer), will_retry=False)),
        End(aborted=False),
    ]


def test_a_change_of_the_prompt_comes_between_the_start_of_the_turn_and_the_users_message() -> None:
    answer = assistant("hi")

    done = play(answer, prepares=True, change=CHANGE)

    assert done[:9] == [
        Tell(AgentStart()),
        Tell(TurnStart(turn_index=0)),
        Prepare(),
        Tell(MessageStart(message=CHANGE)),
        Record(CHANGE),
        Tell(MessageEnd(message=CHANGE, entry_id=EntryId("a1"))),
        Tell(MessageStart(message=user())),
        Record(user(), EntryId("u1")),
        Tell(MessageEnd(message=user(), entry_id=EntryId("u1"))),
    ]
    assert done[-2:] == [Tell(AgentEnd(messages=(CHANGE, user(), answer), will_retry=False)), End(aborted=False)]


def test_a_prompt_that_is_as_it_was_says_nothing() -> None:
    asked = play(assistant("hi"), prepares=True)

    assert [do for do in asked if not isinstance(do, Prepare)] == play(assistant("hi"))
    assert asked[2] == Prepare()


@pytest.mark.parametrize(
    ("reason", "aborted"), [("stop", False), ("error", False), ("length", False), ("aborted", True)]
)
def test_a_run_ends_aborted_only_if_its_answer_was(reason: StopReason, *, aborted: bool) -> None:
    assert play(assistant("hi", stop=reason))[-1] == End(aborted=aborted)


FULL = CannotWrite("s.jsonl", OSError(28, "No space left on device"))


def broken_at(step: int, *, prepares: bool = False) -> list[Do]:
    """What a run does whose nth effect cannot be done."""
    done: list[Do] = []
    state = IDLE
    happened: Happened = Started(INPUT, prepares)
    for n in range(20):
        state, do = next_step(state, happened)
        done.append(do)
        if isinstance(do, End):
            return done
        match do:
            case Record(message=message, entry_id=entry_id):
                happened = Recorded(message, entry_id or EntryId("a1"))
            case CallModel():
                happened = Answered(assistant("hi"))
            case Prepare():
                happened = Prepared(CHANGE)
            case Tell():
                happened = Told()
        if n == step:
            happened = Broke(FULL)
    raise AssertionError("the run does not end")


@pytest.mark.parametrize("step", range(9))
def test_a_run_that_breaks_tells_its_end_and_ends_with_the_reason(step: int) -> None:
    *_, told, end = broken_at(step)

    # an answer that came and could not be recorded goes along
    assert end == End(aborted=False, error=FULL, unrecorded=assistant("hi") if step == 6 else None)
    assert isinstance(told, Tell)
    assert isinstance(told.event, AgentEnd)
    assert not told.event.will_retry


@pytest.mark.parametrize(("step", "messages"), [(2, ()), (3, ()), (4, ()), (5, (CHANGE,)), (6, (CHANGE,))])
def test_a_run_that_breaks_in_its_preparation_says_what_it_put_into_the_log(
    step: int, messages: tuple[Message, ...]
) -> None:
    *_, told, end = broken_at(step, prepares=True)

    assert told == Tell(AgentEnd(messages=messages, will_retry=False))
    assert end == End(aborted=False, error=FULL)


@given(st.lists(st.booleans(), max_size=30), st.booleans())
def test_every_run_ends_whatever_breaks_and_however_often(breaks: list[bool], prepares: bool) -> None:
    """A run whose last event could not be told used to be told to tell it again, without end."""
    state = IDLE
    happened: Happened = Started(INPUT, prepares)
    for broken in [*breaks, *[True] * 3]:
        state, do = next_step(state, happened)
        if isinstance(do, End):
            assert do.error is None or do.error is FULL
            return
        if broken:
            happened = Broke(FULL)
        elif isinstance(do, Record):
            happened = Recorded(do.message, do.entry_id or EntryId("a1"))
        elif isinstance(do, Prepare):
            happened = Prepared(CHANGE)
        else:
            happened = Answered(assistant("hi")) if isinstance(do, CallModel) else Told()
    raise AssertionError("the run does not end")
