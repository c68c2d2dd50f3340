"""What a story scripts: the model's answers, and the tools that it may call.

Of calls that would end at one moment the one that stands first in the script ends first, so that a story gives the same bytes each time.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec
import trio

from sapwood.actors.model.providers.base import Piece, Request
from sapwood.actors.model.providers.scripted import Scripted, ScriptedAnswer
from sapwood.actors.tools import Tool, ToolContext, ToolResult, tool
from sapwood.events.content import ToolCall
from sapwood.events.ids import ToolCallId
from sapwood.events.runtime import Purpose
from sapwood.scenario.language import Story
from sapwood.scenario.scripts import Answer, ArgumentWord, Call, ScriptedTool

TICK: Final = 1e-6
"""Seconds between two calls that would end at one moment: no clock that is written down has so fine a hand."""
TYPES: Final[Mapping[ArgumentWord, type]] = {"text": str, "number": float, "integer": int, "boolean": bool}


def script(story: Story) -> dict[Purpose, Sequence[Answer]]:
    """The queue of answers for each purpose of a call."""
    answers = story.answers
    return {
        "turn": answers.turn,
        "compaction": answers.compaction,
        "turn_prefix": answers.turn_prefix,
        "branch_summary": answers.branch_summary,
    }


class Script:
    """A provider that plays the story's answers, and on a word others. `requests` has those of the story."""

    def __init__(self, story: Story) -> None:
        self._present = self._story = Scripted(_answers(story), provider_id=story.model.provider)

    @property
    def id(self) -> str:
        return self._story.id

    @property
    def requests(self) -> Sequence[Request]:
        return self._story.requests

    def go_on(self, script: Mapping[Purpose, Sequence[ScriptedAnswer]]) -> Scripted:
        """Leave what is left of the story's answers, and play these from now on. Who plays them."""
        self._present = Scripted(script, provider_id=self.id)
        return self._present

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        return self._present.stream(request)


def provider(story: Story) -> Script:
    """A provider that plays the story's answers."""
    return Script(story)


def _answers(story: Story) -> dict[Purpose, list[ScriptedAnswer]]:
    numbers = itertools.count(1)
    return {purpose: [_scripted(answer, numbers) for answer in queue] for purpose, queue in script(story).items()}


def _scripted(answer: Answer, numbers: Iterator[int]) -> ScriptedAnswer:
    return ScriptedAnswer(
        text=answer.text,
        calls=tuple(_call(call, next(numbers)) for call in answer.calls),
        stop_reason=answer.ends,
        usage=answer.usage,
        error=answer.error,
        wait=answer.wait,
        stall=answer.stall,
        cut=answer.cut,
    )


def _call(call: Call, number: int) -> ToolCall:
    return ToolCall(
        id=ToolCallId(f"c{number}" if call.id is None else call.id),
        name=call.name,
        arguments={} if call.broken is not None else call.arguments,
        arguments_error=call.broken,
    )


def tools(story: Story) -> list[Tool] | None:
    """The tools of the story; None if it says nothing of tools."""
    if story.tools is None:
        return None
    calls = [call.id for queue in _answers(story).values() for answer in queue for call in answer.calls]
    ticks = {call: at * TICK for at, call in enumerate(calls)}
    return [_tool(name, one, ticks) for name, one in story.tools.items()]


def _tool(name: str, scripted: ScriptedTool, ticks: Mapping[ToolCallId, float]) -> Tool:
    async def run(context_: ToolContext, **arguments: Any) -> ToolResult:
        with trio.CancelScope(shield=scripted.deaf):
            await trio.sleep(scripted.wait + ticks.get(context_.call_id, 0.0))
        if scripted.error is not None:
            return ToolResult(content=scripted.error, is_error=True, terminate=scripted.final)
        given = msgspec.json.encode(arguments).decode()
        return ToolResult(content=given if scripted.result is None else scripted.result, terminate=scripted.final)

    # a function's own annotations are what a tool is made from: these are the story's
    run.__annotations__ = {"context_": ToolContext} | {key: TYPES[word] for key, word in scripted.takes.items()}
    named = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY) for key in ("context_", *scripted.takes)]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
    return tool(name=name, description=f"{name} of this story", mode="sequential" if scripted.alone else "parallel")(
        run
    )
