"""Runs to stop and to speak into: sessions with tools that talk to a provider which refuses whatever any would, and what came of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio

from sapwood import Extension, Runtime, ScriptedAnswer, Session, Settings, Tool
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Tap
from sapwood.events.content import ToolCall, text_of
from sapwood.events.entries import MessageEntry
from sapwood.events.messages import ToolResultMessage
from sapwood.reading import Reading
from sapwood.store.port import Durability
from tests.build import MODEL, words
from tests.faults.strict import Strict

PATIENCE: Final = 10
"""Seconds of a real clock, for what takes a few milliseconds where nobody else is at work."""


def calling(*calls: ToolCall) -> ScriptedAnswer:
    return ScriptedAnswer(calls=calls)


@asynccontextmanager
async def strictly_talking(
    *answers: ScriptedAnswer | str,
    where: Path | None = None,
    tools: Sequence[Tool | Callable[..., object]] | None = None,
    extensions: Sequence[Extension] = (),
    settings: Settings | None = None,
    environment: Environment | None = None,
    durability: Durability = "os",
    tap: Tap | None = None,
) -> AsyncGenerator[tuple[Session, Strict]]:
    """A session, and its provider, which says these."""
    provider = Strict()
    provider.add("turn", *(ScriptedAnswer(text=one) if isinstance(one, str) else one for one in answers))
    runtime = Runtime(providers=[provider], environment=environment or Environment.scripted(), counter="heuristic")
    async with runtime.open_session(
        where,
        model=MODEL,
        cwd="/home/dev",
        tools=tools,
        extensions=extensions,
        settings=settings,
        durability=durability,
        tap=tap,
    ) as session:
        yield session, provider


def told(session: Reading) -> list[str]:
    """The messages of the log in its order, without what the model is told before: whose, or of which call."""
    messages = [entry.message for entry in session.entries() if isinstance(entry, MessageEntry)]
    return [
        message.tool_call_id if isinstance(message, ToolResultMessage) else f"{message.role}: {words(message)}".rstrip()
        for message in messages
        if message.role != "system"
    ]


def results(session: Reading) -> list[tuple[str, str]]:
    """Calls and what came of them, in the order of the log."""
    return [
        (entry.message.tool_call_id, text_of(entry.message.content))
        for entry in session.entries()
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
    ]


async def until(true: Callable[[], bool]) -> None:
    """Let threads and processes go on until it is so."""
    with trio.fail_after(PATIENCE):
        while not true():  # noqa: ASYNC110 - threads and processes set no event of trio's
            await trio.sleep(0.001)
