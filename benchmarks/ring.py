"""What it costs to publish to eight readers that follow, against eight bare `send_nowait` on buffered trio channels.

1. A and B run interleaved in one process; process CPU time, best of seven; all of it counts, the receiving too.
2. `steps`: every reader reads each event before the next is published. `bursts`: 32 events at a time, as tokens arrive.
3. Promised: the ratio ring / channels is at most 2.

    uv run python benchmarks/ring.py
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio

from sapwood.actors.kernel import Ring

READERS = 8
EVENTS = 4_096
ROUNDS = 7


async def channels(burst: int) -> None:
    """A: a bare buffered channel a reader."""
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
    """B: one ring, a reader each."""
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


def cost(run: Callable[[int], Awaitable[None]], burst: int) -> float:
    """CPU seconds of one run."""
    began = time.process_time()
    trio.run(run, burst)
    return time.process_time() - began


def main() -> None:
    """Print both shapes."""
    for shape, burst in (("steps", 1), ("bursts", 32)):
        a: list[float] = []
        b: list[float] = []
        for _ in range(ROUNDS):
            a.append(cost(channels, burst))
            b.append(cost(ring, burst))
        per = 1e6 / EVENTS
        spread = max(max(a) / min(a), max(b) / min(b))
        print(
            f"{shape:7} channels {min(a) * per:6.1f} us/event  ring {min(b) * per:6.1f} us/event  "
            f"ratio {min(b) / min(a):.2f}  spread {spread:.2f}"
        )


if __name__ == "__main__":
    main()
