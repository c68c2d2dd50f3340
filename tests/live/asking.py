"""A real model's server, and sessions that ask it over each of its wires."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, get_args

import attrs
import msgspec

import sapwood
from sapwood.actors.model.http import HttpProvider
from sapwood.actors.model.overflow import Wire
from sapwood.actors.model.wire import Codec, Decoder, HttpRequest
from sapwood.local.starting import LocalServer, LocalWire, local_model

WINDOW: Final = 1_536
"""Tokens that the server holds: a summary has room, and a prompt that has none is soon made."""
WIRES: Final[tuple[LocalWire, ...]] = get_args(LocalWire)
TALKER: Final = sapwood.Model(provider="scripted", id="talker")


@attrs.frozen
class Brief:
    """A wire over which a summary ends with its first sentence: left alone so small a model writes until it is cut, which is none."""

    codec: Codec

    @property
    def wire(self) -> Wire:
        return self.codec.wire

    def authorization(self, key: str) -> tuple[str, str]:
        return self.codec.authorization(key)

    def request(self, request: sapwood.Request) -> HttpRequest:
        asked = self.codec.request(request)
        if request.purpose == "turn":
            return asked
        body = {**msgspec.json.decode(asked.body), "stop": ["."], "stop_sequences": ["."]}  # each wire has its own word
        return attrs.evolve(asked, body=msgspec.json.encode(body))

    def decoder(self) -> Decoder:
        return self.codec.decoder()


@attrs.frozen
class Live:
    """The server."""

    url: str
    log: Path
    """What it says of requests, as it goes."""

    def provider(self, wire: LocalWire) -> HttpProvider:
        provider = LocalServer(self.url, local_model(), 0).provider(wire)
        provider._codec = Brief(provider._codec)
        return provider

    def model(self, *, window: int = WINDOW, max_output: int = 32) -> sapwood.Model:
        """The model as a host declares it: `window` may be wrong."""
        said = local_model()
        return sapwood.Model(
            provider=said.provider, id=said.id, context_window=window, max_output=max_output, price=said.price
        )

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    @asynccontextmanager
    async def session(
        self,
        wire: LocalWire,
        *,
        model: sapwood.Model | None = None,
        before: Sequence[sapwood.ScriptedAnswer] = (),
        tools: Sequence[Callable[..., object]] = (),
        system_prompt: str | None = None,
        settings: sapwood.Settings | None = None,
        record: Path | None = None,
    ) -> AsyncGenerator[sapwood.Session]:
        """A session over a wire. With answers that come before, it begins with whoever plays them; `set_model` goes on from there."""
        more: dict[str, Any] = {} if system_prompt is None else {"system_prompt": system_prompt}
        async with sapwood.open_session(
            None,
            model=TALKER if before else model or self.model(),
            providers=[sapwood.Scripted({"turn": list(before)}), self.provider(wire)],
            tools=list(tools) or None,
            settings=settings,
            record=record,
            **more,
        ) as session:
            yield session
