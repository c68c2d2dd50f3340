"""An answer over HTTP, as it comes: bytes, events, pieces; and what goes wrong on the way, in our words.

1. Silence has a limit, counted from event to event (M3): bytes that keep a connection alive are none.
2. What is left before its end is let go of at once, whole: no generator of a library stays behind for the collector.
3. What the world does wrong is a `ProviderError`, with its kind and with what was billed; nothing of the key is in it, nor in what it came
   from (M1).
"""

from __future__ import annotations

import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

import msgspec
import trio

from sapwood.actors.model.eager import awaiting
from sapwood.actors.model.handing import GROWING, Hand
from sapwood.actors.model.masking import Mask
from sapwood.actors.model.patience import Patience
from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.actors.model.sse import EventReader, EventTooLarge, ServerEvent
from sapwood.actors.model.wire import Decoder
from sapwood.events.base import Json
from sapwood.events.content import without_surrogates
from sapwood.events.errors import FailureKind, ProviderError

if TYPE_CHECKING:
    import httpx

TRAILER: Final = 5.0
"""Seconds that the end of a stream may take where nothing but that is missing."""
BATCH: Final = 64
"""Events that are taken before others get their turn, where a server sends faster than we read: a millisecond."""
CLOSING_TIME: Final = 1.0
"""Seconds that closing a socket may take, cancelled or not: it waits for nobody."""


class Body:
    """The bytes of a response, and the one way to leave them."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        plain = response.headers.get("content-encoding", "identity") == "identity"
        self._chunks = response.aiter_raw() if plain else response.aiter_bytes()

    def read(self) -> Awaitable[bytes | None]:
        """The next bytes; None at the end."""
        return anext(self._chunks, None)

    async def aclose(self) -> None:
        """Let the connection go: it is used again if all was read, and else it is closed.

        The library reads through generators within generators, and closing the outermost one leaves the others to the collector. A read
        that is cancelled ends them all; bytes that are there already are read on the way.
        """
        with trio.CancelScope() as scope:
            scope.cancel(reason="the answer was left")
            with suppress(Exception):
                while await self.read() is not None:
                    pass
        with trio.move_on_after(CLOSING_TIME, shield=True):
            await self._response.aclose()


class Answer:
    """The pieces of an answer, as they come. An iterator, and no generator: nothing is held open where its reader stops."""

    def __init__(
        self,
        body: Body,
        decoder: Decoder,
        *,
        idle: float,
        mask: Mask,
        heard: Callable[[Json], None] | None = None,
    ) -> None:
        """`heard` is told of each event as it came, without the key; it waits for nobody."""
        self._heard = heard
        self._body = body
        self._decoder = decoder
        self._idle = idle
        self._silence = Patience(idle)
        self._mask = mask
        self._reader = EventReader()
        self._events: deque[ServerEvent] = deque()
        self._pieces: deque[Piece] = deque()
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Piece:
        while not self._pieces and not self._over:
            self._silence.renew(self._patience)
            await self._silence.bound(self._next_event)
            if self._silence.over:
                self._fell_silent()
        if not self._pieces:
            raise StopAsyncIteration
        return self._taken()

    async def each(self, take: Callable[[Piece], bool]) -> None:
        """See `Handing.each`. What is there at once is handed over before anything is waited for, neighbours of one block as one piece.

        One timer serves all events: an event costs less than to set one.
        """
        with trio.CancelScope() as scope:
            hand = Hand(self._pieces, take, scope.cancel)
            await self._silence.bound(lambda: self._handed(hand))
        if self._silence.over and hand.open:
            self._fell_silent()
            hand.over()
        self._over = True
        if hand.fault is not None:
            raise hand.fault

    async def _handed(self, hand: Hand) -> None:
        count = 0
        try:
            while hand.open and not self._over:
                self._silence.renew(self._patience)
                await self._next_event(hand.over)
                count += 1
                if count % BATCH == 0:
                    hand.over()
                    await trio.lowlevel.checkpoint()
                elif self._pieces and not isinstance(self._pieces[-1], GROWING):
                    hand.over()
        finally:
            hand.over()

    def _taken(self) -> Piece:
        piece = self._pieces.popleft()
        if isinstance(piece, Finish):
            self._over = True
            self._pieces.clear()
        return piece

    @property
    def _patience(self) -> float:
        return min(TRAILER, self._idle) if self._decoder.may_end else self._idle

    async def _next_event(self, before: Callable[[], None] | None = None) -> None:
        """Read on until an event says something: its pieces, if it brings any. Raises `ProviderError`.

        `before` is called before anything is waited for.
        """
        trouble: ProviderError | None = None
        try:
            while True:
                while self._events:
                    event = self._events.popleft()
                    if self._heard is not None:
                        self._heard(_plain(self._mask.told(event.data)))
                    pieces = self._decoder.feed(self._bare(event))
                    if pieces is not None:
                        self._pieces.extend(pieces)
                        return
                more = self._body.read()
                chunk = await (more if before is None else awaiting(more, before))
                if chunk is None:
                    self._end()
                    return
                self._events.extend(self._reader.feed(chunk))
        except Exception as error:
            trouble = translated(error, self._mask)
            if trouble is None:
                raise
        raise self._broken(trouble)  # out here, where it has no context

    def _fell_silent(self) -> None:
        """Nothing came for too long: the rest of the answer, if only its end was missing. Else `ProviderError`."""
        if not self._decoder.may_end:
            raise self._broken(ProviderError(f"timeout: nothing came for {self._idle:g} s", kind="timeout"))
        self._end()

    def _broken(self, trouble: ProviderError) -> ProviderError:
        self._over = True
        trouble.usage = trouble.usage or self._decoder.usage
        return trouble

    def _bare(self, event: ServerEvent) -> ServerEvent:
        """The event without the key, before anything of it is cut or kept: a server may repeat it anywhere (M1)."""
        bare = self._mask.said(event.data)
        return event if bare == event.data else ServerEvent(event.name, bare)

    def _end(self) -> None:
        self._pieces.extend(self._decoder.end())
        self._over = not self._pieces


def _plain(data: str) -> Json:
    """What an event says: its JSON, or its text where it is none."""
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return without_surrogates(data)


def translated(error: Exception, mask: Mask) -> ProviderError | None:
    """An error of the world in our words; None for one that is not the world's."""
    import httpx  # noqa: PLC0415 - only where a request goes out; it was imported by then

    if isinstance(error, ProviderError):
        return without_key(error, mask)
    if isinstance(error, EventTooLarge):
        return ProviderError(str(error), kind="server")
    kind: FailureKind
    match error:
        case httpx.TimeoutException():
            kind, what = "timeout", "timeout"
        case httpx.NetworkError() | httpx.ProxyError() | httpx.RemoteProtocolError():
            kind, what = "network", "network error"
        case httpx.DecodingError() | httpx.TooManyRedirects():
            kind, what = "server", "the answer cannot be read"
        case httpx.TransportError() | httpx.InvalidURL():
            kind, what = "bad_request", "the request cannot be sent"
        case ssl.SSLError() | OSError():
            kind, what = "network", "network error"
        case _:
            return None
    if "certificate" in str(error).lower():
        kind = "auth"
    said = without_surrogates(str(error)) or type(error).__name__
    return ProviderError(mask.told(f"{what}: {said}"), kind=kind)


def without_key(error: ProviderError, mask: Mask) -> ProviderError:
    """The error without the key, and without what it came from: a request bears the key."""
    return ProviderError(
        mask.told(str(error)),
        kind=error.kind,
        status=error.status,
        retry_after_ms=error.retry_after_ms,
        usage=error.usage,
    )
