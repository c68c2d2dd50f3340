"""A server on 127.0.0.1 that plays what it is told, byte by byte, as no good server would."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress

import attrs
import trio

from sapwood.actors.model.http import HttpProvider
from sapwood.actors.model.providers.base import Handing, Piece, Request
from sapwood.events.errors import ProviderError

Play = Callable[[trio.SocketStream], Awaitable[None]]


@attrs.define
class Served:
    """What a server has seen."""

    url: str
    requests: list[bytes] = attrs.field(factory=list[bytes])
    connections: int = 0
    open: int = 0
    """Connections that have not ended."""


@asynccontextmanager
async def serving(play: Play) -> AsyncGenerator[Served]:
    """A server that reads a request, plays, and reads the next one; a connection ends when its play raises, or its client leaves."""
    served = Served("")

    async def serve(stream: trio.SocketStream) -> None:
        served.connections += 1
        served.open += 1
        try:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError, EOFError):
                while True:
                    served.requests.append(await _request(stream))
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(_until_it_leaves, stream, nursery.cancel_scope)
                        await play(stream)
                        nursery.cancel_scope.cancel()
        except* (trio.BrokenResourceError, trio.ClosedResourceError, EOFError):
            pass
        finally:
            served.open -= 1
            await trio.aclose_forcefully(stream)

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        served.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        yield served
        nursery.cancel_scope.cancel()


async def _request(stream: trio.SocketStream) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await _some(stream)
    head, _, body = data.partition(b"\r\n\r\n")
    [length] = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while len(body) < length:
        body += await _some(stream)
    return head + b"\r\n\r\n" + body


async def _some(stream: trio.SocketStream) -> bytes:
    data = await stream.receive_some()
    if not data:
        raise EOFError
    return bytes(data)


async def _until_it_leaves(stream: trio.SocketStream, scope: trio.CancelScope) -> None:
    """A client that is gone ends the play, as a server of models stops to think."""
    with suppress(trio.BrokenResourceError):
        await stream.receive_some()
    scope.cancel(reason="the client is gone")
    await trio.aclose_forcefully(stream)


def head(status: str = "200 OK", *more: str, kind: str = "text/event-stream") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", *more]
    return "\r\n".join([*lines, "", ""]).encode()


CHUNKED = "transfer-encoding: chunked"


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""


END = b"0\r\n\r\n"


def whole(body: bytes, status: str = "200 OK", *more: str, kind: str = "text/event-stream") -> Play:
    """An answer all at once."""

    async def play(stream: trio.SocketStream) -> None:
        await stream.send_all(head(status, f"content-length: {len(body)}", *more, kind=kind) + body)

    return play


def streamed(parts: Iterable[bytes], *, then: str = "end") -> Play:
    """An answer part by part; then it is at its `end`, is `cut` off, or the server says nothing more (`stall`)."""
    played = list(parts)

    async def play(stream: trio.SocketStream) -> None:
        await stream.send_all(head("200 OK", CHUNKED))
        for part in played:
            await stream.send_all(chunked(part))
        if then == "stall":
            await trio.sleep_forever()
        elif then == "cut":
            raise EOFError
        await stream.send_all(END)

    return play


async def attempt(provider: HttpProvider, request: Request) -> tuple[list[Piece], ProviderError | None]:
    """What came of one call, and what broke it."""
    pieces: list[Piece] = []
    try:
        async with provider.stream(request) as answer:
            async for piece in answer:
                pieces.append(piece)  # noqa: PERF401 - what came before it broke counts
    except ProviderError as error:
        return pieces, error
    return pieces, None


async def handed(
    provider: HttpProvider, request: Request, then: Callable[[], None] = lambda: None
) -> tuple[list[Piece], ProviderError | None]:
    """The same of an answer that hands its pieces over by itself; `then` is called at each of them."""
    pieces: list[Piece] = []

    def take(piece: Piece) -> bool:
        pieces.append(piece)
        then()
        return True

    try:
        async with provider.stream(request) as answer:
            assert isinstance(answer, Handing)
            await answer.each(take)
    except ProviderError as error:
        return pieces, error
    return pieces, None
