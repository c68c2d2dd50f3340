"""The way to a provider's server and back: one shell for every wire.

1. One attempt, over one client a provider, HTTP/1.1 alone: of a cancelled HTTP/2 stream the server is not told, and tokens go on being
   billed.
2. Silence has a limit, counted from event to event (M3): bytes that keep a connection alive are none.
3. Whatever happens, the response is closed where the block is left: no slot, socket or task outlives it (M7).
4. What the world does wrong is a `ProviderError`, with its kind, and nothing of the key is in it (M1). A fault of a codec is none.
5. A slot of the provider is held while a request streams, and not a moment longer (M6).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypedDict, Unpack

import attrs
import msgspec
import trio

from sapwood.actors.environment import Environment
from sapwood.actors.model.answering import CLOSING_TIME, Answer, Body, translated, without_key
from sapwood.actors.model.credentials import Credentials
from sapwood.actors.model.failing import refusal
from sapwood.actors.model.masking import Mask, mask, without_login
from sapwood.actors.model.patience import Patience
from sapwood.actors.model.providers.base import Around, Piece, Request
from sapwood.actors.model.wire import Codec, HttpRequest
from sapwood.events.errors import ProviderError, Refused, shown

if TYPE_CHECKING:
    import httpx

IDLE: Final = 300.0
"""Seconds of silence: models that think for long say nothing for minutes."""
LARGEST_REFUSAL: Final = 1024 * 1024
"""Bytes of a refusal that are read: an error is a few hundred, and a page is cut."""
REFUSAL_TIME: Final = 10.0
"""Seconds that a refusal may take to be read: what it says is worth no more."""
AGENT: Final = "sapwood"


class _Pool:
    """A client, and how many streams use it: the last one closes it when it is to be closed."""

    def __init__(self, client: httpx.AsyncClient, token: trio.lowlevel.TrioToken) -> None:
        self.client = client
        self.token = token
        self.streams = 0
        self.closing = False

    async def left(self) -> None:
        if self.closing and not self.streams:
            with trio.move_on_after(CLOSING_TIME, shield=True):
                await self.client.aclose()


class HttpOptions(TypedDict, total=False):
    """What any provider over HTTP may be told."""

    headers: Mapping[str, str] | None
    """Further ones, which win over ours."""
    idle: float
    """Seconds of silence, from fetching a key to the end of the answer (M3); `IDLE` if not given."""
    concurrency: int | None
    """How many requests stream at once (M6); None for any number."""
    trust_env: bool
    """Whether proxies are taken from the environment (E3); they are not."""
    environment: Environment | None
    """The outside world: the real one if None."""


class HttpProvider:
    """A `Provider` over HTTP. Shared by all sessions of a runtime, which closes it; or by several, and closed by whoever made it."""

    def __init__(
        self,
        codec: Codec,
        provider_id: str,
        base_url: str,
        credentials: Credentials | None,
        **options: Unpack[HttpOptions],
    ) -> None:
        """`Refused` for what is none of these.

        Args:
            codec: the wire.
            provider_id: the name under which models speak of it.
            base_url: what stands before the paths of the wire.
            credentials: where the key comes from; None for a server that wants none.
            options: see `HttpOptions`.
        """
        unknown = sorted(options.keys() - HttpOptions.__optional_keys__)
        if unknown:
            raise TypeError(f"{type(self).__name__} knows no option {unknown[0]!r}")
        self._codec = codec
        self._id = provider_id
        self._base_url = _checked_url(base_url)
        self._credentials = credentials
        self._headers = {name.lower(): value for name, value in (options.get("headers") or {}).items()}
        self._idle = _seconds(options.get("idle", IDLE))
        self._concurrency = options.get("concurrency")
        self._slots = _slots(self._concurrency)
        self._trust_env = options.get("trust_env", False)
        self._environment = options.get("environment") or Environment()
        self._pool: _Pool | None = None

    @property
    def id(self) -> str:
        return self._id

    @property
    def api(self) -> str:
        """The wire, as answers name it."""
        return self._codec.wire

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id!r} at {without_login(self._base_url)}, key: {self._credentials or 'none'}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections. Streams under way go on, and the last one closes theirs; a later request opens new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.closing = True
            await pool.left()

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        """See `Provider.stream`."""
        return self._stream(request, None)

    def stream_around(self, request: Request, around: Around) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        """See `Watched.stream_around`."""
        return self._stream(request, around)

    @asynccontextmanager
    async def _stream(self, request: Request, around: Around | None) -> AsyncGenerator[AsyncIterator[Piece]]:
        asked = self._codec.request(request)
        key = await self._key()
        headers = self._headed(asked, key)
        if around is not None:
            headers = await around.headers(headers)
            if around.wants_payload:
                there = msgspec.json.decode(asked.body)
                given = await around.payload(there)
                asked = asked if given == there else attrs.evolve(asked, body=msgspec.json.encode(given))
        holder = object()
        if self._slots is not None:
            await self._slots.acquire_on_behalf_of(holder)
        try:
            pool = self._opened()
            pool.streams += 1
            try:
                secret = mask(key, headers, self._base_url)
                body = await self._sent(pool.client, asked, headers, secret, around)
                heard = around.heard if around is not None and around.wants_events else None
                try:
                    yield Answer(body, self._codec.decoder(), idle=self._idle, mask=secret, heard=heard)
                finally:
                    await body.aclose()
            finally:
                pool.streams -= 1
                await pool.left()
        finally:
            if self._slots is not None:
                self._slots.release_on_behalf_of(holder)

    async def _key(self) -> str:
        """The key, or nothing for a server that wants none. One that has to be fetched may take as long as a silence (M3)."""
        if self._credentials is None:
            return ""
        key = await Patience(self._idle).bound(self._credentials.key)
        if key is not None:
            return key
        raise ProviderError(f"timeout: no API key came within {self._idle:g} s", kind="timeout")

    def _opened(self) -> _Pool:
        token = trio.lowlevel.current_trio_token()
        if self._pool is None or self._pool.token is not token:  # sockets of another run are dead
            secure = self._base_url.startswith("https:")
            client = self._environment.http(trust_env=self._trust_env, connections=self._concurrency, secure=secure)
            self._pool = _Pool(client, token)
        return self._pool

    def _headed(self, asked: HttpRequest, key: str) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",  # what is compressed comes in lumps
            "user-agent": AGENT,
            **dict(asked.headers),
            **self._headers,
        }
        if key:
            name, value = self._codec.authorization(key)
            headers[name] = value
        return headers

    async def _sent(
        self,
        client: httpx.AsyncClient,
        asked: HttpRequest,
        headers: dict[str, str],
        secret: Mask,
        around: Around | None,
    ) -> Body:
        """The body of the response; `ProviderError` for one that refuses."""
        from sapwood.actors.model.outbound import posted  # noqa: PLC0415 - it brings httpx along

        url = f"{self._base_url}{asked.path}"
        trouble: ProviderError | None = None
        try:
            response = await Patience(self._idle).bound(
                lambda: client.send(posted(url, headers, asked.body), stream=True)
            )
        except Exception as error:
            trouble = translated(error, secret)
            if trouble is None:
                raise
        else:
            if response is None:
                raise ProviderError(f"timeout: no answer began within {self._idle:g} s", kind="timeout")
            body = Body(response)
            if around is not None:
                around.answered(
                    response.status_code, {name: secret.told(value) for name, value in response.headers.items()}
                )
            if response.status_code == 200 and _streams(response):
                return body
            try:
                trouble = await self._refused(response, body, secret)
            finally:
                await body.aclose()
        raise trouble

    async def _refused(self, response: httpx.Response, body: Body, secret: Mask) -> ProviderError:
        said = b""

        async def read() -> None:
            nonlocal said
            try:
                while len(said) <= LARGEST_REFUSAL and (chunk := await body.read()) is not None:
                    said += chunk
            except Exception as error:
                if translated(error, secret) is None:  # else what came until then says enough
                    raise

        await Patience(min(REFUSAL_TIME, self._idle)).bound(read)
        headers = {name.lower(): value for name, value in response.headers.items()}
        bare = secret.told(said.decode("utf-8", "replace")).encode()  # before anything of it is cut
        refused = refusal(self._codec.wire, response.status_code, headers, bare, self._environment.now_ms())
        return without_key(refused, secret)


def _checked_url(url: object) -> str:
    if not isinstance(url, str) or not url.startswith(("http://", "https://")) or not url.isascii():
        raise Refused("bad-input", f"base_url is an address that begins with https:// or http://, not {shown(url)}")
    return url.rstrip("/")


def _seconds(idle: object) -> float:
    if isinstance(idle, bool) or not isinstance(idle, int | float) or not idle > 0:
        raise Refused("bad-input", f"idle is a number of seconds above 0, not {shown(idle)}")
    return idle


def _slots(concurrency: object) -> trio.CapacityLimiter | None:
    if concurrency is None:
        return None
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise Refused("bad-input", f"concurrency is a whole number from 1 on, or None, not {shown(concurrency)}")
    return trio.CapacityLimiter(concurrency)


def _streams(response: httpx.Response) -> bool:
    """Whether the body may be events. A server that says another type, or none, may stream all the same; not a page, nor one JSON value."""
    kind = str(response.headers.get("content-type", "")).lower()
    return not any(other in kind for other in ("json", "html", "xml"))
