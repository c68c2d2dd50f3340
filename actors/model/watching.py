"""What extensions are asked and told around a request (M9). A provider that speaks over HTTP lets them; see `providers.base.Watched`.

1. They are asked before a slot of the provider is taken (M6), and told of what comes back without anybody waiting for them (H2).
2. Of the headers they see the names alone: a key is in one of them (M1).
3. A body that they changed is told of, and so is its answer (P9, T3). What they wrote into it is looked through as all that goes out (E6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from sapwood.actors.asking import Questions
from sapwood.events.base import Json
from sapwood.events.hooks import (
    AfterProviderResponse,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    ProviderStreamEvent,
    Question,
)
from sapwood.events.models import Model
from sapwood.events.runtime import Diagnostic, Event

KINDS: Final[tuple[type[Question[Any]], ...]] = (
    BeforeProviderHeaders,
    BeforeProviderRequest,
    AfterProviderResponse,
    ProviderStreamEvent,
)

Bare: TypeAlias = Callable[[Json, Json], Awaitable[Json]]
"""Hides what is secret in a body that was made of another one, which may go out. Raises `RedactionFailed`."""


@attrs.frozen
class Watch:
    """Of one session."""

    questions: Questions
    tell: Callable[[AfterProviderResponse | ProviderStreamEvent], None]
    """Tells whoever subscribed to it."""

    def around(self, model: Model, publish: Callable[[Event], int], bare: Bare) -> RequestWatch | None:
        """For one request to this model; None where nobody is asked or told anything of it."""
        return RequestWatch(self, model, publish, bare) if any(map(self.questions.has, KINDS)) else None


class RequestWatch:
    """Of one request: the `Around` that a provider is handed."""

    def __init__(self, watch: Watch, model: Model, publish: Callable[[Event], int], bare: Bare) -> None:
        self._bare = bare
        self._watch = watch
        self._model = model
        self._publish = publish
        self.changed = False
        """Whether the body that goes out is another one than was made of the request."""

    @property
    def wants_payload(self) -> bool:
        return self._watch.questions.has(BeforeProviderRequest)

    @property
    def wants_events(self) -> bool:
        return self._watch.questions.has(ProviderStreamEvent)

    async def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers as they go out."""
        answer = await self._watch.questions.ask(BeforeProviderHeaders(header_names=tuple(headers)))
        changes = {} if answer is None else {name.lower(): value for name, value in answer.headers.items()}
        kept = {name: value for name, value in headers.items() if name.lower() not in changes}
        return kept | {name: value for name, value in changes.items() if value is not None}

    async def payload(self, payload: Json) -> Json:
        """The body as it goes out. Raises `RedactionFailed`."""
        answer = await self._watch.questions.ask(BeforeProviderRequest(payload=payload))
        if answer is None or answer.payload == payload:
            return payload
        self.changed = True
        told = "the body of this request is not what the log says: extensions changed it (before_provider_request)"
        self._publish(Diagnostic(code="request_changed", message=told, facts={"events": ["before_provider_request"]}))
        return await self._bare(answer.payload, payload)

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The server has answered; nothing of a key is in its headers."""
        if self._watch.questions.has(AfterProviderResponse):
            self._watch.tell(AfterProviderResponse(status=status, headers=dict(headers)))

    def heard(self, data: Json) -> None:
        """An event of the answer, as it came; nothing of a key is in it."""
        if self.wants_events:
            model = self._model
            told = ProviderStreamEvent(provider=model.provider, api=model.api, model=model.id, data=data)
            self._watch.tell(told)
