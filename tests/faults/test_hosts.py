"""O: sessions inside a program of somebody else's: several at once, one that stops listening, one that leaves."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import pytest
import trio
import trio.testing

from sapwood import (
    Delivered,
    Environment,
    Extension,
    Model,
    Published,
    Request,
    Runtime,
    Scripted,
    ScriptedAnswer,
    Session,
    Settings,
    ToolContext,
    read,
)
from sapwood.actors.model.providers.base import Piece
from sapwood.events.commands import QueueMode
from sapwood.events.content import text_of
from sapwood.events.deltas import TextDelta, TextStart
from sapwood.events.entries import MessageEntry
from sapwood.events.hooks import ChangeResult, ToolResultQuestion
from sapwood.events.messages import AssistantMessage
from sapwood.events.runtime import MessageUpdate
from tests.build import MODEL, call, text, words
from tests.faults.logs import assert_whole
from tests.faults.running import results, strictly_talking, told
from tests.talking import drain, names

CANARIES: Final = ("heron", "badger", "otter", "raven", "marten", "plover", "weasel", "curlew")
CLOSED: Final = frozenset(CANARIES[::2])
"""Whose hosts leave in the middle."""


@attrs.frozen
class Lived:
    """What is left of one session of several."""

    provider: Scripted
    outcomes: list[Delivered]
    said: list[str]


class Several:
    """Eight sessions of one runtime: each with a word, a model, a tool, a handler, settings and a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lived: dict[str, Lived] = {}

    async def run(self) -> None:
        for canary in CANARIES:
            answers = [
                ScriptedAnswer(calls=(call("c1", "where"),), wait=1),
                ScriptedAnswer(text=f"{canary} first", wait=1),
                *(ScriptedAnswer(text=f"{canary} {nth}") for nth in range(4)),
            ]
            self.lived[canary] = Lived(Scripted({"turn": answers}, provider_id=canary), [], [])
        providers = [one.provider for one in self.lived.values()]
        runtime = Runtime(providers=providers, environment=Environment.scripted(), counter="heuristic")
        async with runtime, trio.open_nursery() as nursery:
            for nth, canary in enumerate(CANARIES):
                nursery.start_soon(self._talk, runtime, canary, "all" if nth % 4 < 2 else "one-at-a-time")

    async def _talk(self, runtime: Runtime, canary: str, mode: QueueMode) -> None:
        lived, extension = self.lived[canary], Extension("marking")

        async def where(context: ToolContext) -> str:
            return context.cwd

        @extension.on(ToolResultQuestion)
        async def mark(question: ToolResultQuestion, _: object) -> ChangeResult:
            return ChangeResult(content=(text(f"{text_of(question.content)} by {canary}"),))

        async with runtime.open_session(
            self.folder / f"{canary}.jsonl",
            model=Model(provider=canary, id=f"model of {canary}"),
            cwd=f"/home/dev/{canary}",
            tools=[where],
            extensions=[extension],
            settings=Settings(follow_up_mode=mode),
        ) as session:
            handles = [session.submit(f"{canary} go")]
            await trio.sleep(0.5)
            handles += [session.follow_up(f"{canary} {nth}") for nth in range(2)]
            if canary in CLOSED:
                await trio.sleep(1)
                return
            for handle in handles:
                outcome = await handle.outcome()
                assert isinstance(outcome, Delivered)
                lived.outcomes.append(outcome)
            lived.said.extend(told(session))

    def check(self) -> None:
        for nth, canary in enumerate(CANARIES):
            lived, path = self.lived[canary], self.folder / f"{canary}.jsonl"
            raw = path.read_text(encoding="utf-8")
            requests = " ".join(words(one) for request in lived.provider.requests for one in request.messages)
            for other in CANARIES:
                assert (other in raw) is (other == canary)
                assert (other in requests) is (other == canary)
            assert {(one.model.provider, one.model.id) for one in lived.provider.requests} == {
                (canary, f"model of {canary}")
            }
            assert_whole(path)
            with read(path) as session:
                assert session.header.cwd == f"/home/dev/{canary}"
                assert results(session) == [("c1", f"/home/dev/{canary} by {canary}")]
                last = session.entries()[-1]
            assert isinstance(last, MessageEntry)
            assert isinstance(last.message, AssistantMessage)
            if canary in CLOSED:
                assert last.message.stop_reason == "aborted"
                continue
            assert [one.failed for one in lived.outcomes] == [False] * 3
            both = [f"user: {canary} 0", f"user: {canary} 1", f"assistant: {canary} 0"]
            in_turn = [f"user: {canary} 0", f"assistant: {canary} 0", f"user: {canary} 1", f"assistant: {canary} 1"]
            assert lived.said[4:] == (both if nth % 4 < 2 else in_turn), "its settings are its own"


async def test_o01_sessions_of_one_process_have_nothing_in_common(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """O01: half of them are left in the middle of a run, and the others do not notice."""
    several = Several(tmp_path)
    await several.run()
    several.check()


@pytest.mark.slow
def test_o01_two_loops_in_two_threads_have_nothing_in_common(tmp_path: Path) -> None:
    """O01: at once, each with its eight sessions."""
    both: list[Several] = []
    faults: list[BaseException] = []
    together = threading.Barrier(2)

    def loop(several: Several) -> None:
        async def run() -> None:
            together.wait(30)
            await several.run()

        try:
            trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))
        except BaseException as fault:  # noqa: BLE001 - told by whoever waits
            faults.append(fault)

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        both.append(Several(tmp_path / name))
    threads = [threading.Thread(target=loop, args=(several,)) for several in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    for several in both:
        several.check()


@pytest.mark.parametrize("when", ["while it streams", "while a tool runs"])
async def test_o02_a_reader_that_is_closed_in_the_middle_of_a_turn_changes_nothing(
    when: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """O02: the turn goes to its end, the log is whole, and another reader hears the rest."""
    path = tmp_path / "s.jsonl"

    async def work() -> str:
        if when == "while a tool runs":
            await leaving.aclose()
        await trio.sleep(1)
        return "worked"

    first = ScriptedAnswer(text="some words first ", calls=(call("c1", "work"),))
    async with strictly_talking(first, "well", where=path, tools=[work]) as (session, _):
        leaving, staying = session.events(), session.events()

        async def leave() -> None:
            async for item in leaving:
                if isinstance(item, Published) and isinstance(item.event, MessageUpdate):
                    await leaving.aclose()
                    return

        async with trio.open_nursery() as nursery:
            if when == "while it streams":
                nursery.start_soon(leave)
            outcome = await session.prompt("go")
        assert not outcome.failed
        assert outcome.turns == 2
        with pytest.raises(trio.ClosedResourceError):
            leaving.receive_nowait()
        heard = names(drain(staying))
        assert heard[-1] == "agent_settled"
        assert heard.count("turn_end") == 2
    assert_whole(path)
    with read(path) as again:
        assert told(again) == ["user: go", "assistant: some words first", "c1", "assistant: well"]


@pytest.mark.slow
@pytest.mark.parametrize("then", ["go-on", "stop"])
def test_o02_a_host_whose_output_nobody_reads_any_more_ends_as_it_means_to(then: str, tmp_path: Path) -> None:
    """O02: between two turns. Either the turn goes to its end, or it is recorded as stopped; the log is whole, and nothing is blurted."""
    path = tmp_path / "s.jsonl"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.telling", then, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        assert host.stderr is not None
        while b"turn_end" not in host.stdout.readline():
            pass
        host.stdout.close()
        host.stdin.write(b"\n")
        host.stdin.close()
        blurted = host.stderr.read().decode()
        assert host.wait(60) == 0
    assert blurted.split() == (["settled"] if then == "go-on" else [])
    assert_whole(path)
    with read(path) as session:
        assert told(session)[:3] == ["user: go", "assistant:", "c1"]
        last = session.entries()[-1]
        assert isinstance(last, MessageEntry)
        assert isinstance(last.message, AssistantMessage)
        assert last.message.stop_reason == ("stop" if then == "go-on" else "aborted")


async def test_o04_an_answer_is_recorded_though_whoever_asked_for_it_was_cancelled(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """O04: who asks and who listens are one task of the host's, and a client goes away. The next request is in order."""
    path = tmp_path / "s.jsonl"

    async def serve(session: Session) -> None:
        async with session.events() as reader, trio.open_nursery() as nursery:
            nursery.start_soon(session.prompt, "go")
            async for _ in reader:
                pass

    async with strictly_talking(ScriptedAnswer(text="a whole answer", wait=2), "well", where=path) as (session, _):
        with trio.move_on_after(1):
            await serve(session)
        assert session.state == "run"
        await session.wait_idle()
        assert trio.current_time() == 2
        assert told(session) == ["user: go", "assistant: a whole answer"]
        assert not (await session.prompt("and now?")).failed
    assert_whole(path)
    async with strictly_talking("still here", where=path) as (session, _):
        assert not (await session.prompt("there?")).failed
        assert told(session)[1::2] == ["assistant: a whole answer", "assistant: well", "assistant: still here"]


class Stuck(Scripted):
    """Says half of an answer, and then nothing for ever."""

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        yield self._half()

    async def _half(self) -> AsyncGenerator[Piece, None]:
        yield TextStart(content_index=0)
        yield TextDelta(content_index=0, delta="half of an")
        await trio.sleep_forever()


@pytest.mark.parametrize("how", ["abort", "leave"])
async def test_o04_a_run_that_is_cancelled_itself_is_recorded_as_far_as_it_came(
    how: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """O04: by an abort, or with the scope that the session is in; opened again, it goes on."""
    path = tmp_path / "s.jsonl"
    runtime = Runtime(providers=[Stuck()], environment=Environment.scripted(), counter="heuristic")
    with trio.move_on_after(1) as scope:
        async with runtime.open_session(path, model=MODEL, cwd="/home/dev") as session:
            if how == "leave":
                await session.prompt("go")
            handle = session.submit("go")
            await trio.sleep(0.5)
            await session.abort()
            outcome = await handle.outcome()
            assert isinstance(outcome, Delivered)
            assert outcome.aborted
    assert scope.cancelled_caught is (how == "leave")
    assert_whole(path)
    with read(path) as again:
        assert told(again) == ["user: go", "assistant: half of an"]
        last = again.entries()[-1]
        assert isinstance(last, MessageEntry)
        assert isinstance(last.message, AssistantMessage)
        assert last.message.stop_reason == "aborted"
    async with strictly_talking("well", where=path) as (session, provider):
        assert not (await session.prompt("and now?")).failed
        assert "half of an" not in " ".join(map(words, provider.requests[0].messages)), (
            "an answer that failed is not sent"
        )
