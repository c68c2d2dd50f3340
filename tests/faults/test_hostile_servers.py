"""Servers that are dead, slow, overloaded or lie: each costs one typed failure, and never an answer, a hang or a leak (H02, H04, H07, H10).

`OUTCOMES` is the table: what is played, and what comes of it. Time is virtual, and jumps where nobody has anything to do.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Awaitable, Callable
from itertools import product
from random import Random

import msgspec
import psutil
import pytest
import trio
import trio.testing

from sapwood.actors.model.answering import TRAILER
from sapwood.actors.model.failing import LONGEST_WAIT_MS
from sapwood.actors.model.handing import condensed
from sapwood.actors.model.http import HttpProvider
from sapwood.actors.model.providers.base import Finish, Piece, Request
from sapwood.events.errors import FailureKind, ProviderError
from sapwood.events.messages import NO_USAGE
from tests.serving import CHUNKED, END, Play, attempt, chunked, handed, head, serving, streamed, whole
from tests.wires import KEY, WIRES, Recorded, call_of, decode, request, sse

each_wire = pytest.mark.parametrize("wire", WIRES)
Read = Callable[[HttpProvider, Request], Awaitable[tuple[list[Piece], ProviderError | None]]]


@pytest.fixture
def clock() -> trio.testing.MockClock:
    """Jumps when nothing happens for a moment: a byte on its way to another socket of this machine takes less."""
    return trio.testing.MockClock(autojump_threshold=0.03)


def provider_at(recorded: Recorded, url: str, **more: object) -> HttpProvider:
    return recorded.provider(key=KEY, base_url=url, **more)


def first_half(recorded: Recorded) -> bytes:
    return recorded.stream[: len(recorded.stream) // 2]


def first_event(recorded: Recorded) -> bytes:
    return recorded.stream[: recorded.stream.find(b"\n\n") + 2]


def all_but_the_last_event(recorded: Recorded) -> bytes:
    return recorded.stream[: recorded.stream.rstrip(b"\n").rfind(b"\n\n") + 2]


def counted_twice(recorded: Recorded) -> bytes:
    """Some of the usage is said behind the first event, and again."""
    first = first_event(recorded)
    return first + recorded.counted * 2 + recorded.stream.removeprefix(first)


def uncounted(recorded: Recorded) -> bytes:
    return recorded.stream.replace(recorded.usage_field, b'"nothing"')


def bytes_of(stream: bytes) -> list[bytes]:
    return [stream[at : at + 1] for at in range(len(stream))]


def dripping(part: bytes) -> Callable[[Recorded], Play]:
    """Some of an answer, and then for ever what keeps a connection alive."""

    def make(recorded: Recorded) -> Play:
        async def play(stream: trio.SocketStream) -> None:
            await stream.send_all(head("200 OK", CHUNKED) + chunked(first_event(recorded)))
            while True:
                await trio.sleep(20)
                await stream.send_all(chunked(part))

        return play

    return make


def dripping_zeros(recorded: Recorded) -> Play:
    """The size of a chunk that never ends: these bytes are of HTTP, and nobody above it sees them."""

    async def play(stream: trio.SocketStream) -> None:
        await stream.send_all(head("200 OK", CHUNKED) + chunked(first_event(recorded)))
        while True:
            await trio.sleep(20)
            await stream.send_all(b"0")

    return play


def silent(_: Recorded) -> Play:
    async def play(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    return play


def raw(said: bytes) -> Callable[[Recorded], Play]:
    """These bytes, and then the end of the connection."""

    def make(_: Recorded) -> Play:
        async def play(stream: trio.SocketStream) -> None:
            await stream.send_all(said)
            raise EOFError

        return play

    return make


def closing(recorded: Recorded) -> Play:
    """An answer without a length, which ends with its connection."""

    async def play(stream: trio.SocketStream) -> None:
        await stream.send_all(head() + recorded.stream)
        raise EOFError

    return play


PAGE = b"<!doctype html><html><head><title>Maintenance</title></head><body>back soon</body></html>"
JSON = "application/json"

ANSWER = "answer"
UNBILLED = "an answer, and nobody knows what was billed"
REPLACED = "an answer, and what is no character in it is replaced"
OUTCOMES: dict[str, tuple[Callable[[Recorded], Play], str]] = {
    # a good answer, however it travels
    "whole": (lambda recorded: whole(recorded.stream), ANSWER),
    "in one chunk": (lambda recorded: streamed([recorded.stream]), ANSWER),
    "byte by byte": (lambda recorded: streamed(bytes_of(recorded.stream)), ANSWER),
    "ends with its connection": (closing, ANSWER),
    "with CRLF": (lambda recorded: whole(recorded.stream.replace(b"\n", b"\r\n")), ANSWER),
    "with CR": (lambda recorded: whole(recorded.stream.replace(b"\n", b"\r")), ANSWER),
    "with a BOM": (lambda recorded: whole(b"\xef\xbb\xbf" + recorded.stream), ANSWER),
    "as plain text": (lambda recorded: whole(recorded.stream, kind="text/plain"), ANSWER),
    "with what nobody knows": (
        lambda recorded: whole(sse({"type": "a_later_one"}) + b": alive\n\n" + recorded.stream),
        ANSWER,
    ),
    "with each event twice as long, in comments": (
        lambda recorded: whole(recorded.stream.replace(b"data:", b": alive\nretry: 5\nid: 7\ndata:")),
        ANSWER,
    ),
    "with some usage twice": (lambda recorded: whole(counted_twice(recorded)), ANSWER),
    "without usage": (lambda recorded: whole(uncounted(recorded)), UNBILLED),
    "with bytes that are no characters": (
        lambda recorded: streamed(bytes_of(recorded.stream.replace("🌲".encode(), b"\xf0\x9f\x8c"))),
        REPLACED,
    ),
    "stalls behind its end": (lambda recorded: streamed([recorded.stream], then="stall"), ANSWER),
    "a megabyte behind its end": (
        lambda recorded: streamed([recorded.stream, b": x\n" * 250_000], then="stall"),
        ANSWER,
    ),
    # silence
    "stalls before its headers": (silent, "timeout"),
    "stalls before its first event": (lambda _: streamed([], then="stall"), "timeout"),
    "stalls in an event": (lambda recorded: streamed([first_half(recorded)], then="stall"), "timeout"),
    "stalls before its last event": (
        lambda recorded: streamed([all_but_the_last_event(recorded)], then="stall"),
        "timeout",
    ),
    "zeros of a chunk's size for ever": (dripping_zeros, "timeout"),
    "comments for ever": (dripping(b": alive\n\n"), "timeout"),
    "pings for ever": (dripping(b'event: ping\ndata: {"type": "ping"}\n\n'), "timeout"),
    "bytes of nothing for ever": (dripping(b"\n"), "timeout"),
    # the end, too early
    "nothing at all": (raw(b""), "network"),
    "half of its headers": (raw(b"HTTP/1.1 200 OK\r\ncontent-"), "network"),
    "no HTTP": (raw(b"SSH-2.0-OpenSSH_9.9\r\n"), "network"),
    "headers alone": (lambda _: streamed([]), "cut_off"),
    "one event": (lambda recorded: streamed([first_event(recorded)]), "cut_off"),
    "all but the last event": (lambda recorded: streamed([all_but_the_last_event(recorded)]), "cut_off"),
    "half of it, and its end": (lambda recorded: streamed([first_half(recorded)]), "cut_off"),
    "half of it, and no end": (lambda recorded: streamed([first_half(recorded)], then="cut"), "network"),
    # failures
    "a failure in the stream": (lambda recorded: whole(first_event(recorded) + recorded.failure), "passes"),
    "a failure as the first event": (lambda recorded: whole(recorded.failure), "passes"),
    "an event that is no JSON": (lambda recorded: whole(first_event(recorded) + sse("{oops")), "server"),
    "JSON instead of a stream": (lambda _: whole(b'{"error": {"message": "rate limit"}}', kind=JSON), "rate_limit"),
    "a page instead of a stream": (lambda _: whole(PAGE, kind="text/html"), "unknown"),
    "a redirect": (lambda _: whole(b"", "302 Found", "location: http://127.0.0.1:1/"), "bad_request"),
    "a page with 502": (lambda _: whole(PAGE, "502 Bad Gateway", kind="text/html"), "server"),
    "400": (lambda _: whole(b'{"error": {"message": "no"}}', "400 Bad Request", kind=JSON), "bad_request"),
    "401": (lambda _: whole(b'{"error": {"message": "no"}}', "401 Unauthorized", kind=JSON), "auth"),
    "429": (lambda _: whole(b"", "429 Too Many Requests", "retry-after: 7"), "rate_limit"),
    "529": (lambda _: whole(b"{}", "529 Overloaded", kind=JSON), "overloaded"),
    "a refusal that stalls": (lambda _: raw_refusal, "server"),
}


async def raw_refusal(stream: trio.SocketStream) -> None:
    await stream.send_all(head("500 Internal Server Error", "content-length: 100", kind=JSON) + b'{"error": ')
    await trio.sleep_forever()


@each_wire
@pytest.mark.parametrize("played", OUTCOMES)
async def test_each_fault_costs_one_typed_failure(wire: str, played: str, clock: trio.testing.MockClock) -> None:
    """Whoever reads: who asks for each piece, and who has them handed over."""
    recorded = WIRES[wire]
    make, outcome = OUTCOMES[played]
    for read in (attempt, handed):
        async with serving(make(recorded)) as served, provider_at(recorded, served.url) as provider:
            began = trio.current_time()
            pieces, error = await read(provider, request())
            took = trio.current_time() - began

        if outcome in {ANSWER, UNBILLED, REPLACED}:
            assert error is None
            assert list(condensed(pieces)) == list(condensed(expected(recorded, outcome)))
        else:
            assert error is not None
            assert not any(isinstance(piece, Finish) for piece in pieces)
            assert error.retryable if outcome == "passes" else error.kind == outcome
        assert took < 700  # twice the limit on silence, and nothing that adds up
        assert len(served.requests) == 1  # I04: one attempt, whatever happens
    gc.collect()  # H10: what was left unread leaves nothing behind that complains


def expected(recorded: Recorded, outcome: str) -> list[Piece]:
    """The pieces of the answer, whose usage nobody told, or which had bytes that are no characters."""
    if outcome == REPLACED:
        broken = recorded.stream.decode().replace("🌲", "\ufffd").encode()
        return decode(recorded.codec, broken)
    *pieces, finish = decode(recorded.codec, recorded.stream)
    assert isinstance(finish, Finish)
    assert finish.usage.input
    return [*pieces, finish if outcome == ANSWER else msgspec.structs.replace(finish, usage=NO_USAGE)]


STATUSES: dict[int, FailureKind] = {
    400: "bad_request",
    401: "auth",
    402: "quota",
    403: "auth",
    404: "bad_request",
    405: "bad_request",
    408: "timeout",
    409: "overloaded",
    413: "too_large",
    418: "bad_request",
    422: "bad_request",
    429: "rate_limit",
    500: "server",
    501: "server",
    502: "server",
    503: "overloaded",
    504: "timeout",
    520: "server",
    529: "overloaded",
    599: "server",
}
BODIES = (
    b'{"error": {"message": "as it happens"}}',
    b'{"error": "as it happens"}',
    b'[{"error": {"message": "as it happens", "details": [7]}}]',
    b'{"message": "as it happens"}',
    b'"as it happens"',
    b"as it happens",
    b"<html><body>as it happens</body></html>",
    b"[" * 5_000,
    b"",
)


@each_wire
async def test_an_error_with_any_status_is_of_the_kind_that_the_status_says(
    wire: str, clock: trio.testing.MockClock
) -> None:
    recorded, asked = WIRES[wire], product(STATUSES, BODIES)
    answers = product(STATUSES, BODIES)

    async def play(stream: trio.SocketStream) -> None:
        status, body = next(answers)
        await whole(body, f"{status} So", kind="text/html" if body.startswith(b"<") else JSON)(stream)

    async with serving(play) as served, provider_at(recorded, served.url) as provider:
        for status, body in asked:
            _, error = await attempt(provider, request())
            assert error is not None
            assert (error.kind, error.status) == (STATUSES[status], status)
            assert "as it happens" in str(error) if b"happens" in body else str(error).startswith(str(status))


@each_wire
@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.slow
async def test_h04_a_connection_that_is_cut_at_any_byte_gives_no_whole_answer(
    wire: str, step: int, clock: trio.testing.MockClock
) -> None:
    recorded = WIRES[wire]
    last = recorded.stream.rstrip(b"\n").rfind(b"\n\n") + 2
    cuts = iter(range(0, last, step))

    async def play(stream: trio.SocketStream) -> None:
        await stream.send_all(head("200 OK", CHUNKED) + chunked(recorded.stream[: next(cuts)]))
        raise EOFError

    async with serving(play) as served, provider_at(recorded, served.url) as provider:
        for _ in range(0, last, step):
            pieces, error = await attempt(provider, request())
            assert error is not None
            assert error.kind == "network"
            assert not any(isinstance(piece, Finish) for piece in pieces)


@each_wire
async def test_what_was_billed_until_it_broke_is_told(wire: str, clock: trio.testing.MockClock) -> None:
    recorded = WIRES[wire]
    events = recorded.stream.split(b"\n\n")
    async with (
        serving(streamed([b"\n\n".join(events[:-2]) + b"\n\n"])) as served,
        provider_at(recorded, served.url) as provider,
    ):
        _, error = await attempt(provider, request())

    assert error is not None
    billed = NO_USAGE if error.usage is None else error.usage
    assert billed.input == {"anthropic": 100, "openai_chat": 100, "openai_responses": 0, "gemini": 400}[wire]


@each_wire
@pytest.mark.slow
async def test_megabytes_of_arguments_arrive(wire: str, clock: trio.testing.MockClock) -> None:
    recorded = WIRES[wire]
    huge = "x" * 10_000_000
    stream = recorded.stream.replace(b"Pa", huge.encode()).replace(b"ris", b"")
    stream = stream.replace(b"Paris", huge.encode())
    lumps = [stream[at : at + 65_536] for at in range(0, len(stream), 65_536)]
    async with serving(streamed(lumps)) as served, provider_at(recorded, served.url) as provider:
        pieces, error = await attempt(provider, request())

    assert error is None
    finish = pieces[-1]
    assert isinstance(finish, Finish)
    assert len(str(call_of(finish).arguments["city"])) >= 10_000_000


RETRY_AFTER: dict[str, tuple[str, bytes, int | None]] = {
    "seconds": ("retry-after: 7", b"{}", 7_000),
    "a part of a second": ("retry-after: 0.25", b"{}", 250),
    "none": ("retry-after: 0", b"{}", 0),
    "milliseconds": ("retry-after-ms: 1500", b"{}", 1_500),
    "milliseconds beside seconds": ("retry-after-ms: 1500\r\nretry-after: 2", b"{}", 1_500),
    "a date": (
        "retry-after: Thu, 01 Jan 2026 00:00:30 GMT\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT",
        b"{}",
        30_000,
    ),
    "a date that has passed": ("retry-after: Thu, 01 Jan 2015 00:00:30 GMT", b"{}", 0),
    "hours": ("retry-after: 18000", b"{}", 18_000_000),
    "more than a year": ("retry-after: 999999999999", b"{}", LONGEST_WAIT_MS),
    "in words": ("x: y", b'{"error": {"message": "Please try again in 1m3.5s."}}', 63_500),
    "a header before words": ("retry-after: 7", b'{"error": {"message": "Please try again in 20s."}}', 7_000),
    "Google's": ("x: y", b'{"error": {"code": 429, "details": [{"retryDelay": "20s"}]}}', 20_000),
    "nothing that can be read": ("retry-after: whenever", b"{}", None),
    "less than nothing": ("retry-after: -5", b"{}", None),
    "nothing": ("x: y", b"{}", None),
}


@each_wire
@pytest.mark.parametrize("said", RETRY_AFTER)
async def test_i03_the_wait_that_is_asked_for_is_told(wire: str, said: str, clock: trio.testing.MockClock) -> None:
    recorded = WIRES[wire]
    header, body, asked = RETRY_AFTER[said]
    async with (
        serving(whole(body, "429 Too Many Requests", header, kind=JSON)) as served,
        provider_at(recorded, served.url) as provider,
    ):
        _, error = await attempt(provider, request())

    assert error is not None
    assert (error.kind, error.status, error.retry_after_ms) == ("rate_limit", 429, asked)


async def test_where_only_the_end_is_missing_it_is_not_waited_for(clock: trio.testing.MockClock) -> None:
    recorded = WIRES["gemini"]
    async with (
        serving(streamed([recorded.stream], then="stall")) as served,
        provider_at(recorded, served.url) as provider,
    ):
        began = trio.current_time()
        _, error = await attempt(provider, request())
        took = trio.current_time() - began

    assert error is None
    assert took == pytest.approx(TRAILER, abs=0.1)


async def test_nobody_who_listens_is_a_failure_of_the_network() -> None:
    recorded = WIRES["openai_chat"]
    async with serving(whole(b"")) as served:
        url = served.url
    async with provider_at(recorded, url) as provider:
        _, error = await attempt(provider, request())

    assert error is not None
    assert error.kind == "network"


async def test_attempts_send_the_same_bytes(clock: trio.testing.MockClock) -> None:
    """M4: an attempt that is made again is the same request."""
    for recorded in WIRES.values():
        async with (
            serving(whole(b"", "503 Service Unavailable")) as served,
            provider_at(recorded, served.url) as provider,
        ):
            for _ in range(3):
                await attempt(provider, request())
        assert len(set(served.requests)) == 1
        assert len(served.requests) == 3


@each_wire
async def test_m7_a_cancelled_stream_closes_its_connection_at_once(wire: str, clock: trio.testing.MockClock) -> None:
    recorded = WIRES[wire]
    async with (
        serving(streamed([first_half(recorded)], then="stall")) as served,
        provider_at(recorded, served.url) as provider,
    ):
        with trio.move_on_after(5) as scope:
            await attempt(provider, request())
        assert scope.cancelled_caught
        await trio.sleep(1)
        assert served.open == 0
        async with provider.stream(request()) as pieces:
            async for _ in pieces:
                break
        await trio.sleep(1)
        assert served.open == 0


STREAMS = 12
"""At once, over four slots of a provider: most of them wait."""
ROUNDS = [pytest.param(16, marks=pytest.mark.slow), pytest.param(500, marks=[pytest.mark.full, pytest.mark.slow])]
"""For each wire and each end: in every run a few, some two hundred in all, and as many as are asked for where all is counted."""


async def cancelled_at_random(provider: HttpProvider, read: Read, chance: Random) -> bool:
    with trio.move_on_after(chance.random() / 60) as scope:
        await read(provider, request())
    return scope.cancelled_caught


async def timed_out(provider: HttpProvider, read: Read, __: Random) -> bool:
    _, error = await read(provider, request())
    assert error is None or error.kind == "timeout"
    return error is not None


async def beside_a_crash(provider: HttpProvider, read: Read, chance: Random) -> bool:
    with pytest.RaisesGroup(ZeroDivisionError):
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(read, provider, request())
            await trio.sleep(chance.random() / 100)
            raise ZeroDivisionError
    return True


ENDS: dict[str, tuple[Callable[[HttpProvider, Read, Random], Awaitable[bool]], float]] = {
    "cancelled": (cancelled_at_random, 300),
    "timed out": (timed_out, 0.003),
    "a sibling's crash": (beside_a_crash, 300),
}
"""How a stream is left, and how many seconds of silence its provider bears."""


@each_wire
@pytest.mark.parametrize("ended", ENDS)
@pytest.mark.parametrize("rounds", ROUNDS)
async def test_m7_nothing_leaks_in_any_number_of_rounds(wire: str, ended: str, rounds: int) -> None:
    """Each round has twelve streams, and whoever asks behind it is answered at once: a slot that is not given back would let nobody in."""
    recorded, chance = WIRES[wire], Random(7)  # noqa: S311 - the same each time
    leave, idle = ENDS[ended]
    events = [event + b"\n\n" for event in recorded.stream.split(b"\n\n")[:-1]]
    slow, left = 0.0, 0

    async def one(provider: HttpProvider, read: Read) -> None:
        nonlocal left
        ended_so = await leave(provider, read, chance)
        left += ended_so

    async def play(stream: trio.SocketStream) -> None:
        await trio.sleep(slow * chance.random() / 250)
        await stream.send_all(head("200 OK", CHUNKED))
        for event in events:
            await trio.sleep(slow * chance.random() / 25 / len(events))
            await stream.send_all(chunked(event))
        await stream.send_all(END)

    async def answered(provider: HttpProvider) -> None:
        with trio.fail_after(5):
            pieces, error = await attempt(provider, request())
        assert error is None
        assert isinstance(pieces[-1], Finish)

    async with (
        serving(play) as served,
        provider_at(recorded, served.url, concurrency=4, idle=idle) as provider,
        provider_at(recorded, served.url, concurrency=4) as plain,
    ):
        await answered(plain)
        process = psutil.Process()
        before, tasks = len(process.net_connections()), trio.lowlevel.current_statistics().tasks_living
        threads = threading.active_count()
        # one pool and its slots, told to bear more silence or less
        plain._pool, plain._slots = provider._opened(), provider._slots
        for number in range(rounds):
            slow = 1.0
            async with trio.open_nursery() as nursery:
                for each in range(STREAMS if leave is not beside_a_crash else STREAMS // 2):
                    nursery.start_soon(one, provider, (attempt, handed)[each % 2])
            assert provider._slots is not None
            assert provider._slots.borrowed_tokens == 0
            if number % 8 == 7 or number == rounds - 1:
                slow = 0.0
                await answered(plain)
        assert left >= 2 * rounds  # it is this end that was tried
        await provider.aclose()
        await plain.aclose()
        with trio.fail_after(5):
            while served.open:  # noqa: ASYNC110 - the server's tasks end by themselves
                await trio.sleep(0.01)
        assert len(process.net_connections()) <= before
        assert trio.lowlevel.current_statistics().tasks_living <= tasks
        assert threading.active_count() <= threads
    gc.collect()


async def test_m6_no_more_stream_at_once_than_the_provider_may_have() -> None:
    recorded = WIRES["openai_chat"]
    most = 0

    async def play(stream: trio.SocketStream) -> None:
        nonlocal most
        most = max(most, served.open)
        await trio.sleep(0.005)
        await whole(recorded.stream)(stream)

    async with serving(play) as served, provider_at(recorded, served.url, concurrency=2) as provider:
        async with trio.open_nursery() as nursery:
            for _ in range(9):
                nursery.start_soon(attempt, provider, request())
        assert len(served.requests) == 9
    assert most == 2


@each_wire
async def test_m1_a_key_that_a_server_repeats_is_in_no_error(wire: str) -> None:
    recorded = WIRES[wire]
    said = f'{{"error": {{"message": "Incorrect API key provided: {KEY}", "code": "{KEY}"}}}}'.encode()
    for play in (
        whole(said, "401 Unauthorized", kind=JSON),
        whole(sse(f"{{oops {KEY}")),
        whole(KEY.encode(), f"500 {KEY}"),
    ):
        async with serving(play) as served, provider_at(recorded, served.url) as provider:
            _, error = await attempt(provider, request())
            assert KEY.encode() in served.requests[0]
        assert isinstance(error, ProviderError)
        trace = repr((error, error.args, error.__cause__, error.__context__, vars(error)))
        assert KEY not in trace
        assert (error.__cause__, error.__context__) == (None, None)
        assert KEY not in repr(provider) + str(vars(provider))
