"""A session in which every question is asked: said, answered with a tool, forked, compacted, moved. And what its extensions say to each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory
from typing import Final

from sapwood import Extension, Runtime, Scripted, ScriptedAnswer, Session, Settings
from sapwood.actors.compaction.threshold import CompactionSettings
from sapwood.actors.environment import Environment
from sapwood.actors.extensions.extension import ASKED, TOLD
from sapwood.events.content import ToolCall
from sapwood.events.hooks import SessionBeforeFork, SessionShutdown, SessionStart
from sapwood.events.ids import ToolCallId
from sapwood.events.runtime import Event, ExtensionError
from sapwood.store.port import Store
from tests.build import MODEL
from tests.compacting import summary

QUESTIONS: Final = sorted(ASKED, key=lambda one: one.__name__)
ASKED_IN_A_RUN: Final = [
    one for one in QUESTIONS if one not in TOLD | {SessionStart, SessionShutdown, SessionBeforeFork}
]
CALL: Final = ToolCall(id=ToolCallId("c1"), name="look", arguments={"at": ["oak"]})


def look(at: list[str]) -> str:
    """Look at something."""
    return f"seen: {', '.join(at)}"


@asynccontextmanager
async def everywhere(*extensions: Extension, where: str | Store | None = None) -> AsyncGenerator[Session]:
    """The session, open; `live` goes through it."""
    provider = Scripted(
        {
            "turn": [ScriptedAnswer(text="I look.", calls=(CALL,)), ScriptedAnswer(text="An oak.")],
            "compaction": [ScriptedAnswer(text=summary())],
            "turn_prefix": [ScriptedAnswer(text=summary("turn_prefix"))],
        }
    )
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    settings = Settings(compaction=CompactionSettings(keep_recent_tokens=1))
    async with runtime.open_session(
        where, model=MODEL, cwd="/home/dev", tools=[look], extensions=extensions, settings=settings
    ) as session:
        yield session


async def live(session: Session) -> None:
    """What is done in it. Each step ends, whatever extensions say."""
    await session.prompt("Which tree is it, and how old may it be? " * 20)
    with TemporaryDirectory() as folder:
        await session.fork(to=folder)
    await session.compact()
    await session.navigate(session.entries()[0].id)


def failures(events: Sequence[Event]) -> list[ExtensionError]:
    return [event for event in events if isinstance(event, ExtensionError)]
