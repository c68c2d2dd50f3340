"""What is called before a wait is called then, and at no other time."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from sapwood.actors.model.eager import awaiting


async def test_what_does_not_wait_calls_nothing() -> None:
    called: list[str] = []

    async def at_once() -> int:
        return 7

    assert await awaiting(at_once(), lambda: called.append("before")) == 7
    assert called == []


async def test_each_wait_is_told_before_it_begins(autojump_clock: trio.testing.MockClock) -> None:
    times: list[float] = []

    async def slow() -> str:
        await trio.sleep(3)
        await trio.sleep(4)
        return "so"

    began = trio.current_time()
    assert await awaiting(slow(), lambda: times.append(trio.current_time() - began)) == "so"
    assert (times[0], times[-1]) == (0, 3)
    assert trio.current_time() - began == 7


async def test_a_wait_is_cancelled_as_any_other(autojump_clock: trio.testing.MockClock) -> None:
    ended: list[str] = []

    async def long() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("cancelled")

    with trio.move_on_after(5) as scope:
        await awaiting(long(), lambda: None)
    assert scope.cancelled_caught
    assert ended == ["cancelled"]


async def test_who_calls_may_cancel_what_is_about_to_wait() -> None:
    long = trio.Event()

    with trio.CancelScope() as scope:
        await awaiting(long.wait(), scope.cancel)
    assert scope.cancelled_caught


@pytest.mark.parametrize("waits", [False, True])
async def test_what_is_raised_comes_out_as_it_is(*, waits: bool) -> None:
    async def broken() -> None:
        if waits:
            await trio.lowlevel.checkpoint()
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        await awaiting(broken(), lambda: None)
