"""A host for a test: it tells every event on its standard output, as long as somebody reads that.

    python -m tests.faults.telling go-on PATH    ask something in PATH; when nobody reads any more, go on without telling
    python -m tests.faults.telling stop PATH     the same; when nobody reads any more, leave the session

The model waits, before its second answer, for a line on the standard input. `settled` on the standard error says that the run was over.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, cast

import trio

from sapwood import Environment, Event, Published, Reader, Request, Runtime, Scripted, ScriptedAnswer
from sapwood.actors.model.providers.base import Piece
from sapwood.events.runtime import name_of
from tests.build import MODEL, call


class Held(Scripted):
    """Says nothing of its second answer until somebody lets it."""

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        if len(self.requests) == 1:
            await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
        async with super().stream(request) as pieces:
            yield pieces


async def echo(text: str) -> str:
    return text


async def tell(reader: Reader, then: Literal["go-on", "stop"]) -> None:
    async for item in reader:
        if isinstance(item, Published):
            try:
                os.write(1, f"{item.seq} {name_of(cast('Event', item.event))}\n".encode())
            except BrokenPipeError:
                if then == "go-on":
                    return
                raise


async def host(path: str, then: Literal["go-on", "stop"]) -> None:
    calling = ScriptedAnswer(calls=(call("c1", "echo", text="hi"),))
    provider = Held({"turn": [calling, ScriptedAnswer(text="well " * 500)]})
    runtime = Runtime(providers=[provider], environment=Environment(), counter="heuristic")
    try:
        async with (
            runtime.open_session(path, model=MODEL, tools=[echo]) as session,
            session.events() as reader,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(tell, reader, then)
            await session.prompt("go")
            os.write(2, b"settled\n")
            nursery.cancel_scope.cancel()
    except* BrokenPipeError:
        pass


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["go-on" | "stop" as then, path]:
            trio.run(host, path, then)
        case _:
            sys.exit(__doc__)
