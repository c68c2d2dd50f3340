"""Spans of model calls for a host that traces, by OpenTelemetry's conventions for generative models (E5).

1. Without a tracer nothing of OpenTelemetry is imported, and nothing is done.
2. No span holds what was said: names, numbers, ids and kinds alone.
3. A call that is no turn says what it is for, in `pi.gen_ai.oneshot.kind`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import attrs

from sapwood.events.failures import failure_of
from sapwood.events.messages import NO_USAGE, AssistantMessage, Usage
from sapwood.events.requests import Generate

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer
    from opentelemetry.util.types import AttributeValue

ONESHOT: Final = "pi.gen_ai.oneshot.kind"


@attrs.frozen(kw_only=True)
class Tracing:
    """Of one session."""

    tracer: Tracer | None
    conversation: str
    """The session's id."""

    @contextmanager
    def chat(self, asked: Generate) -> Generator[Callable[[AssistantMessage], None]]:
        """A span around one attempt; it is told the answer. What happens inside is under it."""
        if self.tracer is None:
            yield lambda _: None
            return
        from opentelemetry.trace import (  # noqa: PLC0415 - the host has it, since it gave a tracer
            SpanKind,
            Status,
            StatusCode,
            use_span,
        )

        span = self.tracer.start_span(
            f"chat {asked.model.id}", kind=SpanKind.CLIENT, attributes=_asked(asked, self.conversation)
        )

        def told(answer: AssistantMessage) -> None:
            span.set_attributes(_answered(answer))
            if answer.stop_reason == "error":
                span.set_status(Status(StatusCode.ERROR))

        # who is cancelled is no fault, and what a fault says may hold what was said
        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            yield told


def _asked(asked: Generate, conversation: str) -> dict[str, AttributeValue]:
    said: dict[str, AttributeValue] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": asked.model.provider,
        "gen_ai.request.model": asked.model.id,
        "gen_ai.conversation.id": conversation,
    }
    if asked.purpose != "turn":
        said[ONESHOT] = asked.purpose
    if asked.max_output is not None:
        said["gen_ai.request.max_tokens"] = asked.max_output
    return said


def _answered(answer: AssistantMessage) -> dict[str, AttributeValue]:
    said: dict[str, AttributeValue] = {
        "gen_ai.response.model": answer.response_model or answer.model,
        "gen_ai.response.finish_reasons": (answer.stop_reason,),
        **_used(answer.usage),
    }
    if answer.response_id is not None:
        said["gen_ai.response.id"] = answer.response_id
    if answer.stop_reason == "error":
        said["error.type"] = failure_of(answer).kind
    return said


def _used(usage: Usage) -> dict[str, AttributeValue]:
    """The conventions count what came from a cache, or went into it, as input too."""
    if usage == NO_USAGE:
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
    }
