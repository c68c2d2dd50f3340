"""A session lives in one `trio.run`: threads are served there, and other loops are refused before anything is touched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

import pytest
import trio

from sapwood import Delivered, Environment, Handle, Refused, ScriptedAnswer, Session, WrongThread
from tests.build import call, words
from tests.talking import talking

CALLING = ScriptedAnswer(calls=(call("c1", "remind"),))
REAL_THREADS = Environment()


def said(session: Session, role: str = "user") -> list[str]:
    return [words(item.message) for item in session.context().items if item.message.role == role]


@pytest.mark.parametrize("way", ["steer", "follow_up"])
async def test_a_plain_tool_says_something_from_its_thread(way: str) -> None:
    """The session used to be dead from then on: the next prompt never came back, and the block could not be left."""
    handles: list[Handle] = []

    def remind() -> str:
        handles.append(getattr(session, way)("and then tidy up"))
        return f"{session.state}, {len(session.entries())} entries"

    with trio.fail_after(5):
        async with talking(CALLING, "one", "two", "three", tools=[remind], environment=REAL_THREADS) as session:
            await session.prompt("go")
            assert isinstance(await handles[0].outcome(), Delivered)
            assert said(session) == ["go", "and then tidy up"]
            assert said(session, "toolResult") == ["run, 3 entries"]
            await session.prompt("next")


async def test_what_a_thread_submits_into_a_run_is_refused_by_the_run_and_not_by_the_thread() -> None:
    handles: list[Handle] = []

    def remind() -> None:
        handles.append(session.submit("me too"))

    async with talking(CALLING, "one", "two", tools=[remind], environment=REAL_THREADS) as session:
        await session.prompt("go")
        with pytest.raises(Refused, match="A run is in progress"):
            await handles[0].outcome()
        await session.prompt("next")


def ways(session: Session, handle: Handle) -> list[Callable[[], object]]:
    reader = session.events()
    return [
        partial(session.prompt, "x"),
        partial(session.submit, "x"),
        partial(session.steer, "x"),
        partial(session.follow_up, "x"),
        partial(session.set_thinking_level, "high"),
        partial(session.append_custom, "x", 1),
        session.wait_idle,
        session.abort,
        session.close,
        session.restore,
        session.events,
        session.queue,
        session.context,
        session.context_usage,
        session.entries,
        session.stats,
        handle.cancel,
        handle.done,
        handle.outcome,
        reader.receive,
        reader.receive_nowait,
    ]


def in_another_run(way: Callable[[], object]) -> BaseException | None:
    """What comes of it in a `trio.run` of this thread."""

    async def main() -> BaseException | None:
        try:
            with trio.fail_after(2):
                given = way()
                if hasattr(given, "__await__"):
                    await cast("Awaitable[object]", given)
        except Exception as error:  # noqa: BLE001 - which one is the test's question
            return error
        return None

    return trio.run(main)


async def test_another_loop_is_refused_and_the_session_goes_on() -> None:
    """Commands used to be taken, or to break halfway, and the session's own loop then waited for ever."""
    with trio.fail_after(10):
        async with talking("one", environment=REAL_THREADS) as session:
            waiting = session.follow_up("later")
            for way in ways(session, waiting):
                came = await trio.to_thread.run_sync(in_another_run, way)
                assert isinstance(came, WrongThread), (way, came)
            assert session.entries() == ()
            assert isinstance(await session.prompt("own"), Delivered)
            assert said(session) == ["own", "later"]


async def test_a_closed_session_is_read_from_anywhere() -> None:
    async with talking("one", environment=REAL_THREADS) as session:
        await session.prompt("go")
    assert await trio.to_thread.run_sync(in_another_run, session.entries) is None
    assert await trio.to_thread.run_sync(session.stats) == session.stats()
