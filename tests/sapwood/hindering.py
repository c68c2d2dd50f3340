"""What a run may be at when it is stopped, and that does not like to be: providers, tools, handlers, sections, disks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs
import trio

from sapwood import (
    Extension,
    Provider,
    RetryPolicy,
    Scripted,
    ScriptedAnswer,
    Settings,
    SystemPrompt,
    ToolContext,
)
from sapwood.actors.model.providers.base import Finish, Piece, Request
from sapwood.events.content import ToolCall
from sapwood.events.deltas import TextDelta, TextStart
from sapwood.events.hooks import ToolCallQuestion, ToolResultQuestion
from tests.build import call
from tests.store.faults import FaultyDisk

LONG: Final = 100.0
STUBBORN: Final = 7.0
"""Virtual seconds that foreign code goes on for when it is told to stop."""


async def for_long() -> None:
    await trio.sleep(LONG)


async def stubbornly() -> None:
    with trio.CancelScope(shield=True):
        await trio.sleep(STUBBORN)


async def deafly() -> None:
    """Takes each cancellation for a passing fault."""
    until = trio.current_time() + STUBBORN
    while trio.current_time() < until:
        try:
            await trio.sleep(until - trio.current_time())
        except trio.Cancelled:
            with trio.CancelScope(shield=True):
                await trio.sleep(0.5)


async def tidily() -> None:
    """Has some cleaning up to do, within what it is given."""
    try:
        await trio.sleep(LONG)
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(0.05)


class Halting:
    """Says a word, and then does something that is no saying. Later requests are answered at once."""

    id = "scripted"

    def __init__(self, halt: Callable[[], Any], *, before: bool = False) -> None:
        self._halt = halt
        self._before = before
        """Whether it halts before it has answered anything at all."""
        self._asked = 0

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        self._asked += 1
        first = self._asked == 1
        if first and self._before:
            await self._halt()
        yield self._pieces(first=first)

    async def _pieces(self, *, first: bool) -> AsyncGenerator[Piece, None]:
        yield TextStart(content_index=0)
        yield TextDelta(content_index=0, delta="word ")
        if first:
            await self._halt()
        yield Finish(stop_reason="stop")


@attrs.define(kw_only=True)
class Hindered:
    """A session to be stopped while it is at something."""

    provider: Provider = attrs.field(factory=Scripted)
    tools: Sequence[Callable[..., object]] = ()
    extensions: Sequence[Extension] = ()
    system_prompt: SystemPrompt | None = None
    settings: Settings = attrs.field(factory=Settings)
    ask: Callable[[str], Any] | None = None
    disk: FaultyDisk = attrs.field(factory=FaultyDisk)
    full_from: float | None = None
    """When the disk begins to refuse, in seconds; None: it does not."""
    outlives: bool = False
    """Whether something goes on when the run has settled."""


def _calling(*calls: ToolCall) -> Scripted:
    return Scripted({"turn": [ScriptedAnswer(text="calling", calls=calls), *[ScriptedAnswer(text="on")] * 3]})


def _with_tool(*doing: Callable[[], Any], outlives: bool = False) -> Hindered:
    """An answer that calls tools which do these."""

    def made(do: Callable[[], Any], n: int) -> Callable[..., object]:
        async def work() -> str:
            await do()
            return "done"

        work.__name__ = f"work{n}"
        return work

    tools = [made(do, n) for n, do in enumerate(doing)]
    return Hindered(
        provider=_calling(*(call(f"c{n}", f"work{n}") for n in range(len(tools)))), tools=tools, outlives=outlives
    )


async def quick() -> str:
    return "done"


def _with_hook(
    question: type[ToolCallQuestion | ToolResultQuestion], do: Callable[[], Any], *, outlives: bool
) -> Hindered:
    extension = Extension("slow")

    async def handler(_: object, __: object) -> None:
        await do()

    extension.on(question, limit=None)(handler)
    return Hindered(
        provider=_calling(call("c1", "quick"), call("c2", "quick")),
        tools=[quick],
        extensions=[extension],
        outlives=outlives,
    )


def _with_section(do: Callable[[], Any], *, outlives: bool) -> Hindered:
    async def section(_: object) -> str:
        await do()
        return "text"

    return Hindered(
        provider=Scripted({"turn": [ScriptedAnswer(text="on")] * 3}),
        system_prompt=SystemPrompt(sections={"slow": section}),
        outlives=outlives,
    )


def _in_back_off() -> Hindered:
    failed = ScriptedAnswer(text="par", error="overloaded")
    return Hindered(
        provider=Scripted({"turn": [failed, *[ScriptedAnswer(text="on")] * 3]}),
        settings=Settings(retry=RetryPolicy(base_delay_ms=60_000)),
    )


def _asking_a_person() -> Hindered:
    async def curious(context: ToolContext) -> str:
        return await context.ask("sure?")

    async def ask(_: str) -> str:
        await for_long()
        return "yes"

    return Hindered(provider=_calling(call("c1", "curious")), tools=[curious], ask=ask)


def _full(provider: Provider, full_from: float, **rest: Any) -> Hindered:
    return Hindered(provider=provider, full_from=full_from, **rest)


async def a_second() -> str:
    await trio.sleep(1)
    return "done"


UNDER_WAY: Final[dict[str, Callable[[], Hindered]]] = {
    "a silent provider": lambda: Hindered(provider=Halting(for_long, before=True)),
    "a stream": lambda: Hindered(provider=Halting(for_long)),
    "a stream that tidies up": lambda: Hindered(provider=Halting(tidily)),
    "a shielded provider": lambda: Hindered(provider=Halting(stubbornly), outlives=True),
    "a provider that is shielded before it answers": lambda: Hindered(
        provider=Halting(stubbornly, before=True), outlives=True
    ),
    "a deaf provider": lambda: Hindered(provider=Halting(deafly), outlives=True),
    "a tool": lambda: _with_tool(for_long),
    "a tool that tidies up": lambda: _with_tool(tidily),
    "a stubborn tool": lambda: _with_tool(stubbornly, outlives=True),
    "a deaf tool": lambda: _with_tool(deafly, outlives=True),
    "tools of all kinds": lambda: _with_tool(for_long, quick, stubbornly, tidily, deafly, outlives=True),
    "a tool that asks a person": _asking_a_person,
    "a hook about a call": lambda: _with_hook(ToolCallQuestion, for_long, outlives=False),
    "a stubborn hook about a call": lambda: _with_hook(ToolCallQuestion, stubbornly, outlives=True),
    "a deaf hook about a call": lambda: _with_hook(ToolCallQuestion, deafly, outlives=True),
    "a hook about a result": lambda: _with_hook(ToolResultQuestion, for_long, outlives=False),
    "a stubborn hook about a result": lambda: _with_hook(ToolResultQuestion, stubbornly, outlives=True),
    "a section": lambda: _with_section(for_long, outlives=False),
    "a stubborn section": lambda: _with_section(stubbornly, outlives=True),
    "a deaf section": lambda: _with_section(deafly, outlives=True),
    "a back-off": _in_back_off,
    "recording an input": lambda: _full(Scripted({"turn": [ScriptedAnswer(text="on")] * 3}), 0),
    "recording an answer": lambda: _full(Scripted({"turn": [ScriptedAnswer(text="on", wait=1)] * 3}), 0.5),
    "recording a result": lambda: _full(_calling(call("c1", "a_second")), 0.5, tools=[a_second]),
    "recording results": lambda: _full(_calling(*(call(f"c{n}", "a_second") for n in range(3))), 0.5, tools=[a_second]),
    "recording a failed answer": lambda: _full(
        Scripted({"turn": [ScriptedAnswer(error="bad", wait=1), *[ScriptedAnswer(text="on")] * 3]}), 0.5
    ),
}
"""What may be under way, by its name."""
