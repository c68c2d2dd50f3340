"""What it costs to publish to eight readers that follow, against eight bare `send_nowait` on buffered trio channels.

`in step`: every reader has read an event before the next is published. `in bursts`: 32 events at a time, as tokens arrive.
All of it counts, the receiving too.

    uv run python -m benchmarks ring
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial

import trio

from benchmarks.harness import Ratio, compare
from sapwood.actors.kernel import Ring

READERS = 8
EVENTS = 4_096  # a quarter of a second a side: long enough that starting trio does not show
BOUND = 2.0


async def channels(burst: int) -> None:
    """A bare buffered channel a reader."""
    pairs = [trio.open_memory_channel[int](1_024) for _ in range(READERS)]
    senders = [send for send, _ in pairs]

    async def read(receive: trio.MemoryReceiveChannel[int]) -> None:
        async for _ in receive:
            pass

    async with trio.open_nursery() as nursery:
        for _, receive in pairs:
            nursery.start_soon(read, receive)
        for first in range(0, EVENTS, burst):
            for event in range(first, first + burst):
                for send in senders:
                    send.send_nowait(event)
            await until(lambda: not any(send.statistics().current_buffer_used for send in senders))
        for send in senders:
            send.close()


async def ring(burst: int) -> None:
    """One ring, a reader each."""
    events = Ring(1_024)
    seen = [0] * READERS

    async def read(i: int, reader: trio.abc.ReceiveChannel[object]) -> None:
        async for _ in reader:
            seen[i] += 1

    async with trio.open_nursery() as nursery:
        for i in range(READERS):
            nursery.start_soon(read, i, events.reader())
        for first in range(0, EVENTS, burst):
            for event in range(first, first + burst):
                events.publish(event)
            await until(partial(all_seen, seen, first + burst))
        events.close()


def all_seen(seen: Sequence[int], count: int) -> bool:
    """Whether every reader is level."""
    return min(seen) >= count


async def until(level: Callable[[], bool]) -> None:
    """Let the readers run until they are level."""
    await trio.lowlevel.checkpoint()
    while not level():
        await trio.lowlevel.checkpoint()


def timed(side: Callable[[int], Awaitable[None]], burst: int) -> None:
    """One run of one side."""
    trio.run(side, burst)


def run() -> Iterator[Ratio]:
    """Ring over channels, in both shapes."""
    for shape, burst in (("in step", 1), ("in bursts", 32)):
        yield compare(
            f"publish to {READERS} readers {shape}: ring / bare channels",
            partial(timed, ring, burst),
            partial(timed, channels, burst),
            bound=BOUND,
        )


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
