"""A tracer of the real SDK's, and the spans that it was told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, Tracer


class Traced:
    """A tracer, and the spans that ended, in that order."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer: Tracer = self.provider.get_tracer("test")

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._kept.get_finished_spans()

    def of(self, operation: str) -> list[ReadableSpan]:
        return [span for span in self.spans if said_of(span).get("gen_ai.operation.name") == operation]

    def chats(self) -> list[Mapping[str, Any]]:
        return [said_of(span) for span in self.of("chat")]

    def names(self) -> list[str]:
        return [span.name for span in self.spans]


def said_of(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def fault_of(span: ReadableSpan) -> str | None:
    """The kind of its error; None where it ended well. A span says no word of it."""
    assert span.status.description is None
    assert span.events == ()
    kind = said_of(span).get("error.type")
    assert (span.status.status_code is StatusCode.ERROR) is (kind is not None)
    return kind


def is_under(span: ReadableSpan, parent: ReadableSpan) -> bool:
    return span.parent is not None and parent.context is not None and span.parent.span_id == parent.context.span_id
