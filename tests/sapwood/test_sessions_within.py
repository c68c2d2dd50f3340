"""A session that the code of another one opens: a tool's helper, a handler's judge. Sessions share nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Final, Literal

import pytest
import trio
import trio.testing

import sapwood
from sapwood import Extension, Finish, Request, Runtime, ScriptedAnswer, Session, SystemPrompt, WouldDeadlock
from sapwood.actors.environment import Environment
from sapwood.actors.model.providers.base import Piece
from sapwood.events.deltas import TextDelta, TextStart
from sapwood.events.entries import MessageEntry
from sapwood.events.hooks import ToolCallQuestion
from sapwood.events.messages import AssistantMessage
from tests.build import MODEL, call, words
from tests.talking import talking

CALLING: Final = ScriptedAnswer(calls=(call("c1", "helper"),))


class Slow:
    """Says two words, and then nothing for ever; or answers at once."""

    id = "scripted"

    def __init__(self, *, quick: bool = False) -> None:
        self._quick = quick

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        async with aclosing(self._pieces()) as pieces:
            yield pieces

    async def _pieces(self) -> AsyncGenerator[Piece, None]:
        yield TextStart(content_index=0)
        yield TextDelta(content_index=0, delta="two words")
        if not self._quick:
            await trio.sleep_forever()
        yield Finish(stop_reason="stop")


@asynccontextmanager
async def within(path: Path, *, quick: bool = False) -> AsyncGenerator[Session, None]:
    runtime = Runtime(providers=[Slow(quick=quick)], environment=Environment.scripted(1), counter="heuristic")
    async with runtime.open_session(path, model=MODEL, tools=[]) as session:
        yield session


def answer_in(path: Path) -> AssistantMessage:
    with sapwood.read(path, counter="heuristic") as session:
        last = session.entries()[-1]
    assert isinstance(last, MessageEntry)
    assert isinstance(last.message, AssistantMessage)
    return last.message


Ending = Literal["abort", "leave", "stopped"]


@pytest.mark.parametrize("ending", ["abort", "leave", "stopped"])
async def test_a_tool_stops_its_own_session_and_what_it_said_is_kept(
    ending: Ending, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Its commands used to be refused in the words of the kernel, and closing it lost what had streamed."""
    path = tmp_path / "sub.jsonl"

    async def helper() -> str:
        async with within(path) as sub:
            sub.submit("sub task")
            await trio.sleep(0.1)
            if ending == "abort":
                await sub.abort()
            if ending == "stopped":
                await trio.sleep_forever()
        return "helped"

    async with talking(CALLING, "done", tools=[helper]) as session:
        handle = session.submit("go")
        await trio.sleep(1)
        if ending == "stopped":
            await session.abort()
        await handle.done()
    assert (answer_in(path).stop_reason, words(answer_in(path))) == ("aborted", "two words")


async def everything(sub: Session) -> str:
    """Each kind of command, and what came of the prompt."""
    said = await sub.prompt("judge this")
    await sub.append_custom("note", 1)
    await sub.set_thinking_level("high")
    await sub.label(said.entry_id, "first")
    await sub.wait_idle()
    await sub.abort()
    assert said.answer is not None
    return words(said.answer)


async def judged(path: Path) -> str:
    async with within(path, quick=True) as sub:
        return await everything(sub)


Story = Callable[[Callable[[], Awaitable[str]]], Awaitable[None]]


async def in_a_tool(judge: Callable[[], Awaitable[str]]) -> None:
    async def helper() -> str:
        return await judge()

    async with talking(CALLING, "done", tools=[helper]) as session:
        await session.prompt("go")


async def in_a_handler(judge: Callable[[], Awaitable[str]]) -> None:
    extension = Extension("judge")

    @extension.on(ToolCallQuestion)
    async def allow(question: ToolCallQuestion, context: object) -> None:
        await judge()

    def helper() -> str:
        return "helped"

    async with talking(CALLING, "done", tools=[helper], extensions=[extension]) as session:
        await session.prompt("go")


async def in_a_section(judge: Callable[[], Awaitable[str]]) -> None:
    async def section(context: object) -> str:
        return await judge()

    async with talking("done", system_prompt=SystemPrompt(sections={"verdict": section})) as session:
        await session.prompt("go")


@pytest.mark.parametrize("story", [in_a_tool, in_a_handler, in_a_section])
async def test_a_session_is_used_as_a_whole_in_foreign_code_of_another(
    story: Story, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    verdicts: list[str] = []

    async def judge() -> str:
        verdicts.append(await judged(tmp_path / "sub.jsonl"))
        return verdicts[-1]

    await story(judge)
    assert verdicts == ["two words"]


async def test_the_sessions_own_commands_stay_a_deadlock_beside_those_of_another(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    refused: list[str] = []

    async def helper() -> str:
        async with within(tmp_path / "sub.jsonl", quick=True) as sub:
            await sub.prompt("first")
            for own in (session.abort, session.wait_idle, lambda: session.append_custom("x", 1)):
                try:
                    await own()
                except WouldDeadlock as error:
                    refused.append(str(error))
        return "helped"

    async with talking(CALLING, "done", tools=[helper]) as session:
        await session.prompt("go")
    assert len(refused) == 3
    assert all("steer() and follow_up() say something without waiting" in words for words in refused)
