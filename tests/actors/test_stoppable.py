"""Work that is stopped: before it begins, while it is under way, behind its end, and however it ends by itself."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from sapwood.actors.stoppable import Stoppable
from sapwood.events.errors import CompactionFailed


def stoppable() -> Stoppable:
    return Stoppable(lambda: CompactionFailed("stopped", aborted=True))


class Work:
    """Waits for ever, unless it is let go."""

    def __init__(self, *, shielded: bool = False) -> None:
        self.begun = self.cleaned = False
        self.let_go = trio.Event()
        self._shielded = shielded

    async def __call__(self) -> str:
        self.begun = True
        try:
            with trio.CancelScope(shield=self._shielded):
                await self.let_go.wait()
        finally:
            self.cleaned = True
        return "done"


async def test_work_that_nobody_stops_gives_what_it_gives() -> None:
    work, one = Work(), stoppable()
    work.let_go.set()

    assert await one.run("a", work) == "done"
    assert await one.run("a", work) == "done"


async def test_work_that_was_stopped_before_does_not_begin() -> None:
    work, one = Work(), stoppable()
    one.stop("a")

    with pytest.raises(CompactionFailed, match=r"^stopped$") as failed:
        await one.run("a", work)

    assert (failed.value.aborted, work.begun) == (True, False)
    work.let_go.set()
    assert await one.run("a", work) == "done"  # that stop was for the one before


async def test_a_stop_is_for_its_own_key(autojump_clock: trio.testing.MockClock) -> None:
    stopped, other, one = Work(), Work(), stoppable()
    with pytest.RaisesGroup(CompactionFailed):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.run, "a", stopped)
            with trio.CancelScope(shield=True):
                async with trio.open_nursery() as inside:
                    inside.start_soon(one.run, "b", other)
                    await trio.testing.wait_all_tasks_blocked()
                    one.stop("a")
                    await trio.testing.wait_all_tasks_blocked()
                    assert (stopped.cleaned, other.cleaned) == (True, False)
                    other.let_go.set()


@pytest.mark.parametrize("times", [1, 2])
async def test_what_the_work_shields_ends_well(times: int) -> None:
    work, one, came = Work(shielded=True), stoppable(), list[str]()

    async def run() -> None:
        came.append(await one.run("a", work))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(times):
            one.stop("a")
        work.let_go.set()
    assert came == ["done"]


async def test_a_stop_behind_the_end_is_for_nobody() -> None:
    work, one = Work(), stoppable()
    work.let_go.set()
    await one.run("a", work)
    one.stop("a")

    assert await one.run("a", work) == "done"


async def test_who_leaves_takes_the_work_along_and_hears_nothing_of_a_stop() -> None:
    work, one = Work(), stoppable()

    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.run, "a", work)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()

    assert (scope.cancelled_caught, work.cleaned) == (True, True)


async def test_a_fault_of_the_work_is_raised_and_the_key_is_free_again() -> None:
    async def broken() -> str:
        raise ValueError("broken")

    work, one = Work(), stoppable()
    work.let_go.set()
    with pytest.raises(ValueError, match=r"^broken$"):
        await one.run("a", broken)

    one.stop("a")
    assert await one.run("a", work) == "done"
