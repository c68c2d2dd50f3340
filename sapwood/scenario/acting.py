"""Doing one step of a story to an open session, and the word for what came of it.

What the runtime refuses is an outcome, and so is what fails; a step that does not come to its end in a virtual day says so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, assert_never

import trio

from sapwood.actors.inbox import Handle
from sapwood.events.commands import Delivered, Failed, InputOutcome, Returned, Withdrawn
from sapwood.events.errors import Refused, SapwoodError
from sapwood.events.ids import EntryId
from sapwood.scenario.language import (
    STEP_LIMIT,
    Abort,
    AnyWord,
    ChangeModel,
    Compact,
    CrashNext,
    Feed,
    FollowUp,
    Kill,
    Navigate,
    OutcomeWord,
    Pass,
    Prompt,
    Reopen,
    Settle,
    Steer,
    Step,
    Submit,
)
from sapwood.scenario.passing import Gate
from sapwood.session import Session

UNSETTLED: Final = f"it did not settle in {STEP_LIMIT:,.0f} virtual seconds"
UNENDED: Final = f"it did not end in {STEP_LIMIT:,.0f} virtual seconds"
Came = tuple[AnyWord | None, str]
"""The outcome of a step that has one, and the words of what went wrong with it."""


async def act(session: Session, step: Step, gate: Gate, *, begun: Callable[[Handle], None]) -> Came:
    """Do a step to its end; `begun` is told of what is said, waited for or not."""
    match step:
        case Prompt(prompt=text):
            return await _prompt(session, text, begun)
        case Submit(submit=text):
            return _begin(session.submit, text, begun)
        case Steer(steer=text):
            return _begin(session.steer, text, begun)
        case FollowUp(follow_up=text):
            return _begin(session.follow_up, text, begun)
        case Abort() | Settle():
            return await _settled(session.abort if isinstance(step, Abort) else session.wait_idle)
        case Compact(compact=instructions):
            return await _ended(lambda: session.compact(None if instructions is True else instructions), "compacted")
        case Navigate():
            return await _ended(lambda: _move(session, step), "moved")
        case ChangeModel(model=model):
            return await _settled(lambda: session.set_model(model))
        case CrashNext(crash=actor):
            gate.crash_next(actor)
        case Feed(events=events):
            for event in events:
                session.feed(event)
                await trio.lowlevel.checkpoint()
        case Pass(pass_=seconds):
            await trio.sleep(seconds)
        case Kill() | Reopen():
            raise AssertionError("this ends a session: whoever has the next one does it")
        case _:
            assert_never(step)
    return None, ""


async def came(handle: Handle) -> tuple[OutcomeWord, str]:
    """What has come of an input, in a word, and why."""
    try:
        return _word(await handle.outcome())
    except Refused as refusal:
        return "refused", str(refusal)
    except SapwoodError as error:
        return "failed", str(error)


def _begin(say: Callable[[str], Handle], text: str, begun: Callable[[Handle], None]) -> Came:
    """Say something without waiting; what is no input has its outcome at once."""
    try:
        begun(say(text))
    except Refused as refusal:
        return "refused", str(refusal)
    return None, ""


async def _prompt(session: Session, text: str, begun: Callable[[Handle], None]) -> Came:
    with trio.move_on_after(STEP_LIMIT):
        try:
            handle = session.submit(text)
        except Refused as refusal:
            return "refused", str(refusal)
        begun(handle)
        return await came(handle)
    return None, UNSETTLED


async def _settled(work: Callable[[], Awaitable[None]]) -> Came:
    with trio.move_on_after(STEP_LIMIT):
        try:
            await work()
        except SapwoodError as error:
            return None, str(error)
        return None, ""
    return None, UNSETTLED


async def _move(session: Session, step: Navigate) -> None:
    target = None if step.navigate is None else EntryId(step.navigate)
    await session.navigate(target, summarize=step.summarize, instructions=step.instructions, label=step.label)


async def _ended(work: Callable[[], Awaitable[object]], good: AnyWord) -> Came:
    with trio.move_on_after(STEP_LIMIT):
        try:
            await work()
        except Refused as refusal:
            return "refused", str(refusal)
        except SapwoodError as error:
            return "failed", str(error)
        return good, ""
    return None, UNENDED


def _word(outcome: InputOutcome) -> tuple[OutcomeWord, str]:
    match outcome:
        case Delivered():
            return "delivered", ""
        case Returned():
            return "returned", ""
        case Withdrawn():
            return "cancelled", ""
        case Failed(reason=reason):
            return "failed", reason
        case _:
            assert_never(outcome)
