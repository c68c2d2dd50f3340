"""An abort settles in a fifth of a second, whatever is under way, and leaves nothing that can be stopped (R4)."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import attrs
import psutil
import pytest
import trio
import trio.testing

from sapwood import Delivered, Environment, Runtime, ScriptedAnswer, Session
from sapwood.actors.kernel import Tap
from sapwood.actors.kernel.testing import Counting
from sapwood.actors.tools.results import INTERRUPTED, LEFT_BEHIND
from sapwood.events.content import ToolCall, text_of
from sapwood.events.entries import MessageEntry
from sapwood.events.messages import AssistantMessage, ToolResultMessage
from sapwood.events.runtime import AgentSettled
from sapwood.store.port import Durability
from tests.build import MODEL, call
from tests.sapwood.hindering import STUBBORN, UNDER_WAY, Hindered
from tests.sapwood.striking import HoldAt
from tests.talking import drain, talking

T = TypeVar("T")

SETTLES_IN: Final = 0.2
WHEN: Final = 3.0
"""Seconds after which it is stopped: each of them is at it by then."""
ONE_IN: Final = 9
"""Of the moments at which it may be stopped, the ordinary run tries one in so many; the others are tried in the full one."""


@asynccontextmanager
async def opened(
    hindered: Hindered, path: Path, durability: Durability, tap: Tap | None = None
) -> AsyncGenerator[Session, None]:
    """The session of it."""
    environment = Environment.scripted(disk=hindered.disk)
    runtime = Runtime(providers=[hindered.provider], environment=environment, counter="heuristic")
    async with runtime.open_session(
        path,
        model=MODEL,
        durability=durability,
        tools=hindered.tools,
        ask=hindered.ask,
        extensions=hindered.extensions,
        system_prompt=hindered.system_prompt,
        settings=hindered.settings,
        tap=tap,
    ) as session:
        if hindered.full_from is not None:
            full_from = trio.current_time() + hindered.full_from
            hindered.disk.plan = lambda _, name: (
                errno.ENOSPC if name == "write" and trio.current_time() >= full_from else None
            )
        yield session


def state_of(session: Session) -> str:
    """As a type checker cannot take for what it was before."""
    return session.state


async def abort_it(hindered: Hindered, path: Path, durability: Durability) -> None:
    tasks = trio.lowlevel.current_statistics().tasks_living
    async with opened(hindered, path, durability) as session:
        reader = session.events()
        handle = session.submit("go")
        await trio.sleep(WHEN)
        assert state_of(session) == "run"
        began = trio.current_time()
        await session.abort()
        took = trio.current_time() - began

        assert took <= SETTLES_IN
        assert state_of(session) == "idle"
        assert handle.outcome_nowait is not None, "and whoever said it is told"
        assert [type(event) for event in drain(reader)].count(AgentSettled) == 1
        await trio.testing.wait_all_tasks_blocked()
        running = session._wiring.system._commons.running
        assert bool(running) == hindered.outlives, [one.title for one in running]

        hindered.disk.plan = lambda _number, _name: None
        entries = len(session.entries())
        await trio.sleep(2 * STUBBORN)
        assert not running, [one.title for one in running]
        assert len(session.entries()) == entries, "what was left behind is nobody's"
        assert (await session.prompt("and now?")).answer is not None
        results = [entry.message for entry in session.entries() if isinstance(entry, MessageEntry)]
        calls = [one.tool_call_id for one in results if isinstance(one, ToolResultMessage)]
        assert len(calls) == len(set(calls))
    assert session._wiring.system.stragglers == ()
    assert trio.lowlevel.current_statistics().tasks_living == tasks, "no task is left"


@pytest.mark.parametrize("durability", ["os", "disk"])
@pytest.mark.parametrize("what", UNDER_WAY)
async def test_an_abort_settles_whatever_is_under_way(
    what: str, durability: Durability, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with trio.fail_after(1000):
        await abort_it(UNDER_WAY[what](), tmp_path / "s.jsonl", durability)


async def moments(hindered: Hindered, path: Path) -> int:
    """How many messages are received, and operations begin and end, until it is at it."""
    counting = Counting()
    async with opened(hindered, path, "os", counting) as session:
        session.submit("go")
        await trio.sleep(WHEN)
        return counting.moments


async def abort_at(n: int, hindered: Hindered, path: Path) -> None:
    tasks = trio.lowlevel.current_statistics().tasks_living
    tap = HoldAt(n)
    async with opened(hindered, path, "os", tap) as session:
        reader = session.events()
        handle = session.submit("go")
        with trio.move_on_after(WHEN):  # in another order there may be a moment less
            await tap.reached.wait()
        began = trio.current_time()
        await session.abort()

        assert trio.current_time() - began <= SETTLES_IN
        assert state_of(session) == "idle"
        assert handle.outcome_nowait is not None
        assert [type(event) for event in drain(reader)].count(AgentSettled) == 1
        await trio.testing.wait_all_tasks_blocked()
        assert hindered.outlives or not session._wiring.system._commons.running
        if hindered.full_from is None:
            assert sorted(results(session)) == sorted(calls_in(session)), "each call is told what came of it"

        hindered.disk.plan = lambda _number, _name: None
        entries = session.entries()
        await trio.sleep(2 * STUBBORN)
        assert session.entries() == entries, "what was left behind is nobody's"
        assert (await session.prompt("and now?")).answer is not None
    assert session._wiring.system.stragglers == ()
    assert trio.lowlevel.current_statistics().tasks_living == tasks, "no task is left"


def check_aborts(what: str, folder: Path, *, part: int) -> None:
    def run(work: Callable[[], Awaitable[T]]) -> T:
        async def bounded() -> T:
            with trio.fail_after(1000):
                return await work()

        return trio.run(bounded, clock=trio.testing.MockClock(autojump_threshold=0))

    count = run(lambda: moments(UNDER_WAY[what](), folder / "s.jsonl"))
    assert count > 5
    for n in range(1 + part, count + 1, ONE_IN):
        try:
            run(partial(abort_at, n, UNDER_WAY[what](), folder / f"{n}.jsonl"))
        except BaseException as fault:
            fault.add_note(f"it was {what!r}, aborted at moment {n} of {count}")
            raise


@pytest.mark.slow
@pytest.mark.parametrize("what", UNDER_WAY)
def test_an_abort_settles_at_any_moment(what: str, tmp_path: Path) -> None:
    check_aborts(what, tmp_path, part=len(what) % ONE_IN)


@pytest.mark.full
@pytest.mark.parametrize("part", range(ONE_IN))
@pytest.mark.parametrize("what", UNDER_WAY)
def test_an_abort_settles_at_every_moment(what: str, part: int, tmp_path: Path) -> None:
    check_aborts(what, tmp_path, part=part)


@pytest.mark.parametrize("what", UNDER_WAY)
async def test_closing_settles_whatever_is_under_way(
    what: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Each handle has its outcome by then; what is left behind is named."""
    hindered = UNDER_WAY[what]()
    with trio.fail_after(1000):
        async with opened(hindered, tmp_path / "s.jsonl", "os") as session:
            handle = session.submit("go")
            later = session.follow_up("later")
            await trio.sleep(WHEN)
            began = trio.current_time()
            await session.close()
            assert trio.current_time() - began <= SETTLES_IN
            assert handle.outcome_nowait is not None
            assert later.outcome_nowait is not None
    assert (trio.current_time() > began + 1) == hindered.outlives, "leaving waits for what cannot be stopped"


def calls_in(session: Session) -> list[str]:
    """The calls of all answers that are whole."""
    return [
        block.id
        for entry in session.entries()
        if isinstance(entry, MessageEntry)
        and isinstance(entry.message, AssistantMessage)
        and entry.message.stop_reason == "toolUse"
        for block in entry.message.content
        if isinstance(block, ToolCall)
    ]


def results(session: Session) -> dict[str, str]:
    return {
        entry.message.tool_call_id: text_of(entry.message.content)
        for entry in session.entries()
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
    }


@pytest.mark.slow
async def test_an_abort_is_as_quick_by_the_clock_with_a_thread_and_a_tree_of_processes() -> None:
    may_end, in_thread, in_tree = threading.Event(), trio.Event(), trio.Event()
    groups: list[int] = []

    def blocked() -> str:
        trio.from_thread.run_sync(in_thread.set)
        may_end.wait(30)
        return "too late"

    async def tree() -> str:
        command = ["bash", "-c", "sleep 300 & sleep 300 & echo up; wait"]
        process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, start_new_session=True)
        groups.append(process.pid)
        assert process.stdout is not None
        try:
            await process.stdout.receive_some()
            in_tree.set()
            await process.wait()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            with trio.CancelScope(shield=True):
                await process.wait()
                await process.stdout.aclose()
        return "done"

    calling = ScriptedAnswer(calls=(call("c1", "blocked"), call("c2", "tree")))
    with trio.fail_after(20):
        async with talking(calling, "on", tools=[blocked, tree], environment=Environment()) as session:
            handle = session.submit("go")
            await in_thread.wait()
            await in_tree.wait()
            assert len(of_group(groups[0])) == 3
            began = trio.current_time()
            await session.abort()
            took = trio.current_time() - began
            outcome = await handle.outcome()
            left = of_group(groups[0])
            assert results(session) == {"c1": LEFT_BEHIND, "c2": INTERRUPTED}
            assert (await session.prompt("and now?")).answer is not None
            may_end.set()
    assert isinstance(outcome, Delivered)
    assert outcome.aborted
    assert took < 0.2 + 0.3, "and a little for a machine that has much to do"
    assert left == []


def of_group(group: int) -> list[psutil.Process]:
    """The processes of a group that are at work."""
    alive: list[psutil.Process] = []
    for one in psutil.process_iter():
        try:
            if os.getpgid(one.pid) == group and one.status() != psutil.STATUS_ZOMBIE:
                alive.append(one)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return alive


@pytest.mark.slow
async def test_an_answer_of_very_many_calls_settles_as_quickly(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Each result was a write of its own, and a disk that hardens one in 5 ms took seconds for them."""
    calls = tuple(call(f"c{n}", "wait", n=n) for n in range(1000))

    async def slowly(function: Callable[[], T]) -> T:
        await trio.sleep(0.005)
        return function()

    async def wait(n: int) -> None:
        await trio.sleep_forever()

    environment = attrs.evolve(Environment.scripted(), run_sync=slowly)
    async with talking(
        ScriptedAnswer(calls=calls),
        where=str(tmp_path / "s.jsonl"),
        environment=environment,
        durability="disk",
        tools=[wait],
    ) as session:
        handle = session.submit("go")
        await trio.sleep(WHEN)
        began, worked = trio.current_time(), time.process_time()
        await session.abort()
        assert trio.current_time() - began < SETTLES_IN
        assert time.process_time() - worked < 5  # some 0.4 s where nothing else goes on
        assert handle.outcome_nowait is not None
        results = [one for one in session.context().messages if isinstance(one, ToolResultMessage)]
        assert {text_of(one.content) for one in results} == {INTERRUPTED}
        assert len(results) == 1000
