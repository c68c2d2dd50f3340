"""The shell: one client a provider, as long as somebody needs it. What servers do to it is in `tests/faults/test_hostile_servers.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
import trio
import trio.testing

from sapwood import OpenAIChat, Published, Runtime
from sapwood.actors.environment import Environment
from sapwood.actors.model.answering import BATCH
from sapwood.actors.model.http import HttpProvider
from sapwood.actors.model.providers.base import Finish, Handing, Piece
from sapwood.events.content import text_of
from sapwood.events.deltas import TextDelta
from sapwood.events.entries import MessageEntry
from sapwood.events.errors import ProviderError
from sapwood.events.failures import failure_of
from sapwood.events.messages import AssistantMessage
from sapwood.events.models import Model
from sapwood.events.runtime import AutoRetryStart
from tests.serving import attempt, handed, serving, streamed, whole
from tests.wires import KEY, chunk, request, sse

SAYS = sse(chunk({"content": "so"}), chunk({}, "stop"), "[DONE]")


class Slow(httpx.AsyncByteStream):
    """A body that takes its time."""

    def __init__(self, *parts: bytes, wait: float, then: float = 0) -> None:
        self._parts, self._wait, self._then = list(parts), wait, then

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._parts:
            await trio.sleep(self._then)
            raise StopAsyncIteration
        if self._wait:
            await trio.sleep(self._wait)
        return self._parts.pop(0)


def answering(*bodies: httpx.AsyncByteStream) -> tuple[Environment, list[httpx.Request]]:
    """A world whose server answers so, without a socket."""
    left, seen = list(bodies), list[httpx.Request]()

    def respond(asked: httpx.Request) -> httpx.Response:
        seen.append(asked)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=left.pop(0))

    def client(*, trust_env: bool = False, connections: int | None = None, secure: bool = True) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(respond), timeout=None, trust_env=trust_env)  # noqa: S113 - no network

    return Environment(http=client), seen


async def test_silence_is_measured_from_event_to_event_and_has_no_sum(autojump_clock: trio.testing.MockClock) -> None:
    events = [event + b"\n\n" for event in SAYS.split(b"\n\n")[:-1]]
    environment, _ = answering(Slow(*events, wait=9), Slow(*events, wait=11))
    provider = OpenAIChat(key=None, idle=10, environment=environment)

    pieces, error = await attempt(provider, request())
    assert error is None
    assert isinstance(pieces[-1], Finish)
    _, error = await attempt(provider, request())
    assert error is not None
    assert (str(error), error.kind) == ("timeout: nothing came for 10 s", "timeout")


async def test_who_reads_slowly_is_no_silence_of_the_server(autojump_clock: trio.testing.MockClock) -> None:
    environment, _ = answering(Slow(SAYS, wait=1))
    provider = OpenAIChat(key=None, idle=10, environment=environment)

    async with provider.stream(request()) as pieces:
        seen = list[Piece]()
        async for piece in pieces:
            seen.append(piece)
            await trio.sleep(60)
    assert isinstance(seen[-1], Finish)


async def handed_over(provider: HttpProvider) -> tuple[list[tuple[float, Piece]], ProviderError | None]:
    """The pieces that an answer hands over by itself, and when; and what broke it."""
    times: list[float] = []
    pieces, error = await handed(provider, request(), lambda: times.append(trio.current_time()))
    return list(zip(times, pieces, strict=True)), error


EVENTS = [sse(chunk({"content": word})) for word in ("An ", "oak, ", "I ", "think.")]


async def test_what_is_there_at_once_is_handed_over_as_one_before_anything_is_waited_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, *others = EVENTS
    environment, _ = answering(Slow(first, b"".join(others), SAYS, wait=5))
    began = trio.current_time()

    told, error = await handed_over(OpenAIChat(key=None, environment=environment))

    assert error is None
    texts = [(at - began, piece.delta) for at, piece in told if isinstance(piece, TextDelta)]
    assert texts == [(5, "An "), (10, "oak, I think."), (15, "so")]
    assert isinstance(told[-1][1], Finish)


async def test_a_silence_ends_an_answer_that_is_handed_over_no_sooner_and_no_later(
    autojump_clock: trio.testing.MockClock,
) -> None:
    events = [event + b"\n\n" for event in SAYS.split(b"\n\n")[:-1]]
    environment, _ = answering(
        Slow(*EVENTS, *events, wait=9.99),
        Slow(*EVENTS, wait=4, then=1000),
        Slow(*EVENTS, *([b": alive\n\n"] * 99), wait=4),
    )
    provider = OpenAIChat(key=None, idle=10, environment=environment)

    assert (await handed_over(provider))[1] is None
    for _ in range(2):
        told, error = await handed_over(provider)
        assert error is not None
        assert (str(error), error.kind) == ("timeout: nothing came for 10 s", "timeout")
        assert "".join(piece.delta for _, piece in told if isinstance(piece, TextDelta)) == "An oak, I think."
        assert trio.current_time() - told[-1][0] == pytest.approx(10)


async def test_who_takes_pieces_may_want_no_more_or_break(autojump_clock: trio.testing.MockClock) -> None:
    environment, _ = answering(*(Slow(*EVENTS, SAYS, wait=5) for _ in range(2)))
    provider = OpenAIChat(key=None, environment=environment)
    seen: list[Piece] = []

    def some(piece: Piece) -> bool:
        seen.append(piece)
        return len(seen) < 3

    async with provider.stream(request()) as pieces:
        assert isinstance(pieces, Handing)
        await pieces.each(some)
        with pytest.raises(StopAsyncIteration):
            await anext(pieces)
    assert len(seen) == 3

    def breaking(_: Piece) -> bool:
        raise KeyError("ours")

    async with provider.stream(request()) as pieces:
        assert isinstance(pieces, Handing)
        with pytest.raises(KeyError, match="ours"):
            await pieces.each(breaking)


async def test_others_get_their_turn_while_a_server_sends_faster_than_we_read() -> None:
    environment, _ = answering(Slow(*(EVENTS * 100), SAYS, wait=0))
    turns = 0
    over = False

    async def other() -> None:
        nonlocal turns
        while not over:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await handed_over(OpenAIChat(key=None, environment=environment))
        over = True
    assert turns >= 400 // BATCH


async def test_a_fault_of_ours_is_no_fault_of_the_world() -> None:
    class Broken(Slow):
        async def __anext__(self) -> bytes:
            raise KeyError("ours")

    environment, _ = answering(Broken(wait=0))

    with pytest.raises(KeyError, match="ours"):
        await attempt(OpenAIChat(key=None, environment=environment), request())


async def test_a_key_that_does_not_come_is_waited_for_no_longer_than_a_silence(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It used to be waited for as long as it took."""

    async def never() -> str:
        await trio.sleep(1000)
        return KEY

    environment, sent = answering()
    provider = OpenAIChat(key=never, idle=10, environment=environment)
    _, error = await attempt(provider, request())

    assert error is not None
    assert (str(error), error.kind) == ("timeout: no API key came within 10 s", "timeout")
    assert not sent
    assert trio.current_time() < 11


async def test_without_a_key_nothing_is_sent() -> None:
    environment, seen = answering()

    _, error = await attempt(OpenAIChat(key=lambda: "", environment=environment), request())

    assert error is not None
    assert (error.kind, seen) == ("auth", [])


async def test_a_provider_that_was_closed_asks_again_and_streams_under_way_go_on() -> None:
    async with serving(whole(SAYS)) as served:
        provider = OpenAIChat(key=None, base_url=served.url)
        async with provider.stream(request()) as pieces:
            await provider.aclose()
            assert isinstance([piece async for piece in pieces][-1], Finish)
        assert (await attempt(provider, request()))[1] is None
        await provider.aclose()
        await provider.aclose()


def test_a_provider_serves_one_run_after_another() -> None:
    """Connections of a loop that has ended used to be asked again."""
    providers: list[OpenAIChat] = []

    async def once() -> None:
        async with serving(whole(SAYS)) as served:
            if not providers:
                providers.append(OpenAIChat(key=None, base_url=served.url))
            providers[0]._base_url = served.url
            assert (await attempt(providers[0], request()))[1] is None

    trio.run(once)
    trio.run(once)


async def test_a_runtime_closes_the_connections_of_its_providers() -> None:
    async with serving(streamed([SAYS])) as served:
        provider = OpenAIChat(key=None, base_url=served.url)
        model = Model(provider="openai", id="gpt-x")
        async with Runtime(providers=[provider]) as runtime, runtime.open_session(None, model=model) as session:
            await session.prompt("x")
            assert provider._pool is not None
        assert provider._pool is None


async def test_a_session_talks_over_a_wire_and_says_which(autojump_clock: trio.testing.MockClock) -> None:
    autojump_clock.autojump_threshold = 0.03
    model = Model(provider="openai", id="gpt-x")
    plays = iter([whole(b"{}", "429 Too Many Requests", "retry-after: 7"), whole(SAYS)])

    async def play(stream: trio.SocketStream) -> None:
        await next(plays)(stream)

    async with serving(play) as served:
        provider = OpenAIChat(key=KEY, base_url=served.url)
        async with Runtime(providers=[provider]) as runtime, runtime.open_session(None, model=model) as session:
            events = session.events()
            outcome = await session.prompt("x")
            assert not outcome.failed
            answers = [
                entry.message
                for entry in session.entries()
                if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
            ]
            await session.close()
            waits = [
                item.event.delay_ms
                async for item in events
                if isinstance(item, Published) and isinstance(item.event, AutoRetryStart)
            ]

    failed, good = answers
    assert (failed.api, failed.stop_reason) == ("openai-completions", "error")
    assert (failure_of(failed).kind, failure_of(failed).status, failure_of(failed).retry_after_ms) == (
        "rate_limit",
        429,
        7000,
    )
    assert waits == [7000]
    assert text_of(good.content) == "so"
