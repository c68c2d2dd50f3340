"""Whether a session that something has happened to is taken up by the next prompt (Z4, R5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs
import trio

from sapwood.actors.model.providers.scripted import Scripted, ScriptedAnswer
from sapwood.actors.summaries.contract import HEADINGS
from sapwood.events.content import ToolCall
from sapwood.events.entries import Entry
from sapwood.events.errors import SapwoodError
from sapwood.events.messages import AssistantMessage, ToolResultMessage
from sapwood.events.runtime import Purpose
from sapwood.scenario.language import STEP_LIMIT
from sapwood.scenario.scripting import Script
from sapwood.session import Session

NEXT_PROMPT: Final = "Are you there?"
NEXT_ANSWER: Final = "Here I am."
_SPARE: Final = 12
"""Answers of each kind: what waits in the queues is said as well, and a summary may be asked for twice."""


def _summary(*headings: str) -> tuple[ScriptedAnswer, ...]:
    return (ScriptedAnswer(text="\n".join(f"{heading}\n(none)" for heading in headings)),) * _SPARE


ANSWERS: Final[Mapping[Purpose, Sequence[ScriptedAnswer]]] = {
    "turn": (ScriptedAnswer(text=NEXT_ANSWER),) * _SPARE,
    "compaction": _summary(*HEADINGS["compaction"]),
    "turn_prefix": _summary(*HEADINGS["turn_prefix"]),
    "branch_summary": _summary(*HEADINGS["branch"]),
}


@attrs.frozen(kw_only=True)
class TakenUp:
    """What came of the next prompt."""

    left: tuple[Entry, ...]
    """All entries before it."""
    entries: tuple[Entry, ...]
    """All entries behind it."""
    fault: str | None
    """Why it was not taken up; None if it was."""


async def take_up(session: Session, script: Script) -> TakenUp:
    """Wait until nothing runs, say something, and look at what comes of it."""
    await _idle(session)
    left = session.entries()
    fault = await _fault(session, script.go_on(ANSWERS))
    return TakenUp(left=left, entries=session.entries(), fault=fault)


async def _idle(session: Session) -> None:
    with trio.move_on_after(STEP_LIMIT):
        await session.wait_idle()


async def _fault(session: Session, spare: Scripted) -> str | None:
    if (busy := _busy(session)) is not None:
        return busy
    with trio.move_on_after(STEP_LIMIT) as limit:
        try:
            outcome = await session.prompt(NEXT_PROMPT)
        except SapwoodError as error:
            return f"the next prompt is not taken: {error}"
        if outcome.failed:
            return f"the next prompt has no answer: {outcome.error or 'it was stopped'}"
        await session.wait_idle()
    if limit.cancelled_caught:
        return "the next prompt does not settle"
    if (busy := _busy(session)) is not None:
        return f"{busy} behind the next prompt"
    turns = [request for request in spare.requests if request.purpose == "turn"]
    return next((fault for request in turns if (fault := _open_call(request.messages)) is not None), None)


def _busy(session: Session) -> str | None:
    return None if session.state == "idle" else f"the session stays in the state {session.state!r}"


def _open_call(messages: Sequence[object]) -> str | None:
    """A call without a result, or a result without a call, in what a model is sent."""
    calls: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls |= {block.id for block in message.content if isinstance(block, ToolCall)}
        elif isinstance(message, ToolResultMessage):
            if message.tool_call_id not in calls:
                return f"the model is sent a result for {message.tool_call_id!r}, which it has not called"
            calls.discard(message.tool_call_id)
    return f"the model is sent a call without a result: {min(calls)!r}" if calls else None
