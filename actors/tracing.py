"""Spans for a host that traces, by OpenTelemetry's conventions for generative models (E5): a run, its calls of models and of tools.

1. Without a tracer nothing of OpenTelemetry is imported, and nothing is done.
2. No span holds what was said: names, numbers, ids and kinds alone.
3. A call that is no turn says what it is for, in `pi.gen_ai.oneshot.kind`.
4. A span ends where its work ends for whoever waits for it: with an error status and its kind, if it failed, was stopped or crashed.
5. What a tracer raises harms nobody: its fault is reported, and the work goes on, without the span if there is none.

What is in a block is under its span, in other tasks and in threads too: a context goes along with whatever is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from sapwood.actors.kernel.errors import alone
from sapwood.events.failures import failure_of
from sapwood.events.messages import NO_USAGE, AssistantMessage, Usage
from sapwood.events.models import Model
from sapwood.events.requests import Generate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.trace import Span, Tracer
    from opentelemetry.util.types import AttributeValue

    Said: TypeAlias = Mapping[str, AttributeValue]

Kind: TypeAlias = Literal["CLIENT", "INTERNAL"]
Report: TypeAlias = Callable[[str, BaseException], None]

ONESHOT: Final = "pi.gen_ai.oneshot.kind"
WHOSE: Final = "the host's"
CANCELLED: Final = "cancelled"
"""The kind of error of what was stopped, or whose host left."""
ABANDONED: Final = "abandoned"
"""Of a tool that did not end when it was told to: its span ends, and it may go on."""
NO_SUCCESS: Final = "tool_error"
"""Of a tool that says itself that it failed."""
PROVIDERS: Final = {"google": "gcp.gemini"}
"""Providers that the conventions call by another name."""


class Traced:
    """The span of one piece of work, as that speaks of it; nothing at all where nobody traces."""

    def __init__(self, span: Span | None, report: Report) -> None:
        self._span = span
        self._report = report
        self._over = False

    def failed(self, kind: str) -> None:
        """It ends in an error of this kind: the first one that is told."""
        if self._span is None or self._over:
            return
        self._over = True
        span = self._span

        def tell() -> None:
            from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - rule 1

            span.set_attribute("error.type", kind)
            span.set_status(Status(StatusCode.ERROR))

        self._quietly(tell)

    def answered(self, answer: AssistantMessage) -> None:
        """What a call of a model came to."""
        span = self._span
        if span is not None:
            self._quietly(lambda: span.set_attributes(_answered(answer)))
            self.settled(answer, aborted=answer.stop_reason == "aborted")

    def settled(self, answer: AssistantMessage | None, *, aborted: bool) -> None:
        """It ends with this answer: in an error if that failed, or if somebody stopped it."""
        if aborted:
            self.failed(CANCELLED)
        elif answer is not None and answer.stop_reason == "error":
            self.failed(failure_of(answer).kind)

    def raised(self, fault: BaseException) -> None:
        """It ends in this: a failure, or whoever waited for it has left."""
        fault = alone(fault)
        self.failed(type(fault).__name__ if isinstance(fault, Exception) else CANCELLED)

    def end(self) -> None:
        """It is over: whatever is said of it now is nobody's."""
        span, self._over = self._span, True
        if span is not None:
            self._quietly(lambda: span.end())  # noqa: PLW0108 - looking for it may raise too
            self._span = None

    def _quietly(self, tell: Callable[[], object]) -> None:
        try:
            tell()
        except Exception as fault:  # noqa: BLE001 - rule 5: foreign code
            self._report(WHOSE, fault)


@attrs.frozen(kw_only=True)
class Tracing:
    """Of one session."""

    tracer: Tracer | None
    conversation: str
    """The session's id."""
    report: Report
    """Told of each fault in the tracer's code."""

    def run(self, model: Model) -> AbstractContextManager[Traced]:
        """Around a run, from its first input until it has settled."""
        return self._span("invoke_agent", "INTERNAL", lambda: self._of("invoke_agent", model))

    def chat(self, asked: Generate) -> AbstractContextManager[Traced]:
        """Around one attempt at a call of a model."""
        return self._span(f"chat {asked.model.id}", "CLIENT", lambda: self._of("chat", asked.model) | _asked(asked))

    def tool(self, name: str, call_id: str) -> AbstractContextManager[Traced]:
        """Around a call of a tool, from where its code begins."""
        return self._span(
            f"execute_tool {name}",
            "INTERNAL",
            lambda: {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.conversation.id": self.conversation,
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.id": call_id,
                "gen_ai.tool.type": "function",
            },
        )

    def _of(self, operation: str, model: Model) -> dict[str, AttributeValue]:
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": PROVIDERS.get(model.provider, model.provider),
            "gen_ai.request.model": model.id,
            "gen_ai.conversation.id": self.conversation,
        }

    def _span(self, name: str, kind: Kind, said: Callable[[], Said]) -> AbstractContextManager[Traced]:
        tracer = self.tracer
        if tracer is None:
            return nullcontext(Traced(None, self.report))
        return self._around(lambda stack: self._begun(tracer, name, kind, said(), stack))

    @contextmanager
    def _around(self, begin: Callable[[ExitStack], Traced]) -> Generator[Traced]:
        with ExitStack() as stack:
            traced = Traced(None, self.report)
            try:
                traced = begin(stack)
            except Exception as fault:  # noqa: BLE001 - rule 5: foreign code
                self.report(WHOSE, fault)
            try:
                yield traced
            except BaseException as left:
                traced.raised(left)
                raise
            finally:
                traced.end()

    def _begun(self, tracer: Tracer, name: str, kind: Kind, said: Said, stack: ExitStack) -> Traced:
        from opentelemetry.trace import SpanKind, use_span  # noqa: PLC0415 - the host has it, since it gave a tracer

        span = tracer.start_span(name, kind=SpanKind[kind], attributes=said)
        # what a fault says may hold what was said, so it is told here and by its kind alone
        stack.enter_context(use_span(span, record_exception=False, set_status_on_exception=False))
        return Traced(span, self.report)


def _asked(asked: Generate) -> dict[str, AttributeValue]:
    said: dict[str, AttributeValue] = {"gen_ai.request.stream": True}
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
    return said


def _used(usage: Usage) -> dict[str, AttributeValue]:
    """The conventions count what came from a cache, or went into it, as input too."""
    if usage == NO_USAGE:
        return {}
    used: dict[str, AttributeValue] = {
        "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
    }
    if usage.reasoning is not None:
        used["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning
    return used
