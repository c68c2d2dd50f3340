"""What a session of ours tells while it plays a story: in virtual time, as the story of Pi's does in `tests/pi/events.mjs`."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import msgspec
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sapwood import (
    CompactionFailed,
    Environment,
    Published,
    Refused,
    Runtime,
    Scripted,
    ScriptedAnswer,
    Session,
    Tool,
    ToolResult,
)
from sapwood.actors.kernel import Reader
from sapwood.actors.model.providers.base import Piece, Request
from sapwood.actors.tools.tool import ToolContext, tool
from sapwood.events.deltas import TextDelta
from sapwood.events.messages import Usage
from sapwood.events.models import Model
from sapwood.events.runtime import Event
from sapwood.settings_files import load_settings
from tests.build import TIME, assistant, call, message_entry, usage, user
from tests.interop.departures import Told
from tests.interop.facts import facts_of
from tests.interop.stories import Json, Step, Story


class Stalling(Scripted):
    """Says no more behind the first piece of a turn's answer that stalls."""

    stalls: deque[bool]

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        stalls = request.purpose == "turn" and bool(self.stalls) and self.stalls.popleft()
        async with super().stream(request) as pieces:
            yield _first_of(pieces) if stalls else pieces


async def _first_of(pieces: AsyncIterator[Piece]) -> AsyncGenerator[Piece]:
    async for piece in pieces:
        yield piece
        if isinstance(piece, TextDelta):
            await trio.sleep_forever()


def ours(story: Story, folder: Path) -> list[Told]:
    """What our session tells while it plays the story."""
    return trio.run(_play, story, folder, clock=MockClock(autojump_threshold=0))


async def _play(story: Story, folder: Path) -> list[Told]:
    provider = Stalling({"turn": map(_answer, story.answers), "compaction": map(_answer, story.summaries)})
    provider.stalls = deque(answer.get("stalls", False) for answer in story.answers)
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    settings, session_file = folder / "settings.json", folder / "session.jsonl"
    settings.write_text(json.dumps(story.settings), encoding="utf-8")
    session_file.write_text("".join(f"{json.dumps(line)}\n" for line in _lines(story.past)), encoding="utf-8")
    model = Model(provider="scripted", id="talker", context_window=story.window, max_output=400)
    async with (
        runtime.open_session(
            session_file if story.past else None,
            model=model,
            settings=load_settings(settings),
            cwd="/home/dev",
            system_prompt="You answer.",
            tools=[_tool(**one) for one in story.tools],
        ) as session,
        trio.open_nursery() as nursery,
    ):
        return await Player(session, nursery).play(story.steps)


def _lines(past: Sequence[Step]) -> list[Json]:
    lines: list[Json] = [{"type": "session", "version": 3, "id": "s1", "timestamp": TIME, "cwd": "/home/dev"}]
    for nth, (role, words, *tokens) in enumerate(past):
        message = user(words) if role == "user" else assistant(words, usage=usage(*tokens))
        entry = message_entry(f"e{nth}", message, f"e{nth - 1}" if nth else None)
        lines.append(json.loads(msgspec.json.encode(entry)))
    return lines


def _answer(answer: Json) -> ScriptedAnswer:
    return ScriptedAnswer(
        text=answer.get("text", ""),
        calls=tuple(call(call_id, name, **given) for call_id, name, given in answer.get("calls", ())),
        usage=_usage(**answer),
        stop_reason=answer.get("ends"),
        error=answer.get("error"),
        wait=answer.get("seconds", 0),
    )


def _usage(*, tokens: int = 0, output: int = 0, **_more: Any) -> Usage:
    return msgspec.structs.replace(usage(tokens), input=tokens - output, output=output)


def _tool(
    name: str,
    *,
    seconds: float = 0,
    fails: str | None = None,
    tells: str | None = None,
    alone: bool = False,
    last: bool = False,
) -> Tool:
    async def look(context: ToolContext, n: int = 0) -> ToolResult:
        if tells is not None:
            context.progress(tells)
        await trio.sleep(seconds)
        if fails is not None:
            raise ValueError(fails)
        return ToolResult(content=f"done {n}", terminate=last)

    return tool(name=name, description=name, mode="sequential" if alone else "parallel")(look)


class Player:
    """Takes the steps, and hears what is told."""

    def __init__(self, session: Session, nursery: trio.Nursery) -> None:
        self._session = session
        self._nursery = nursery
        self._reader: Reader = session.events()
        self._told: list[Told] = []

    async def play(self, steps: Sequence[Step]) -> list[Told]:
        for what, *given in steps:
            await getattr(self, what)(*given)
        await self.settle()
        return self._told

    async def prompt(self, text: str) -> None:
        with suppress(Refused):
            await self._session.prompt(text)
        self._drain()

    async def submit(self, text: str) -> None:
        self._session.submit(text)

    async def until(self, facts: Told) -> None:
        while not self._hear(await self._reader.receive(), facts):
            pass

    async def steer(self, text: str) -> None:
        self._session.steer(text)
        await wait_all_tasks_blocked()

    async def follow_up(self, text: str) -> None:
        self._session.follow_up(text)
        await wait_all_tasks_blocked()

    async def abort(self) -> None:
        await self._session.abort()

    async def compact(self) -> None:
        with suppress(Refused, CompactionFailed):
            await self._session.compact()

    async def compacting(self) -> None:
        self._nursery.start_soon(self.compact)

    async def settle(self) -> None:
        await self._session.wait_idle()
        await wait_all_tasks_blocked()
        self._drain()

    def _drain(self) -> None:
        while True:
            try:
                self._hear(self._reader.receive_nowait(), {})
            except trio.WouldBlock:
                return

    def _hear(self, item: object, facts: Told) -> bool:
        assert isinstance(item, Published)
        told = facts_of(cast("Event", item.event))
        self._told.append(told)
        return all(told.get(name) == value for name, value in facts.items())
