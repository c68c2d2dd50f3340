"""A provider with a `Line` before it: what it says comes piece by piece, and what it has extensions asked and told is on the line too.

1. What it asks comes before it has opened, under the same key: whoever replays asks it again, and then has it open.
2. Of the headers of a request the names alone are told: a key is in one of them (M1).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from itertools import count

from sapwood.actors.model.providers.base import Around, Piece, Provider, Request, Watched
from sapwood.events.base import Json
from sapwood.recording.line import Line, as_it_is
from sapwood.recording.values import piece_in, piece_out


class LinedProvider:
    """What a provider says. `Provider`."""

    def __init__(self, line: Line, inner: Provider) -> None:
        self._line = line
        self._inner = inner
        self._calls = count(1)
        self.id = inner.id
        self.api = getattr(inner, "api", None)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        async with self._streamed(self._key(), lambda: self._inner.stream(request), _nobody_asks) as pieces:
            yield pieces

    async def aclose(self) -> None:
        """Close what the provider holds, if it holds something."""
        close: Callable[[], Awaitable[None]] | None = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()

    def _key(self) -> str:
        return f"{self.id} {next(self._calls)}"

    @asynccontextmanager
    async def _streamed(
        self,
        key: str,
        begin: Callable[[], AbstractAsyncContextManager[AsyncIterator[Piece]]],
        ask: Callable[[Json], Awaitable[None]],
    ) -> AsyncGenerator[AsyncIterator[Piece]]:
        opened: list[AsyncIterator[Piece]] = []
        async with AsyncExitStack() as stack:

            async def work() -> Json:
                opened.append(await stack.enter_async_context(begin()))
                return None

            while (asked := await self._line.through(_opens(key), work, as_it_is, as_it_is, deaf=True)) is not None:
                await ask(asked)
            async with aclosing(self._lined(key, opened[0] if opened else _nothing())) as pieces:
                yield pieces

    async def _lined(self, key: str, pieces: AsyncIterator[Piece]) -> AsyncGenerator[Piece]:
        async def work() -> Piece | None:
            return await anext(pieces, None)

        try:
            while (piece := await self._line.through(key, work, piece_out, piece_in, deaf=True)) is not None:
                yield piece
        finally:
            close: Callable[[], Awaitable[None]] | None = getattr(pieces, "aclose", None)
            if close is not None:  # what it has not said is nobody's
                await close()


class LinedWatched(LinedProvider):
    """The same of one that lets extensions have a part in its requests. `Watched`."""

    def __init__(self, line: Line, inner: Provider, watched: Watched) -> None:
        super().__init__(line, inner)
        self._watched = watched

    @asynccontextmanager
    async def stream_around(self, request: Request, around: Around) -> AsyncGenerator[AsyncIterator[Piece]]:
        key = self._key()
        lined = _LinedAround(self._line, key, around)
        async with self._streamed(key, lambda: self._watched.stream_around(request, lined), lined.again) as pieces:
            yield pieces


class _LinedAround:
    """What is asked and told around one request. `Around`."""

    def __init__(self, line: Line, key: str, inner: Around) -> None:
        self._line = line
        self._key = key
        self._inner = inner
        self._told = line.progress(f"{key} hears", self._tell)

    @property
    def wants_payload(self) -> bool:
        return self._inner.wants_payload

    @property
    def wants_events(self) -> bool:
        return self._inner.wants_events

    async def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        await self._asks({"headers": list(headers)})
        return await self._inner.headers(headers)

    async def payload(self, payload: Json) -> Json:
        await self._asks({"payload": payload})
        return await self._inner.payload(payload)

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        self._told({"status": status, "headers": dict(headers)})

    def heard(self, data: Json) -> None:
        self._told({"event": data})

    async def again(self, asked: Json) -> None:
        """Ask what was asked."""
        if "headers" in asked:
            await self._inner.headers(dict.fromkeys(asked["headers"], ""))
        else:
            await self._inner.payload(asked["payload"])

    async def _asks(self, asked: Json) -> None:
        async def work() -> Json:
            return asked

        await self._line.through(_opens(self._key), work, as_it_is, as_it_is)

    def _tell(self, told: Json) -> None:
        if "event" in told:
            self._inner.heard(told["event"])
        else:
            self._inner.answered(told["status"], told["headers"])


def lined_provider(line: Line, inner: Provider) -> Provider:
    """The provider, with the line before it: one that extensions have no part in is none that they could have."""
    return LinedWatched(line, inner, inner) if isinstance(inner, Watched) else LinedProvider(line, inner)


def _opens(key: str) -> str:
    return f"{key} opens"


async def _nobody_asks(asked: Json) -> None:
    """Nothing is asked around a request that is only streamed."""


async def _nothing() -> AsyncGenerator[Piece]:
    """Of a provider that is not asked."""
    nothing: tuple[Piece, ...] = ()
    for piece in nothing:
        yield piece
