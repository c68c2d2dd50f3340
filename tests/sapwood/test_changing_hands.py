"""What foreign code is given is its own: whoever changes it changes nothing of what runs, what is in memory and what is in the log."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import pytest
import trio
import trio.testing

from sapwood import Extension, Published, Request, Runtime, Scripted, ScriptedAnswer, Session, ToolResult
from sapwood.actors.environment import Environment
from sapwood.actors.model.providers.base import Piece
from sapwood.events.content import ToolCall
from sapwood.events.entries import Custom, MessageEntry
from sapwood.events.hooks import ToolCallQuestion
from sapwood.events.messages import AssistantMessage, SystemMessage, ToolResultMessage
from tests.build import MODEL, call
from tests.sapwood.spoiling import spoil

GIVEN: Final = {"deep": {"list": [1, {"x": 1}]}}
"""The arguments as the model gave them."""


class Spoiler(Scripted):
    """A provider that keeps what it is asked, and spoils it."""

    def __init__(self, *, spoils: bool) -> None:
        super().__init__({"turn": [ScriptedAnswer(calls=(call("c1", "act", **GIVEN),)), ScriptedAnswer(text="done")]})
        self._spoils = spoils

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        if self._spoils:
            spoil(request)
        async with super().stream(request) as pieces:
            yield pieces


async def watch(session: Session, *, spoils: bool) -> None:
    async for item in session.events():
        if spoils and isinstance(item, Published):
            spoil(item.event)


@pytest.mark.parametrize("who", ["nobody", "observer", "tool", "provider", "handler", "host"])
async def test_whoever_spoils_what_it_was_given_spoils_nothing_else(who: str) -> None:
    """One dictionary used to be everybody's: another command ran than was shown, and the log and the memory told two stories."""
    seen: list[Any] = []

    async def act(deep: Any) -> ToolResult:
        seen.append(str(deep))
        details: dict[str, Any] = {"kept": [1]}
        if who == "tool":
            spoil(deep)
        return ToolResult(content="acted", details=details)

    guard = Extension("guard")

    @guard.on(ToolCallQuestion)
    async def look(question: ToolCallQuestion, context: object) -> None:
        await trio.lowlevel.checkpoint()
        if who == "handler":
            spoil(question)

    provider = Spoiler(spoils=who == "provider")
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    async with (
        trio.open_nursery() as nursery,
        runtime.open_session(None, model=MODEL, tools=[act], extensions=[guard]) as session,
    ):
        nursery.start_soon(partial(watch, session, spoils=who == "observer"))
        await trio.testing.wait_all_tasks_blocked()
        kept = await session.append_custom("mine", {"kept": [1]})
        await session.prompt("go")
        if who == "host":
            for given in (session.context(), session.entries(), session.entry(kept)):
                spoil(given)
        assert seen == [str(GIVEN["deep"])]
        for messages in (session.context().messages, [*stored(session)]):
            assert [*kept_in(messages)] == [("tool", {"type": "object"}), GIVEN, {"kept": [1]}]
        entry = session.entry(kept)
        assert isinstance(entry, Custom)
        assert entry.data == {"kept": [1]}
        nursery.cancel_scope.cancel()


def stored(session: Session) -> Any:
    return (entry.message for entry in session.entries() if isinstance(entry, MessageEntry))


def kept_in(messages: Any) -> Any:
    """What of them could be changed."""
    for message in messages:
        match message:
            case SystemMessage(tools_added=tuple(tools)):
                yield from (("tool", {"type": tool.parameters["type"]}) for tool in tools)
            case AssistantMessage(content=content):
                yield from (block.arguments for block in content if isinstance(block, ToolCall))
            case ToolResultMessage(details=details):
                yield details
            case _:
                pass
