from __future__ import annotations

import gc
from contextlib import suppress
from functools import partial
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from sapwood.actors.kernel import Closed, Published, Reader, Resync, Ring


async def collect(reader: Reader, into: list[Published | Resync]) -> None:
    async for item in reader:
        into.append(item)  # noqa: PERF401 - one by one is what is tested


async def test_a_reader_follows_while_the_publisher_goes_on(nursery: trio.Nursery) -> None:
    ring, seen = Ring(100), list[Published | Resync]()
    nursery.start_soon(collect, ring.reader(), seen)
    for n in range(3):
        await wait_all_tasks_blocked()
        assert ring.publish(n) == n + 1
    await wait_all_tasks_blocked()
    assert seen == [Published(1, 0), Published(2, 1), Published(3, 2)]
    ring.close()


async def test_closing_the_ring_ends_readers_after_they_drained(nursery: trio.Nursery) -> None:
    ring, waiting = Ring(100), list[Published | Resync]()
    nursery.start_soon(collect, ring.reader(), waiting)
    behind = ring.reader()
    ring.publish("last")
    ring.close()
    await wait_all_tasks_blocked()
    assert waiting == [Published(1, "last")]
    assert await behind.receive() == Published(1, "last")
    with pytest.raises(trio.EndOfChannel):
        await behind.receive()
    with pytest.raises(Closed):
        ring.publish("late")


async def test_a_reader_that_fell_off_a_closed_ring_gets_its_resync_and_then_the_end() -> None:
    ring = Ring(1, snapshot=lambda: "state")
    reader = ring.reader()
    for n in range(3):
        ring.publish(n)
    ring.close()
    assert [item async for item in reader] == [Resync("state", 3)]


async def test_a_second_task_on_one_reader_is_refused(nursery: trio.Nursery) -> None:
    ring = Ring(100)
    reader = ring.reader()
    nursery.start_soon(reader.receive)
    await wait_all_tasks_blocked()
    with pytest.raises(trio.BusyResourceError):
        await reader.receive()
    ring.publish("for the first")


async def test_a_cancelled_receive_loses_nothing() -> None:
    ring = Ring(100)
    reader = ring.reader()
    with trio.move_on_after(0):
        await reader.receive()
    ring.publish(1)
    with trio.move_on_after(0) as scope:
        await reader.receive()
    assert scope.cancelled_caught
    assert await reader.receive() == Published(1, 1)


async def test_a_receive_that_is_cancelled_as_the_event_arrives_still_returns_it(nursery: trio.Nursery) -> None:
    ring, got = Ring(100), list[Published | Resync]()
    reader, scope = ring.reader(), trio.CancelScope()

    async def receive() -> None:
        with scope:
            got.append(await reader.receive())

    nursery.start_soon(receive)
    await wait_all_tasks_blocked()
    ring.publish(1)
    scope.cancel()
    await wait_all_tasks_blocked()
    assert got == [Published(1, 1)]


async def test_closing_a_reader_wakes_the_task_that_waits_on_it(nursery: trio.Nursery) -> None:
    ring = Ring(100)
    reader = ring.reader()

    async def receive() -> None:
        with pytest.raises(trio.ClosedResourceError):
            await reader.receive()

    nursery.start_soon(receive)
    await wait_all_tasks_blocked()
    await reader.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await reader.receive()
    await wait_all_tasks_blocked()
    assert ring.waiting == {}
    ring.publish(1)


async def test_a_reader_that_breaks_or_is_left_harms_nobody(nursery: trio.Nursery) -> None:
    ring, seen = Ring(4, merge=lambda _a, _b: None), list[Published | Resync]()
    nursery.start_soon(collect, ring.reader(), seen)
    broken = ring.reader()
    ring.reader()
    gc.collect()
    ring.publish(0)
    with suppress(ValueError):
        async for _ in broken:
            raise ValueError("foreign code")
    for n in range(1, 20):
        ring.publish(n)
        await wait_all_tasks_blocked()
    assert [item.event for item in seen if isinstance(item, Published)] == list(range(20))
    ring.close()


async def test_receive_nowait_says_when_it_would_wait() -> None:
    ring = Ring(100)
    reader = ring.reader()
    with pytest.raises(trio.WouldBlock):
        reader.receive_nowait()
    ring.publish(1)
    assert reader.receive_nowait() == Published(1, 1)


async def test_a_receive_whose_event_was_taken_by_receive_nowait_waits_on(nursery: trio.Nursery) -> None:
    ring, got = Ring(100), list[Published | Resync]()
    reader = ring.reader()

    async def receive() -> None:
        got.append(await reader.receive())

    nursery.start_soon(receive)
    await wait_all_tasks_blocked()
    ring.publish(1)
    assert reader.receive_nowait() == Published(1, 1)
    await wait_all_tasks_blocked()
    ring.publish(2)
    await wait_all_tasks_blocked()
    assert got == [Published(2, 2)]


def test_a_closed_reader_holds_nothing_apart() -> None:
    ring = Ring(2, merge=joined)
    begin = ring.reader()
    ring.publish(Delta((1,)))
    between = ring.reader()
    between.close()
    for event in (Delta((2,)), 3):
        ring.publish(event)
    assert begin.receive_nowait() == Published(2, Delta((1, 2)))


async def test_receive_is_a_checkpoint_even_when_events_are_there() -> None:
    ring = Ring(100)
    reader = ring.reader()
    ring.publish(1)
    with trio.testing.assert_checkpoints():
        await reader.receive()


COMMANDS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["delta", "fact", "settle", "step"]), st.just(0)),
        st.tuples(st.sampled_from(["cancel", "start", "close"]), st.integers(0, 3)),
    ),
    max_size=40,
)


@attrs.frozen
class Delta:
    """A mergeable event; a structural one is a bare int."""

    atoms: tuple[int, ...]


def joined(a: Any, b: Any) -> Delta | None:
    return Delta(a.atoms + b.atoms) if isinstance(a, Delta) and isinstance(b, Delta) else None


class Follower:
    """Reads in a task of its own, which may be cancelled and started again; checks gap and double."""

    def __init__(self, ring: Ring) -> None:
        self.ring, self.reader, self.seq = ring, ring.reader(), ring.seq
        self.scope = trio.CancelScope()
        self.running = self.closed = False

    async def run(self) -> None:
        with self.scope, suppress(trio.ClosedResourceError):
            async for item in self.reader:
                if isinstance(item, Published):
                    atoms = list(item.event.atoms) if isinstance(item.event, Delta) else [item.event]
                    assert atoms == list(range(self.seq + 1, item.seq + 1))
                self.seq = item.seq
        self.running = False


async def run_program(capacity: int, program: list[tuple[str, int]]) -> None:
    ring = Ring(capacity, merge=joined, snapshot=lambda: None)
    async with trio.open_nursery() as nursery:
        followers = [Follower(ring) for _ in range(4)]
        for command, n in program:
            follower = followers[n]
            if command in {"delta", "fact"}:
                seq = ring.seq + 1
                ring.publish(Delta((seq,)) if command == "delta" else seq)
            elif command == "settle":
                await wait_all_tasks_blocked()
            elif command == "step":
                await trio.lowlevel.checkpoint()
            elif command == "cancel":
                follower.scope.cancel()
            elif command == "close":
                follower.reader.close()
                follower.closed = True
            elif not follower.running and not follower.closed:
                follower.running, follower.scope = True, trio.CancelScope()
                nursery.start_soon(follower.run)
        await wait_all_tasks_blocked()
        ring.close()
        await wait_all_tasks_blocked()
        for follower in followers:
            if not follower.closed:
                follower.scope = trio.CancelScope()
                await follower.run()
                assert follower.seq == ring.seq
    assert ring.waiting == {}


@pytest.mark.slow
@settings(max_examples=100)
@given(capacity=st.integers(1, 5), program=COMMANDS)
def test_every_follower_reads_what_was_published_modulo_merging(capacity: int, program: list[tuple[str, int]]) -> None:
    trio.run(partial(run_program, capacity, program))
