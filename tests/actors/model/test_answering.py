"""What goes wrong on the way is told in our words; what is none of the world's comes out as it is."""

from __future__ import annotations

import ssl

import httpx
import pytest
import trio

from sapwood import Model, OpenAIChat, open_session
from sapwood.actors.model.answering import translated, without_key
from sapwood.actors.model.masking import mask
from sapwood.actors.model.sse import EventTooLarge
from sapwood.events.errors import FailureKind, ProviderError
from tests.build import usage
from tests.serving import serving

KEY = "sk-very-secret"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (
            httpx.ConnectError("All connection attempts failed"),
            "network",
            "network error: All connection attempts failed",
        ),
        (httpx.ReadError(""), "network", "network error: ReadError"),
        (httpx.RemoteProtocolError("peer closed connection"), "network", "network error: peer closed connection"),
        (httpx.ProxyError("407"), "network", "network error: 407"),
        (httpx.ConnectTimeout("slow"), "timeout", "timeout: slow"),
        (httpx.PoolTimeout("full"), "timeout", "timeout: full"),
        (httpx.DecodingError("gzip"), "server", "the answer cannot be read: gzip"),
        (
            httpx.LocalProtocolError(f"Illegal header value {KEY}"),
            "bad_request",
            "the request cannot be sent: Illegal header value [key]",
        ),
        (httpx.InvalidURL("port"), "bad_request", "the request cannot be sent: port"),
        (httpx.UnsupportedProtocol("no"), "bad_request", "the request cannot be sent: no"),
        (
            httpx.ConnectError("[SSL] certificate verify failed"),
            "auth",
            "network error: [SSL] certificate verify failed",
        ),
        (ssl.SSLError("handshake"), "network", "network error: ('handshake',)"),
        (OSError("broken"), "network", "network error: broken"),
        (EventTooLarge("an event has more"), "server", "an event has more"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_of_the_world_has_a_kind_and_words_without_the_key(
    error: Exception, kind: FailureKind, said: str
) -> None:
    told = translated(error, mask(KEY))

    assert told is not None
    assert (told.kind, str(told)) == (kind, said)


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), AssertionError("x")])
def test_a_fault_of_ours_is_not_translated(error: Exception) -> None:
    assert translated(error, mask(KEY)) is None


def test_an_error_keeps_its_facts_and_loses_the_key_and_what_it_came_from() -> None:
    error = ProviderError(f"no {KEY}", kind="rate_limit", status=429, retry_after_ms=5, usage=usage(3))
    error.__cause__ = ValueError(KEY)
    told = without_key(error, mask(KEY))

    assert (str(told), told.kind, told.status, told.retry_after_ms, told.usage) == (
        "no [key]",
        "rate_limit",
        429,
        5,
        usage(3),
    )
    assert told.__cause__ is None


async def test_a_key_that_a_server_repeats_in_an_event_is_hidden_before_anything_is_cut_or_kept() -> None:
    """It was kept as the name of the model, and in part where it lay across a cut."""
    key = "sk-SECRETKEY0123456789"
    stream = (
        f'data: {{"model":"{key}","choices":[{{"delta":{{"content":"An oak."}}}}]}}\n\n'
        f'data: {{"choices":[{{"delta":{{}},"finish_reason":"{key}"}}]}}\n\ndata: [DONE]\n\n'
    )

    async def play(server: trio.SocketStream) -> None:
        data = stream.encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(data)}\r\n\r\n"
        await server.send_all(head.encode() + data)

    async with serving(play) as server:
        provider = OpenAIChat(base_url=server.url, key=key)
        async with open_session(
            None, model=Model(provider="openai", id="m"), providers=[provider], counter="heuristic"
        ) as session:
            await session.prompt("hi")

            assert key not in repr(session.entries())
            assert "[key]" in repr(session.entries())
