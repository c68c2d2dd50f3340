"""What a wire is: a request into bytes, events into pieces. No I/O.

A codec is all that one way to speak to models needs to know; the shell in `http.py` brings its bytes there and back, and is the same for
all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar

import attrs
import msgspec

from sapwood.actors.model.overflow import Wire
from sapwood.actors.model.providers.base import Piece, Request
from sapwood.actors.model.sse import ServerEvent
from sapwood.events.base import Json
from sapwood.events.errors import ProviderError
from sapwood.events.messages import Usage

T = TypeVar("T")

CUT: Final = "the answer ended before it was complete"
_encode: Final = msgspec.json.Encoder().encode


@attrs.frozen(kw_only=True)
class HttpRequest:
    """A request as it goes out, without the key. The same `Request` gives the same bytes (M4)."""

    path: str
    """Behind the base URL."""
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class Decoder(Protocol):
    """Makes pieces of the events of one answer. The last piece is a `Finish`: nothing behind it is read."""

    @property
    def usage(self) -> Usage:
        """What was billed, as far as it has been said: a call that breaks is billed too (T6)."""
        ...

    @property
    def may_end(self) -> bool:
        """Whether only the end of the stream is missing, and need not come."""
        ...

    def feed(self, event: ServerEvent) -> Sequence[Piece] | None:
        """The pieces that an event brings. None: it says nothing, as one that only keeps the connection alive (M3).

        Raises `ProviderError` for one that tells of a failure, or that cannot be read.
        """
        ...

    def end(self) -> Sequence[Piece]:
        """The stream ended: the rest of the answer, if it was whole. Else `ProviderError` (M2)."""
        ...


class Codec(Protocol):
    """One wire, and how a server that speaks it wants to be spoken to."""

    @property
    def wire(self) -> Wire: ...

    def authorization(self, key: str) -> tuple[str, str]:
        """The header that bears the key."""
        ...

    def request(self, request: Request) -> HttpRequest:
        """The request in bytes."""
        ...

    def decoder(self) -> Decoder:
        """For one answer."""
        ...


def body(value: dict[str, Json]) -> bytes:
    """A request's body; what is None in it is left out."""
    return _encode({key: item for key, item in value.items() if item is not None})


def labels(metadata: Mapping[str, Json] | None) -> dict[str, Json] | None:
    """What the host has the provider told beside a request, for wires that take texts alone: the JSON of what is none. None for nothing."""
    if not metadata:
        return None
    return {name: said if isinstance(said, str) else _encode(said).decode() for name, said in metadata.items()}


def read_json(event: ServerEvent) -> Json:
    """The JSON of an event. `ProviderError` if it is none: a server that writes so may have left out anything."""
    try:
        return msgspec.json.decode(event.data)
    except (ValueError, RecursionError):  # half a character is one more thing that JSON lets be
        try:
            return json.loads(event.data)
        except (ValueError, RecursionError):
            raise ProviderError(f"an event of the answer is no JSON: {event.data:.200}", kind="server") from None


class Quick(Generic[T]):
    """Reads the events that an answer mostly consists of, in a third of the time: by a type that says all there is to look at in one.

    It changes nothing of what is read: an event of any other kind is None here, and is read as every event can be. Of a type's fields each
    has the values for which there is nothing more to see.
    """

    def __init__(self, of: type[T]) -> None:
        self._decode = msgspec.json.Decoder(of).decode

    def read(self, event: ServerEvent) -> T | None:
        if event.name == "error":
            return None
        try:
            return self._decode(event.data)
        except (ValueError, RecursionError):
            return None


def cut(usage: Usage) -> ProviderError:
    """The stream ended too early."""
    return ProviderError(CUT, kind="cut_off", usage=usage)
