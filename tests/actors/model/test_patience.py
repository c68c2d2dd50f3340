"""A limit on silence that counts only what could be heard: a loop that stood still heard nothing, and its time is no silence."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from sapwood.actors.model.handing import condensed
from sapwood.actors.model.http import HttpProvider
from sapwood.actors.model.patience import LATE, Patience
from sapwood.actors.model.providers.base import Piece, Request
from sapwood.events.errors import ProviderError
from tests.serving import CHUNKED, END, Play, attempt, chunked, handed, head, serving
from tests.wires import KEY, WIRES, Recorded, decode, request

IDLE = 10.0
each_wire = pytest.mark.parametrize("wire", WIRES)
each_reader = pytest.mark.parametrize("read", [attempt, handed])
Read = Callable[[HttpProvider, Request], Awaitable[tuple[list[Piece], ProviderError | None]]]


@pytest.fixture
def clock() -> trio.testing.MockClock:
    """Jumps when nothing happens for a moment: a byte on its way to another socket of this machine takes less."""
    return trio.testing.MockClock(autojump_threshold=0.03)


def at_once(stream: trio.SocketStream, data: bytes) -> None:
    """Sent while nobody else has a turn."""
    while data:
        data = data[os.write(stream.socket.fileno(), data) :]


def stopping(recorded: Recorded, clock: trio.testing.MockClock, *, before: int, meanwhile: int, then: bool) -> Play:
    """After `before` bytes of the answer the host holds up the loop for longer than a silence may last.

    `meanwhile` as many bytes come; the rest comes 8 s later, if at all.
    """

    async def play(stream: trio.SocketStream) -> None:
        first, second, rest = (
            recorded.stream[:before],
            recorded.stream[before : before + meanwhile],
            recorded.stream[before + meanwhile :],
        )
        if first:
            await stream.send_all(head("200 OK", CHUNKED) + chunked(first))
            await trio.sleep(5)
        at_once(stream, (b"" if first else head("200 OK", CHUNKED)) + chunked(second))
        clock.jump(3 * IDLE)
        await trio.sleep(8)
        if then:
            await stream.send_all(chunked(rest) + END)
        await trio.sleep_forever()

    return play


@each_wire
@each_reader
@pytest.mark.parametrize("share", [0, 0.03, 0.5, 1])
async def test_a_host_that_holds_up_the_loop_makes_no_silence_of_what_came_meanwhile(
    wire: str, read: Read, share: float, clock: trio.testing.MockClock
) -> None:
    """It used to be a time-out: the limit had passed when somebody looked, and what was there was not read any more."""
    recorded = WIRES[wire]
    for before in (0, recorded.stream.find(b"\n\n") + 2, len(recorded.stream) // 2):
        meanwhile = int((len(recorded.stream) - before) * share)
        play = stopping(recorded, clock, before=before, meanwhile=meanwhile, then=True)
        async with serving(play) as served, recorded.provider(key=KEY, base_url=served.url, idle=IDLE) as provider:
            pieces, error = await read(provider, request())
        assert error is None
        assert list(condensed(pieces)) == list(condensed(decode(recorded.codec, recorded.stream)))


@each_wire
@each_reader
async def test_a_server_that_says_nothing_is_given_up_all_the_same(
    wire: str, read: Read, clock: trio.testing.MockClock
) -> None:
    recorded = WIRES[wire]
    for before, meanwhile in ((0, 0), (0, 30), (recorded.stream.find(b"\n\n") + 2, 0)):
        play = stopping(recorded, clock, before=before, meanwhile=meanwhile, then=False)
        async with serving(play) as served, recorded.provider(key=KEY, base_url=served.url, idle=IDLE) as provider:
            began = trio.current_time()
            _, error = await read(provider, request())
            took = trio.current_time() - began
        assert error is not None
        assert error.kind == "timeout"
        assert took <= 5 + 3 * IDLE + 2 * IDLE + 1


async def test_a_refusal_that_comes_while_the_loop_is_held_up_is_read(clock: trio.testing.MockClock) -> None:
    """What it says decides what it is: a full window would be a bad request without it."""
    recorded = WIRES["openai_chat"]
    said = b'{"error": {"message": "maximum context length is 8192", "code": "context_length_exceeded"}}'

    async def play(stream: trio.SocketStream) -> None:
        kind = "application/json"
        await stream.send_all(head("400 Bad Request", f"content-length: {len(said)}", kind=kind) + said[:9])
        await trio.sleep(1)
        at_once(stream, said[9:30])
        clock.jump(60)
        await trio.sleep(1)
        await stream.send_all(said[30:])
        await trio.sleep_forever()

    async with serving(play) as served, recorded.provider(key=KEY, base_url=served.url) as provider:
        _, error = await attempt(provider, request())
    assert error is not None
    assert (error.kind, error.status) == ("overflow", 400)


async def test_it_ends_work_on_time_and_gives_what_work_in_time_comes_to(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def soon() -> str:
        await trio.sleep(9)
        return "there"

    assert await Patience(10).bound(soon) == "there"
    began = trio.current_time()
    assert await Patience(8).bound(soon) is None
    assert trio.current_time() - began == 8


async def test_it_may_be_renewed_for_longer_or_for_less(autojump_clock: trio.testing.MockClock) -> None:
    patience = Patience(10)

    async def going() -> str:
        for _ in range(3):
            await trio.sleep(9)
            patience.renew(10)
        patience.renew(2)
        await trio.sleep(3)
        return "too late"

    began = trio.current_time()
    await patience.bound(going)
    assert patience.over
    assert trio.current_time() - began == 29


async def test_a_loop_that_is_late_again_and_again_is_not_waited_for_for_ever(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def holding_up() -> None:
        while True:
            await trio.sleep(7)
            autojump_clock.jump(9 + LATE)

    patience = Patience(10)
    began = trio.current_time()
    await patience.bound(holding_up)
    assert patience.over
    assert trio.current_time() - began < 40


async def test_what_the_work_raises_comes_out_as_it_is_and_who_leaves_is_not_kept(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def breaking() -> None:
        await trio.lowlevel.checkpoint()
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        await Patience(10).bound(breaking)
    patience = Patience(10)
    with trio.move_on_after(3) as scope:
        await patience.bound(trio.sleep_forever)
    assert (scope.cancelled_caught, patience.over) == (True, False)


async def test_what_the_work_came_to_is_not_lost_where_somebody_leaves_in_the_same_moment() -> None:
    """An answer that has begun used to be forgotten then, with the connection that it is on."""
    with trio.CancelScope() as scope:

        async def there() -> str:
            scope.cancel()
            return "there"

        assert await Patience(10).bound(there) == "there"
    assert not scope.cancelled_caught
