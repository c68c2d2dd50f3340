"""The port of a provider: a request value in, pieces of an answer out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.events.base import Json, Number, Wire
from sapwood.events.content import AssistantBlock
from sapwood.events.deltas import Delta
from sapwood.events.failures import Failure
from sapwood.events.messages import NO_USAGE, StopReason, Usage
from sapwood.events.models import Model
from sapwood.events.runtime import Purpose


class Request(Wire, frozen=True, kw_only=True):
    """One request, as any wire can be told it. The messages are paired and of four roles."""

    model: Model
    purpose: Purpose
    messages: tuple[OutgoingMessage, ...]
    thinking_level: str = "off"
    """`off`, or how much: `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. Only a model that thinks is told."""
    max_output: int | None = None
    """Tokens of the answer, thinking included; None: what the model gives. Never more than that is asked for (M6)."""
    cache_write: bool = True
    """Whether the provider may keep the prompt for the next request, where that is asked and paid for."""
    cache_key: str | None = None
    """What requests with the same beginning have in common, for providers that route by it."""
    metadata: Mapping[str, Json] | None = None
    """What the host has the provider told beside the request, where its wire has a place for that."""


class Finish(Wire, frozen=True, kw_only=True):
    """The end of an answer, and the authority on what it was (M2)."""

    stop_reason: StopReason
    """Any but `pending`: that is how an answer begins."""
    content: tuple[AssistantBlock, ...] | None = None
    """None: what the pieces add up to."""
    usage: Usage = NO_USAGE
    error_message: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    raw_stop_reason: str | None = None
    """In the provider's own word."""
    failure: Failure | None = None
    """Why it failed, for whoever decides on another attempt."""
    duration_ms: Number | None = None


Piece = Delta | Finish


class Provider(Protocol):
    """One way to models. It makes single attempts: whether another one is worth it is not its business (M4)."""

    @property
    def id(self) -> str:
        """The name under which models speak of it."""
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        """Pieces as they come, `Finish` last. Leaving the context ends the call. Raises `ProviderError` for the world's faults, with
        the kind if it is known and the usage if something was billed.

        What cannot be kept of what it yields, and what else it raises, is a failed answer with what came before, and is logged as a fault.
        """
        ...


@runtime_checkable
class Handing(Protocol):
    """An iterator of pieces that can also hand them over by itself: that takes less than being asked for each."""

    async def each(self, take: Callable[[Piece], bool], /) -> None:
        """Call `take` with each piece as it comes, to the last one, or until it says that it wants no more. Raises as the iterator does."""
        ...


class Around(Protocol):
    """What is asked and told around one request, in this order. None of it raises, but for what `payload` says."""

    @property
    def wants_payload(self) -> bool:
        """Whether anybody is to be asked about the body; else there is no need to take it apart."""
        ...

    @property
    def wants_events(self) -> bool:
        """Whether anybody is told the events of the answer."""
        ...

    async def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers as they are to go out."""
        ...

    async def payload(self, payload: Json) -> Json:
        """The body as it is to go out: JSON that can be written. `RedactionFailed` where it may not go out."""
        ...

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The server has answered. Waits for nobody."""
        ...

    def heard(self, data: Json) -> None:
        """An event of the answer came. Waits for nobody."""
        ...


@runtime_checkable
class Watched(Protocol):
    """A provider that lets extensions have a part in its requests (M9). One that does not is only asked to `stream`."""

    def stream_around(self, request: Request, around: Around) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        """As `Provider.stream`."""
        ...
