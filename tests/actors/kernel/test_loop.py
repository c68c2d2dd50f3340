from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
import trio

from sapwood.actors.kernel import Loop, Ring, WrongThread, open_system
from tests.actors.kernel.puppet import Note, Notes, Puppet


def raised_in_another_loop(work: Callable[[], object]) -> object:
    """What it raises in a `trio.run` of another thread."""

    async def main() -> object:
        try:
            given = work()
            if isinstance(given, Awaitable):
                await cast("Awaitable[object]", given)
        except WrongThread as error:
            return error
        return None

    return trio.run(main)


async def test_what_is_on_the_loop_is_done_there_and_then() -> None:
    loop = Loop()
    loop.check()
    assert loop.here
    assert loop.call(threading.get_ident) == threading.get_ident()


async def test_a_thread_has_it_done_on_the_loop_whoever_began_the_thread() -> None:
    loop, here = Loop(), threading.get_ident()
    done: list[int] = []

    def in_a_thread_of_its_own() -> None:
        thread = threading.Thread(target=lambda: done.append(loop.call(threading.get_ident)))
        thread.start()
        thread.join()

    assert await trio.to_thread.run_sync(loop.call, threading.get_ident) == here
    await trio.to_thread.run_sync(in_a_thread_of_its_own)
    assert done == [here]
    with pytest.raises(WrongThread):
        await trio.to_thread.run_sync(loop.check)


async def test_another_loop_is_refused() -> None:
    loop = Loop()
    done: list[int] = []
    refused = await trio.to_thread.run_sync(raised_in_another_loop, lambda: loop.call(lambda: done.append(1)))
    assert isinstance(refused, WrongThread)
    assert refused.reason == "wrong-thread"
    assert "trio.from_thread.run(" in str(refused)
    assert done == []


def test_a_loop_that_is_over_is_refused_in_its_own_thread_and_in_others() -> None:
    async def main() -> Loop:
        return Loop()

    loop, raised = trio.run(main), list[bool]()
    assert not loop.here
    with pytest.raises(WrongThread):
        loop.call(threading.get_ident)

    def elsewhere() -> None:
        try:
            loop.call(threading.get_ident)
        except WrongThread:
            raised.append(True)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert raised == [True]


async def test_whatever_reaches_a_system_from_another_loop_is_refused_and_harms_nothing() -> None:
    """The messages used to be taken, and their actor never woke again."""
    async with open_system("s", ring=(ring := Ring(9))) as system:
        ref, reader = system.spawn("a", Puppet), ring.reader()
        assert await ref.ask(Notes()) == []
        ways: list[Callable[[], object]] = [
            lambda: ref.tell(Note("told")),
            lambda: ref.ask(Notes()),
            lambda: ref.ask_soon(Notes(), lambda _: None),
            ref.guard,
            lambda: system.publish("event"),
            reader.receive_nowait,
            reader.receive,
            reader.close,
        ]
        for way in ways:
            assert isinstance(await trio.to_thread.run_sync(raised_in_another_loop, way), WrongThread), way
        with trio.fail_after(1):
            assert await ref.ask(Notes()) == []
        assert ring.seq == 0
