"""Asks a model for a summary: the shell of `summaries.job`, for compaction and navigation. Retries, and what is told of them.

A job is cancelled with whoever waits for it; what its calls were billed is told as they end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, assert_never

import attrs
import msgspec
import trio

from sapwood.actors.billing import added
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import ActorCrashed, OperationCrashed, Ref, insist
from sapwood.actors.model.assembly import Draft, unfinished
from sapwood.actors.model.overflow import is_too_much
from sapwood.actors.session_log.run_log import Pen
from sapwood.actors.summaries.contract import text_of
from sapwood.actors.summaries.job import JobState, begun, next_step
from sapwood.actors.summaries.steps import Answered, Ask, Begun, Do, GaveUp, Happened, Job, Wait, Waited, Written
from sapwood.events.base import Json
from sapwood.events.entries import UsageEntry
from sapwood.events.errors import SapwoodError
from sapwood.events.ids import new_session_id
from sapwood.events.messages import NO_USAGE, AssistantMessage, SystemMessage, Usage, UserMessage
from sapwood.events.models import Model
from sapwood.events.requests import Append, Generate
from sapwood.events.runtime import (
    CompactionReason,
    Diagnostic,
    Event,
    Purpose,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
    UsageReported,
)

BILLING_SECONDS: Final = 1.0
"""For one line of a log. Whoever was stopped is to be gone soon."""

AT_ONCE: Final = 100_000
"""Characters that a step looks at in place: fifty milliseconds at worst. More would hold up everybody else."""

Source = Literal["compaction", "branchSummary"]


async def record(pen: Pen, paid: UsageEntry) -> None:
    """Put what was paid for nothing into the log (T6). Raises nothing: if it cannot be done, or not soon, that is told."""
    told: str | None = None
    with trio.move_on_after(BILLING_SECONDS, shield=True) as scope:
        try:
            await insist(pen.session_log, Append(entries=(paid,), patient=False))
        except SapwoodError as fault:
            told = f"what a summary cost could not be recorded: {fault}"
    if scope.cancelled_caught:
        told = f"whether what a summary cost was recorded is not known: it took more than {BILLING_SECONDS:g} s"
    if told is not None:
        pen.publish(Diagnostic(code="usage_unrecorded", message=told))


@attrs.frozen(kw_only=True)
class Errand:
    """What a summary is asked for, and with what."""

    name: str
    """Its calls bear it, with a number behind."""
    purpose: Purpose
    model: Model
    thinking_level: str
    source: Source
    reason: CompactionReason | None = None
    bill: Callable[[Usage], None] = lambda _: None
    """Told what each call was billed: whoever is cancelled hears nothing else of it."""
    max_output: int | None = None
    """Tokens that an answer is asked to stay within; one that does not is asked for once more without. None: what the model gives."""
    metadata: Mapping[str, Json] | None = None
    """What the host has providers told beside the request."""


@attrs.frozen
class Summarizer:
    """Whom to ask, and where to tell."""

    model_actor: Ref
    environment: Environment
    publish: Callable[[Event], int]

    async def write(self, job: Job, errand: Errand) -> Written | GaveUp:
        """Do the job. Ends in one of the two, whatever the model says."""
        state, do = await self._stepped(begun(job), Begun())
        route = new_session_id(self.environment.now_ms(), self.environment.random)  # one for all its attempts (C8)
        calls, retrying = 0, False
        while True:
            happened: Happened
            match do:
                case Written() | GaveUp():
                    return do
                case Ask():
                    calls += 1
                    answer = await self._answer(do, errand, f"{errand.name}/{calls}", route)
                    if retrying:
                        self.publish(SummarizationRetryFinished())
                        retrying = False
                    happened = Answered(answer, jitter=self.environment.fraction(), overflowed=is_too_much(answer))
                case Wait():
                    self.publish(
                        SummarizationRetryScheduled(
                            attempt=do.attempt,
                            max_attempts=job.retry.max_retries,
                            delay_ms=do.delay_ms,
                            error_message=do.error_message,
                        )
                    )
                    await trio.sleep(do.delay_ms / 1000)
                    self.publish(SummarizationRetryAttemptStart(source=errand.source, reason=errand.reason))
                    happened, retrying = Waited(), True
                case _:
                    assert_never(do)
            state, do = await self._stepped(state, happened)

    async def _stepped(self, state: JobState, happened: Happened) -> tuple[JobState, Do]:
        """As `next_step`, where it holds up nobody."""
        said = text_of(happened.message) if isinstance(happened, Answered) else ""
        if sum(map(len, state.job.texts)) + len(said) <= AT_ONCE:
            return next_step(state, happened)
        return await self.environment.run_foreign(partial(next_step, state, happened))

    async def _answer(self, asked: Ask, errand: Errand, call_id: str, route: str) -> AssistantMessage:
        now = self.environment.now_ms()
        messages = (
            SystemMessage(content=asked.system, timestamp=now),
            UserMessage(content=asked.prompt, timestamp=now),
        )
        generate = Generate(
            call_id=call_id,
            model=errand.model,
            purpose=errand.purpose,
            messages=messages,
            thinking_level=errand.thinking_level if errand.model.thinks else "off",
            max_output=errand.max_output,
            cache_write=False,
            cache_key=route,
            metadata=errand.metadata,
        )
        answer = await self._billed(generate, errand)
        if errand.max_output is None or answer.stop_reason != "length":
            return answer
        freed = msgspec.structs.replace(generate, call_id=f"{call_id}/freed", max_output=None)
        whole = await self._billed(freed, errand)
        return msgspec.structs.replace(whole, usage=added(answer.usage, whole.usage) or NO_USAGE)

    async def _billed(self, asked: Generate, errand: Errand) -> AssistantMessage:
        """One call, and what it was billed is told."""
        try:
            answer = await self.model_actor.ask(asked)
        except (ActorCrashed, OperationCrashed) as crash:
            now = self.environment.now_ms()
            return unfinished(Draft(), asked.model, started_ms=now, reason="error", error=str(crash))
        if answer.usage != NO_USAGE:
            billed = UsageReported(
                purpose=asked.purpose, provider=answer.provider, model=answer.model, usage=answer.usage
            )
            self.publish(billed)
            errand.bill(answer.usage)
        return answer
