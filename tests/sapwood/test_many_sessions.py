"""Many sessions in one process know nothing of each other, and cost little while nothing is asked of them."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import msgspec
import pytest
import trio
import trio.testing

from sapwood import (
    Delivered,
    Environment,
    Event,
    Extension,
    ExtensionContext,
    Finish,
    Model,
    Request,
    RetryPolicy,
    Runtime,
    SapwoodError,
    Scripted,
    Session,
    SessionBroken,
    Settings,
    SystemPrompt,
    TextDelta,
    ToolContext,
)
from sapwood.actors.kernel import Tap
from sapwood.actors.model.providers.base import Piece
from sapwood.events.content import text_of
from sapwood.events.deltas import ToolCallEnd, ToolCallStart
from sapwood.events.errors import ProviderError
from sapwood.events.hooks import ChangeResult, ToolCallQuestion, ToolResultQuestion
from sapwood.events.messages import ToolResultMessage
from sapwood.events.runtime import AgentSettled
from tests.build import MODEL, call, text
from tests.sapwood.striking import CrashFrom
from tests.talking import drain

EIGHT: Final = 8


def canary(n: int, run: str = "") -> str:
    return f"canary{run}{n}x"


class Shared:
    """One provider for all: it answers each model with what is that one's, after a call of its tool."""

    id = "shared"

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._failed: set[str] = set()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        self.requests.append(request)
        yield self._pieces(request)

    async def _pieces(self, request: Request) -> AsyncGenerator[Piece, None]:
        mine = request.model.id
        await trio.sleep(0.1)
        if mine not in self._failed:
            self._failed.add(mine)
            raise ProviderError(f"overloaded: {mine}")
        if isinstance(request.messages[-1], ToolResultMessage):
            yield TextDelta(content_index=0, delta=f"answer of {mine}")
            yield Finish(stop_reason="stop")
            return
        one = call(f"call-{mine}-{len(request.messages)}", f"tool_{mine}", text=f"argument of {mine}")
        yield ToolCallStart(content_index=0, id=one.id, tool_name=one.name)
        yield ToolCallEnd(content_index=0, tool_call=one)
        yield Finish(stop_reason="toolUse")


@attrs.define
class Lodger:
    """One session of the eight, with everything its own."""

    mine: str
    folder: Path
    n: int
    tap: Tap | None = None
    contexts: list[tuple[str, str]] = attrs.Factory(list[tuple[str, str]])
    """Session and folder of each: what a handler is told can be read while its session lasts."""
    events: list[Event] = attrs.Factory(list[Event])
    broken: bool = False
    session: Session | None = None

    @property
    def path(self) -> Path:
        return self.folder / f"{self.n}.jsonl"

    def tool(self) -> Callable[..., object]:
        async def work(context: ToolContext, text: str) -> str:
            self.contexts.append((context.session_id, context.cwd))
            context.progress(f"progress of {self.mine}")
            await trio.sleep(0.1 * (self.n + 1))
            return f"result of {self.mine} for {text}"

        work.__name__ = f"tool_{self.mine}"
        work.__doc__ = f"Works for {self.mine}."
        return work

    def extension(self) -> Extension:
        extension = Extension(f"extension of {self.mine}")

        @extension.on(ToolCallQuestion)
        async def look(_: ToolCallQuestion, context: ExtensionContext) -> None:
            self.contexts.append((context.session_id, context.cwd))

        @extension.on(ToolResultQuestion)
        async def mark(question: ToolResultQuestion, _: ExtensionContext) -> ChangeResult:
            return ChangeResult(content=(text(f"{text_of(question.content)}, seen by {self.mine}"),))

        return extension

    @asynccontextmanager
    async def lodging(self, runtime: Runtime) -> AsyncGenerator[Session, None]:
        async with runtime.open_session(
            self.path,
            model=Model(provider="shared", id=self.mine, context_window=100_000 + self.n),
            system_prompt=SystemPrompt(preamble=f"You are {self.mine}.", cwd=True),
            cwd=f"/home/dev/{self.mine}",
            tools=[self.tool()],
            extensions=[self.extension()],
            settings=Settings(retry=RetryPolicy(base_delay_ms=100 * (self.n + 1))),
            tap=self.tap,
        ) as self.session:
            yield self.session

    async def live(self, runtime: Runtime, *, closes_early: bool = False) -> None:
        """A talk: a prompt, what is steered into it, what follows."""
        try:
            async with self.lodging(runtime) as session:
                reader = session.events(since=0)
                handles = [session.submit(f"prompt of {self.mine}")]
                await trio.sleep(0.3)
                handles += [session.steer(f"steer of {self.mine}"), session.follow_up(f"more of {self.mine}")]
                if closes_early:
                    await session.close()
                elif self.tap is not None:
                    for n in range(8):  # as often as it takes until an actor stays down
                        await session.wait_idle()
                        with suppress(SapwoodError):
                            await session.prompt(f"again {n}")
                else:
                    marked = await session.append_custom("mine", {"mine": self.mine})
                    await session.label(marked, f"label {self.mine}")
                for handle in (
                    handles[:1] if self.tap is not None else handles
                ):  # what waits when all is broken waits for the end
                    await handle.done()
                self.events += drain(reader)
                if not closes_early and self.tap is None:
                    assert [type(handle.outcome_nowait) for handle in handles] == [Delivered] * 3
                    assert session.model.id == self.mine
        except SessionBroken:
            self.broken = True


async def live_together(lodgers: Sequence[Lodger], provider: Shared, *, closes_early: int | None = None) -> None:
    runtime = Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic")
    with trio.fail_after(1000):
        async with trio.open_nursery() as nursery:
            for lodger in lodgers:
                nursery.start_soon(partial(lodger.live, runtime, closes_early=lodger.n == closes_early))


def check_whole(lodger: Lodger, others: Sequence[str]) -> None:
    """It has had all of its talk, and nothing of anybody else is in what it keeps, in what it told, or in what it was told."""
    kept = lodger.path.read_text(encoding="utf-8")
    told = msgspec.json.encode(lodger.events).decode()
    for what in ("prompt", "steer", "more", "answer", "result", "argument"):
        assert f"{what} of {lodger.mine}" in kept
        assert f"{what} of {lodger.mine}" in told
    for said in (
        f"seen by {lodger.mine}",
        f"You are {lodger.mine}.",
        f"label {lodger.mine}",
        f"overloaded: {lodger.mine}",
    ):
        assert said in kept
    assert f"progress of {lodger.mine}" in told
    assert [type(event) for event in lodger.events].count(AgentSettled) == 1
    for other in others:
        assert other not in kept
        assert other not in told
    assert {cwd for _, cwd in lodger.contexts} == {f"/home/dev/{lodger.mine}"}
    assert lodger.session is not None
    assert {session_id for session_id, _ in lodger.contexts} == {lodger.session.header.id}


def check_requests(provider: Shared, names: Sequence[str]) -> None:
    """Each model was sent what is its own."""
    assert {request.model.id for request in provider.requests} == set(names)
    for request in provider.requests:
        sent = msgspec.json.encode(request).decode()
        assert request.model.id in sent
        assert not [other for other in names if other != request.model.id and other in sent]


def lodgers_in(folder: Path, run: str = "") -> list[Lodger]:
    return [Lodger(canary(n, run), folder, n) for n in range(EIGHT)]


async def test_nothing_crosses_between_eight_sessions_at_once(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    lodgers, provider = lodgers_in(tmp_path), Shared()

    await live_together(lodgers, provider)

    names = [lodger.mine for lodger in lodgers]
    check_requests(provider, names)
    for lodger in lodgers:
        check_whole(lodger, [name for name in names if name != lodger.mine])


@pytest.mark.parametrize(
    "actor", ["agent", "inbox", "session_log", "projection", "model", "tools", "extensions", "handlers"]
)
async def test_a_session_that_breaks_and_one_that_closes_touch_no_other(
    actor: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    lodgers, provider = lodgers_in(tmp_path), Shared()
    lodgers[3].tap = CrashFrom(actor, 2 if actor not in {"tools", "extensions", "handlers"} else 1)

    await live_together(lodgers, provider, closes_early=5)

    names = [lodger.mine for lodger in lodgers]
    for lodger in lodgers:
        if lodger.n not in {3, 5}:
            check_whole(lodger, [name for name in names if name != lodger.mine])
            assert not lodger.broken
    assert lodgers[3].broken
    check_requests(provider, sorted({request.model.id for request in provider.requests}))


@pytest.mark.slow
def test_two_loops_in_two_threads_know_nothing_of_each_other(tmp_path: Path) -> None:
    runs = [(lodgers_in(tmp_path / run, run), Shared()) for run in ("a", "b")]
    failed: list[BaseException] = []

    def whole(lodgers: Sequence[Lodger], provider: Shared) -> None:
        try:
            lodgers[0].folder.mkdir()
            for _ in range(3):
                clock = trio.testing.MockClock(autojump_threshold=0)
                trio.run(
                    live_together, [attrs.evolve(one, events=[], contexts=[]) for one in lodgers], Shared(), clock=clock
                )
                for one in lodgers:
                    one.path.unlink()
            trio.run(live_together, lodgers, provider, clock=trio.testing.MockClock(autojump_threshold=0))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is seen
            failed.append(error)

    threads = [threading.Thread(target=whole, args=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failed:
        raise failed[0]
    names = [lodger.mine for lodgers, _ in runs for lodger in lodgers]
    for lodgers, provider in runs:
        check_requests(provider, [lodger.mine for lodger in lodgers])
        for lodger in lodgers:
            check_whole(lodger, [name for name in names if name != lodger.mine])


IDLE_BYTES: Final = 60 * 1024
"""Of a session in memory that was opened, and of which nothing was asked yet."""


async def bytes_of_one(count: int) -> float:
    """What each of so many costs."""
    runtime = Runtime(providers=[Scripted()], environment=Environment.scripted(), counter="heuristic")
    async with AsyncExitStack() as stack:

        async def another() -> None:
            await stack.enter_async_context(runtime.open_session(model=MODEL))

        await another()
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(count):
                await another()
            await trio.testing.wait_all_tasks_blocked()
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    return (after - before) / count


@pytest.mark.slow
def test_an_idle_session_costs_little() -> None:
    assert trio.run(bytes_of_one, 200) < IDLE_BYTES


@pytest.mark.full
def test_two_thousand_idle_sessions_cost_little_each() -> None:
    assert trio.run(bytes_of_one, 2_000) < IDLE_BYTES
