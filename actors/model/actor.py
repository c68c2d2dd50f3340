"""The shell of the model: one attempt a call, streamed, assembled, stoppable."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import assert_never

import attrs
import msgspec
import trio

from sapwood.actors.environment import Environment
from sapwood.actors.foreign import LEAVE_AFTER, Fault, outcome_of, words_of
from sapwood.actors.kernel import Actor, Apart, OperationCrashed, Reply, Start
from sapwood.actors.kernel.errors import alone
from sapwood.actors.model.assembly import STOPPED, Broken, Draft, answer_of, unfinished
from sapwood.actors.model.providers.base import Handing, Piece, Provider, Request, Watched
from sapwood.actors.model.watching import RequestWatch, Watch
from sapwood.actors.outgoing import Limited, Outbox, Outgoing, Repair, images_of, prepare
from sapwood.actors.outgoing.rendering import OutgoingMessage
from sapwood.actors.outgoing.texts import Hiding, hidden
from sapwood.actors.outgoing.unveiling import Unveiling, shown_answer
from sapwood.actors.outgoing.veil import NOTHING, Veil
from sapwood.actors.redaction import Redaction
from sapwood.actors.stops import Stops
from sapwood.actors.tracing import Tracing
from sapwood.events.base import Json
from sapwood.events.content import mended
from sapwood.events.copies import Detaching, detached
from sapwood.events.errors import ProviderError
from sapwood.events.failures import changed
from sapwood.events.messages import AssistantMessage
from sapwood.events.models import Model
from sapwood.events.requests import CallId, Generate, StopCall
from sapwood.events.runtime import Diagnostic, Event, MessageStart, MessageUpdate


@attrs.define
class _Call:
    scope: trio.CancelScope
    draft: Draft
    veil: Veil = NOTHING
    """What was hidden from the provider, and is shown again in what comes back (E6)."""
    around: RequestWatch | None = None
    over: bool = False
    """Whether its answer was given: what a provider that was left behind says then is nobody's."""


class ModelActor(Actor[Generate | StopCall]):
    """Owns the calls that are under way."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        environment: Environment,
        publish: Callable[[Event], int],
        report: Callable[[str, BaseException], None],
        *,
        redaction: Redaction,
        tracing: Tracing,
        watch: Watch | None = None,
    ) -> None:
        """`report` is told of each fault in the code of a provider: whose, and what it raised.

        `watch`: what extensions have to do with its requests.
        """
        self._redaction = redaction
        self._tracing = tracing
        self._providers = providers
        self._environment = environment
        self._publish = publish
        self._report = report
        self._watch = watch
        self._calls: dict[CallId, _Call] = {}
        self._stops = Stops()
        self._turns = Outbox()
        self._hiding = Hiding()
        self._giving = Detaching[OutgoingMessage]()
        self._told_of_images = False
        self._told: set[Repair | Limited] = set()
        """Repairs and limits that were told: each is made at every request, and told once."""

    def handle(self, message: Generate | StopCall) -> Reply | Start:
        match message:
            case Generate():
                return Start(lambda: self._attempt(message), name=f"call {message.call_id}")
            case StopCall(call_id=call_id):
                call = self._calls.get(call_id)
                if call is None:
                    self._stops.stop(call_id)
                else:
                    call.scope.cancel(reason=STOPPED)
                return Reply(call is not None)
            case _:
                assert_never(message)

    async def _attempt(self, asked: Generate) -> AssistantMessage:
        with self._tracing.chat(asked) as traced:
            answer = await self._call(asked)
            traced.answered(answer)
        return answer

    async def _call(self, asked: Generate) -> AssistantMessage:
        started, model = self._environment.now_ms(), self._told_apart(asked.model)
        call = self._calls[asked.call_id] = _Call(trio.CancelScope(), Draft())
        if self._stops.begins(asked.call_id):
            call.scope.cancel(reason=STOPPED)
        if asked.purpose == "turn":  # what else a model says is no message of the session
            opening = unfinished(Draft(), model, started_ms=started, reason="pending", error=None)
            self._publish(MessageStart(message=opening))
        part = Apart(lambda: self._streamed(asked, call), name=f"stream {asked.call_id}", grace=LEAVE_AFTER)
        error: Broken | None = None
        try:
            with call.scope:
                await trio.lowlevel.checkpoint_if_cancelled()  # a call that was stopped already reaches no provider
                error = await part.run()
        except OperationCrashed as crash:
            error = Broken(words_of(crash, OperationCrashed))
        finally:
            call.over = True
            del self._calls[asked.call_id]
            self._stops.ended(asked.call_id)
        if part.running:
            told = f"the provider {model.provider!r} did not stop when it was told to: it was left behind"
            self._publish(Diagnostic(code="provider_left_behind", message=told, facts={"provider": model.provider}))
        if call.draft.fault is not None:
            self._report(model.provider, call.draft.fault)
        stopped = call.scope.cancel_called
        answer = answer_of(call.draft, model, started_ms=started, stopped=stopped, error=error)
        other = asked.changed or (call.around is not None and call.around.changed)
        shown = shown_answer(answer, call.veil)
        return changed(shown, started) if other else shown

    def _told_apart(self, model: Model) -> Model:
        """The model, with the wire that its provider speaks where the host named none: answers say it, for other readers of the file."""
        wire: object = getattr(self._providers.get(model.provider), "api", None)
        return msgspec.structs.replace(model, api=wire) if model.api == "unknown" and isinstance(wire, str) else model

    async def _streamed(self, asked: Generate, call: _Call) -> Broken | None:
        """The foreign code; what went wrong with it. Its fault fails the answer, a `CancelledError` of another loop too."""

        def report(fault: BaseException) -> None:
            if not isinstance(alone(fault), ProviderError) and not call.over:
                self._report(asked.model.provider, fault)

        came = await outcome_of(lambda: self._stream(asked, call), report)
        if not isinstance(came, Fault):
            return None
        words, cause = came.words(ProviderError), alone(came.error)
        return Broken.of(words, cause) if isinstance(cause, ProviderError) else Broken(words)

    async def _stream(self, asked: Generate, call: _Call) -> None:
        provider = self._providers.get(asked.model.provider)
        if provider is None:
            known = ", ".join(sorted(self._providers)) or "none"
            raise ProviderError(
                f"no provider is called {asked.model.provider!r} (there are: {known}): give it to the Runtime"
            )
        veil = call.veil = await self._redaction.veil(
            asked.messages, dict(asked.metadata or {}), once=asked.purpose != "turn"
        )
        # what else is asked has nothing before it
        is_turn = asked.purpose == "turn"
        prepared, hide = (self._turns.prepare, self._hiding.hidden) if is_turn else (prepare, hidden)
        give = self._giving.detached if is_turn else detached
        outgoing = prepared(
            hide(asked.messages, veil),
            provider=asked.model.provider,
            model=asked.model.id,
            limits=asked.model.limits,
        )
        self._tell(outgoing)
        request = Request(
            model=detached(asked.model),  # it goes to foreign code
            purpose=asked.purpose,
            messages=give(outgoing.messages),
            thinking_level=asked.thinking_level,
            max_output=asked.max_output,
            cache_write=asked.cache_write,
            cache_key=asked.cache_key,
            metadata=asked.metadata and detached(mended(dict(asked.metadata), veil.hide)),
        )
        unveiling: Unveiling

        def take(piece: object) -> bool:
            if call.over:
                return False
            told = call.draft.add(piece)
            if asked.purpose == "turn":
                for one in unveiling.rest() if told is None else unveiling.shown(told):
                    self._publish(MessageUpdate(call_id=asked.call_id, assistant_message_event=one))
            return told is not None

        async with self._opened(provider, request, call) as pieces, _closing(pieces):
            unveiling = Unveiling(call.veil)  # extensions may have written more that is secret into the request
            if isinstance(pieces, Handing):
                await pieces.each(take)
                return
            async for piece in pieces:
                if not take(piece):
                    return
                await trio.lowlevel.checkpoint()  # a provider that never waits must not hold up whoever would stop it

    def _opened(
        self, provider: Provider, request: Request, call: _Call
    ) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        if self._watch is not None and isinstance(provider, Watched):

            async def bare(given: Json, there: Json) -> Json:
                body, call.veil = await self._redaction.bare(given, there)
                return body

            call.around = self._watch.around(self._told_apart(request.model), self._publish, bare)
            if call.around is not None:
                return provider.stream_around(request, call.around)
        return provider.stream(request)

    def _tell(self, outgoing: Outgoing) -> None:
        told: list[Repair | Limited] = [*outgoing.repairs, *outgoing.limited]
        for one in told:
            if one not in self._told:
                self._told.add(one)
                self._publish(_diagnostic(one))
        if self._redaction.saw_images and not self._told_of_images and images_of(outgoing.messages):
            self._told_of_images = True
            told_once = "an image goes to the provider, and a redactor sees texts alone: Limits(images=0) sends none"
            self._publish(Diagnostic(code="image_unredacted", message=told_once))


def _diagnostic(one: Repair | Limited) -> Diagnostic:
    match one:
        case Repair(kind=kind, call=call):
            return Diagnostic(code="pairing", message=f"tool call {call}: {kind}", facts={"repair": kind})
        case Limited(limit=limit, times=times):
            message = f"the model's limit `{limit}` was met {times} times"
            return Diagnostic(code="limits", message=message, facts={"limit": limit, "times": times})
        case _:
            assert_never(one)


@asynccontextmanager
async def _closing(pieces: AsyncIterator[Piece]) -> AsyncGenerator[None]:
    """A provider may hand out a bare generator; what it has not yet said is nobody's, and it must not be left to the collector."""
    try:
        yield
    finally:
        close: Callable[[], Awaitable[None]] | None = getattr(pieces, "aclose", None)
        if close is not None:
            await close()
