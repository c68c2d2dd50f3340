"""The shell that asks for summaries: what it sends, what it tells, and that it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import attrs
import pytest
import trio
import trio.testing

from sapwood.actors.environment import Environment
from sapwood.actors.kernel import ActorCrashed, Closed, OperationCrashed, Ref
from sapwood.actors.model.retry import RetryPolicy
from sapwood.actors.session_log.run_log import Pen
from sapwood.actors.summaries.prompts import words_for
from sapwood.actors.summaries.steps import GaveUp, Job, Written
from sapwood.actors.summarizing import AT_ONCE, Errand, Summarizer, record
from sapwood.events.entries import UsageEntry
from sapwood.events.errors import SapwoodError, StoreError
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage, Usage
from sapwood.events.models import Model
from sapwood.events.requests import Append, Generate
from sapwood.events.runtime import (
    Diagnostic,
    Event,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
    UsageReported,
)
from tests.build import MODEL, TIME, assistant, usage, words
from tests.compacting import summary

T = TypeVar("T")
PAID = UsageEntry(
    id=EntryId("p"), parent_id=None, timestamp=TIME, kind="compaction", provider="p", model="m", usage=usage(7)
)
BUSY = assistant(stop="error", error="overloaded")
GOOD = assistant(summary(), usage=usage(7))
LENGTH = len(summary())
JOB = Job(
    kind="compaction",
    texts=("[User]: tea",),
    tokens=(11,),
    room=100_000,
    count=len,
    words=words_for("compaction"),
    retry=RetryPolicy(max_retries=1),
)


@attrs.define
class Answering:
    """Stands for the model's actor: gives the next answer, or raises it."""

    answers: list[AssistantMessage | Exception]
    asked: list[Generate] = attrs.field(factory=list[Generate])

    async def ask(self, generate: Generate) -> AssistantMessage:
        await trio.lowlevel.checkpoint()
        self.asked.append(generate)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def errand(**given: Any) -> Errand:
    told = Errand(
        name="k/compaction",
        purpose="compaction",
        model=MODEL,
        thinking_level="high",
        source="compaction",
        reason="threshold",
    )
    return attrs.evolve(told, **given)


def summarizer(*answers: AssistantMessage | Exception) -> tuple[Summarizer, Answering, list[Event]]:
    model, events = Answering([*answers]), list[Event]()

    def publish(event: Event) -> int:
        events.append(event)
        return len(events)

    return Summarizer(cast("Ref", model), Environment.scripted(), publish), model, events


async def test_the_request_is_a_role_and_one_message_with_a_key_of_its_own() -> None:
    one, model, events = summarizer(GOOD)
    billed: list[Usage] = []

    end = await one.write(JOB, errand(bill=billed.append))

    assert isinstance(end, Written)
    assert end.text == summary()
    [generate] = model.asked
    assert (generate.call_id, generate.purpose, generate.model) == ("k/compaction/1", "compaction", MODEL)
    assert [message.role for message in generate.messages] == ["system", "user"]
    assert "[User]: tea" in words(generate.messages[1])
    assert (generate.cache_write, generate.thinking_level) == (False, "off")
    assert generate.cache_key
    assert events == [
        UsageReported(purpose="compaction", provider="scripted", model="talker", usage=usage(7)),
    ]
    assert billed == [usage(7)]


@pytest.mark.parametrize(("thinks", "level"), [(True, "high"), (False, "off")])
async def test_the_thinking_level_goes_to_a_model_that_thinks(level: str, *, thinks: bool) -> None:
    one, model, _ = summarizer(GOOD)

    await one.write(JOB, errand(model=Model(provider="p", id="m", thinks=thinks)))

    assert model.asked[0].thinking_level == level


async def test_a_retry_waits_is_told_and_sends_the_same_with_the_same_key(
    autojump_clock: trio.testing.MockClock,
) -> None:
    one, model, events = summarizer(BUSY, GOOD, GOOD)
    began = trio.current_time()

    await one.write(JOB, errand())
    took = trio.current_time() - began
    await one.write(JOB, errand())

    scheduled = events[0]
    assert isinstance(scheduled, SummarizationRetryScheduled)
    assert (scheduled.attempt, scheduled.max_attempts, scheduled.error_message) == (1, 1, "overloaded")
    assert took == pytest.approx(scheduled.delay_ms / 1000)
    assert 1500 <= scheduled.delay_ms <= 2000
    assert events[1] == SummarizationRetryAttemptStart(source="compaction", reason="threshold")
    assert [type(event) for event in events[2:]] == [UsageReported, SummarizationRetryFinished, UsageReported]
    first, second, other = model.asked
    assert words(first.messages[1]) == words(second.messages[1])
    assert first.cache_key == second.cache_key != other.cache_key
    assert [one.call_id for one in model.asked] == ["k/compaction/1", "k/compaction/2", "k/compaction/1"]


async def test_a_retry_that_fails_too_is_told_as_finished(autojump_clock: trio.testing.MockClock) -> None:
    one, _, events = summarizer(BUSY, BUSY)

    end = await one.write(JOB, errand())

    assert isinstance(end, GaveUp)
    assert end.reason == "Summarization failed: overloaded"
    assert events[-1] == SummarizationRetryFinished()


async def test_what_is_too_large_is_never_sent_again_unchanged() -> None:
    one, model, _ = summarizer(assistant(stop="error", error="prompt is too long"), *[GOOD] * 9)

    await one.write(attrs.evolve(JOB, texts=("[User]: " + "x" * 40_000,), tokens=(40_008,)), errand())

    sizes = [len(words(generate.messages[1])) for generate in model.asked]
    assert sizes[1] < sizes[0] / 1.5


@pytest.mark.parametrize("crash", [ActorCrashed("model", "Generate"), OperationCrashed("model", "call")])
async def test_a_model_that_broke_is_a_failed_answer_and_bills_nothing(crash: Exception) -> None:
    one, _, events = summarizer(crash)

    end = await one.write(JOB, errand())

    assert isinstance(end, GaveUp)
    assert end.reason == f"Summarization failed: {crash}"
    assert events == []


async def test_whoever_is_cancelled_in_the_wait_leaves_it(autojump_clock: trio.testing.MockClock) -> None:
    one, model, events = summarizer(BUSY, GOOD)

    with trio.move_on_after(1) as scope:
        await one.write(JOB, errand())

    assert scope.cancelled_caught
    assert (len(model.asked), len(events)) == (1, 1)


@pytest.mark.parametrize(
    "fault", [StoreError("full"), OperationCrashed("session_log", "append"), Closed("closed"), None]
)
async def test_a_cost_that_cannot_be_recorded_is_told_and_raises_nothing(
    fault: SapwoodError | None, autojump_clock: trio.testing.MockClock
) -> None:
    class Log:
        async def ask(self, asked: Append) -> None:
            if fault is None:
                await trio.sleep_forever()
            await trio.lowlevel.checkpoint()
            raise fault

    told: list[Event] = []

    def publish(event: Event) -> int:
        told.append(event)
        return len(told)

    pen = Pen(
        session_log=cast("Ref", Log()),
        view=cast("Any", None),
        environment=Environment.scripted(),
        new_id=lambda: EntryId("x"),
        publish=publish,
    )
    await record(pen, PAID)

    [one] = told
    assert isinstance(one, Diagnostic)
    assert one.code == "usage_unrecorded"
    assert ("more than 1 s" if fault is None else str(fault)) in one.message


def apart_from(one: Summarizer, steps: list[object]) -> Summarizer:
    """It, noting each step that is taken elsewhere."""

    async def elsewhere(function: Callable[[], T], /) -> T:
        steps.append(function)
        await trio.lowlevel.checkpoint()
        return function()

    return attrs.evolve(one, environment=attrs.evolve(one.environment, run_foreign=elsewhere))


@pytest.mark.parametrize(("size", "apart"), [(AT_ONCE - LENGTH, 0), (AT_ONCE - LENGTH + 1, 1), (AT_ONCE + 1, 2)])
async def test_a_job_of_long_texts_is_stepped_where_it_holds_up_nobody(size: int, apart: int) -> None:
    """The first step of a megabyte used to hold up the loop for most of a second."""
    steps: list[object] = []
    one = apart_from(summarizer(GOOD)[0], steps)

    ended = await one.write(attrs.evolve(JOB, texts=("x" * size,), tokens=(size,), room=10 * AT_ONCE), errand())

    assert isinstance(ended, Written)
    assert len(steps) == apart


@pytest.mark.parametrize("good", [True, False])
async def test_an_answer_that_is_long_is_read_where_it_holds_up_nobody(*, good: bool) -> None:
    """A megabyte that lacks a heading used to be counted in place, to be shown once more."""
    steps: list[object] = []
    one = apart_from(summarizer(GOOD if good else assistant("x" * AT_ONCE), GOOD)[0], steps)

    assert isinstance(await one.write(JOB, errand()), Written)
    assert len(steps) == (0 if good else 1)
