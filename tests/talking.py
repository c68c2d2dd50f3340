"""Opening a session for a test: scripted answers, scripted world."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import cast

import trio

from sapwood import Extension, Published, Runtime, Scripted, ScriptedAnswer, Session, Settings, SystemPrompt, Tool
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Reader, Tap
from sapwood.actors.tools.tool import AskPerson
from sapwood.events.models import Model
from sapwood.events.runtime import Event, MessageUpdate, name_of
from sapwood.store.port import Durability, Store
from tests.build import MODEL


@asynccontextmanager
async def talking(
    *answers: ScriptedAnswer | str,
    where: str | Store | None = None,
    tap: Tap | None = None,
    seed: int = 0,
    model: Model = MODEL,
    environment: Environment | None = None,
    durability: Durability = "os",
    system_prompt: str | SystemPrompt | None = None,
    cwd: str = "/home/dev",
    tools: Sequence[Tool | Callable[..., object]] | None = None,
    ask: AskPerson | None = None,
    extensions: Sequence[Extension] = (),
    settings: Settings | None = None,
) -> AsyncGenerator[Session, None]:
    """A session whose model says `answers`, one a turn."""
    script = [ScriptedAnswer(text=answer) if isinstance(answer, str) else answer for answer in answers]
    world = environment or Environment.scripted(seed)
    runtime = Runtime(providers=[Scripted({"turn": script})], environment=world, counter="heuristic")
    async with runtime.open_session(
        where,
        model=model,
        system_prompt=system_prompt,
        cwd=cwd,
        durability=durability,
        tools=tools,
        ask=ask,
        extensions=extensions,
        settings=settings,
        tap=tap,
    ) as session:
        yield session


def drain(reader: Reader) -> list[Event]:
    """What a reader can have right now."""
    events: list[Event] = []
    while True:
        try:
            item = reader.receive_nowait()
        except (trio.WouldBlock, trio.EndOfChannel):
            return events
        assert isinstance(item, Published)
        events.append(cast("Event", item.event))


def names(events: Sequence[Event]) -> list[str]:
    """The events' names, without the pieces of answers."""
    return [name_of(event) for event in events if not isinstance(event, MessageUpdate)]
