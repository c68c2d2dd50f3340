"""The shell of the model: one attempt a call, streamed, assembled, stoppable."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import assert_never

import attrs
import trio

from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Actor, Reply, Start
from sapwood.actors.model.assembly import Draft, apply, message
from sapwood.actors.model.providers.base import Finish, Piece, Provider, Request
from sapwood.actors.outgoing import prepare
from sapwood.events.errors import ProviderError
from sapwood.events.messages import AssistantMessage
from sapwood.events.requests import CallId, Generate, StopCall
from sapwood.events.runtime import Diagnostic, Event, MessageStart, MessageUpdate

STOPPED = "stopped before the answer was complete"


@attrs.define
class _Call:
    scope: trio.CancelScope
    draft: Draft


class ModelActor(Actor[Generate | StopCall]):
    """Owns the calls that are under way."""

    def __init__(
        self, providers: Mapping[str, Provider], environment: Environment, publish: Callable[[Event], int]
    ) -> None:
        self._providers = providers
        self._environment = environment
        self._publish = publish
        self._calls: dict[CallId, _Call] = {}
        self._stopped: set[CallId] = set()
        """Calls that were stopped before they were asked for."""

    def handle(self, message: Generate | StopCall) -> Reply | Start:
        match message:
            case Generate():
                return Start(lambda: self._attempt(message), name=f"call {message.call_id}")
            case StopCall(call_id=call_id):
                call = self._calls.get(call_id)
                if call is None:
                    self._stopped.add(call_id)
                else:
                    call.scope.cancel(reason=STOPPED)
                return Reply(call is not None)
            case _:
                assert_never(message)

    async def _attempt(self, asked: Generate) -> AssistantMessage:
        started = self._environment.now_ms()
        call = self._calls[asked.call_id] = _Call(trio.CancelScope(), Draft())
        if asked.call_id in self._stopped:
            self._stopped.remove(asked.call_id)
            call.scope.cancel(reason=STOPPED)
        self._publish(
            MessageStart(message=message(Draft(), asked.model, started_ms=started, otherwise="pending", error=None))
        )
        error: str | None = None
        try:
            with call.scope:
                await self._stream(asked, call)
        except ProviderError as refusal:
            error = str(refusal)
        except Exception as fault:  # noqa: BLE001 - a host's provider is foreign code: its fault is an answer that failed
            error = f"{type(fault).__name__}: {fault}"
        finally:
            del self._calls[asked.call_id]
        if call.scope.cancelled_caught:
            return message(call.draft, asked.model, started_ms=started, otherwise="aborted", error=STOPPED)
        if error is not None:
            unfinished = attrs.evolve(call.draft, finish=None)
            return message(unfinished, asked.model, started_ms=started, otherwise="error", error=error)
        return message(call.draft, asked.model, started_ms=started)

    async def _stream(self, asked: Generate, call: _Call) -> None:
        provider = self._providers.get(asked.model.provider)
        if provider is None:
            known = ", ".join(sorted(self._providers)) or "none"
            raise ProviderError(
                f"no provider is called {asked.model.provider!r} (there are: {known}): give it to the Runtime"
            )
        outgoing = prepare(asked.messages, provider=asked.model.provider, model=asked.model.id)
        for repair in outgoing.repairs:
            self._publish(
                Diagnostic(
                    code="pairing", message=f"tool call {repair.call}: {repair.kind}", facts={"repair": repair.kind}
                )
            )
        request = Request(
            model=asked.model, purpose=asked.purpose, messages=outgoing.messages, thinking_level=asked.thinking_level
        )
        async with provider.stream(request) as pieces, _closing(pieces):
            async for piece in pieces:
                call.draft = apply(call.draft, piece)
                if isinstance(piece, Finish):
                    return
                self._publish(MessageUpdate(call_id=asked.call_id, assistant_message_event=piece))


@asynccontextmanager
async def _closing(pieces: AsyncIterator[Piece]) -> AsyncGenerator[None]:
    """A provider may hand out a bare generator; what it has not yet said is nobody's, and it must not be left to the collector."""
    try:
        yield
    finally:
        close: Callable[[], Awaitable[None]] | None = getattr(pieces, "aclose", None)
        if close is not None:
            await close()
