"""A span a model call, read back from the real SDK: what it says, what it never says, and that it costs nothing where nobody traces."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import pytest
import trio
import trio.testing
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, Tracer

from sapwood import (
    BranchSummarySettings,
    Refused,
    Runtime,
    Scripted,
    ScriptedAnswer,
    Session,
    Settings,
    Usage,
)
from sapwood.actors.environment import Environment
from sapwood.events.runtime import Purpose
from tests.build import MODEL
from tests.compacting import summary
from tests.house.layout import ROOT

SAID = "a question of oaks"


class Traced:
    """A tracer, and the spans that ended."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer: Tracer = provider.get_tracer("test")

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._kept.get_finished_spans()

    def attributes(self) -> list[Mapping[str, Any]]:
        return [span.attributes or {} for span in self.spans]


def opened(
    traced: Traced, settings: Settings | None = None, **script: Sequence[ScriptedAnswer]
) -> AbstractAsyncContextManager[Session]:
    provider = Scripted(cast("Mapping[Purpose, Sequence[ScriptedAnswer]]", script))
    runtime = Runtime(
        providers=[provider], environment=Environment.scripted(), counter="heuristic", tracer=traced.tracer
    )
    return runtime.open_session(None, model=MODEL, session_id="s-1", settings=settings)


async def test_a_turn_is_a_span_with_names_and_numbers_alone() -> None:
    traced = Traced()
    used = Usage.of(input=10, output=3, cache_read=4, cache_write=5)
    async with opened(traced, turn=[ScriptedAnswer(text=SAID, usage=used)]) as session:
        await session.prompt(SAID)

    [span] = traced.spans
    assert (span.name, span.kind, span.status.status_code) == (f"chat {MODEL.id}", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": MODEL.provider,
        "gen_ai.request.model": MODEL.id,
        "gen_ai.conversation.id": "s-1",
        "gen_ai.response.model": MODEL.id,
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 19,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.output_tokens": 3,
    }
    assert SAID not in span.to_json()


async def test_a_call_that_is_no_turn_says_what_it_is_for() -> None:
    traced = Traced()
    answers = [ScriptedAnswer(text="yes " * 2_000)] * 3
    settings = Settings(branch_summary=BranchSummarySettings(manner="omp"))
    async with opened(
        traced,
        settings,
        turn=answers,
        compaction=[ScriptedAnswer(text=summary())] * 2,
        turn_prefix=[ScriptedAnswer(text=summary("turn_prefix"))] * 2,
        branch_summary=[ScriptedAnswer(text=summary("branch"))],
    ) as session:
        for text in ("one ", "two ", "three "):
            await session.prompt(text * 20_000)
        await session.compact()
        first = session.entries()[1].id
        await session.navigate(first, summarize=True)

    kinds = [one.get("pi.gen_ai.oneshot.kind") for one in traced.attributes()]
    assert kinds[:3] == [None] * 3
    assert set(kinds[3:-1]) <= {"compaction", "turn_prefix"}
    assert "compaction" in kinds
    assert kinds[-1] == "branch_summary"
    assert traced.attributes()[-1]["gen_ai.request.max_tokens"] == 2_048


async def test_each_attempt_is_a_span_and_a_failure_says_its_kind_and_no_words(
    autojump_clock: trio.testing.MockClock,
) -> None:
    traced = Traced()
    async with opened(traced, turn=[ScriptedAnswer(error=f"overloaded by {SAID}"), ScriptedAnswer(text="well")]) as one:
        await one.prompt("go")

    failed, good = traced.spans
    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, None)
    assert (failed.attributes or {})["error.type"] == "unknown"
    assert (SAID in failed.to_json(), failed.events) == (False, ())
    assert good.status.status_code == StatusCode.UNSET


async def test_a_call_that_is_stopped_ends_its_span(autojump_clock: trio.testing.MockClock) -> None:
    traced = Traced()
    async with opened(traced, turn=[ScriptedAnswer(text="never", wait=100)]) as session:
        handle = session.submit("go")
        await trio.sleep(1)
        await session.abort()
        await handle.outcome()

    [attributes] = traced.attributes()
    assert attributes["gen_ai.response.finish_reasons"] == ("aborted",)
    assert "error.type" not in attributes
    assert "gen_ai.usage.input_tokens" not in attributes


async def test_who_leaves_a_move_ends_the_span_of_its_summary(autojump_clock: trio.testing.MockClock) -> None:
    traced = Traced()
    slow = ScriptedAnswer(text=summary("branch"), wait=100)
    async with opened(traced, turn=[ScriptedAnswer(text="well")] * 2, branch_summary=[slow]) as session:
        for text in ("one", "two"):
            await session.prompt(text)
        with trio.move_on_after(1):
            await session.navigate(session.entries()[1].id, summarize=True)

    assert [one.get("pi.gen_ai.oneshot.kind") for one in traced.attributes()] == [None, None, "branch_summary"]
    assert traced.spans[-1].status.status_code == StatusCode.UNSET


async def test_spans_are_under_that_of_who_opened_the_session() -> None:
    traced = Traced()
    with traced.tracer.start_as_current_span("host"):
        async with opened(traced, turn=[ScriptedAnswer(text="well")]) as session:
            await session.prompt("go")

    chat, host = traced.spans
    assert host.name == "host"
    assert chat.parent is not None
    assert host.context is not None
    assert chat.parent.span_id == host.context.span_id


def test_who_does_not_trace_imports_nothing_of_it() -> None:
    probe = """
import sys, trio, sapwood

async def main():
    talks = sapwood.Scripted({"turn": [sapwood.ScriptedAnswer(text="well")]})
    model = sapwood.Model(provider="scripted", id="m")
    async with sapwood.open_session(None, model=model, providers=[talks], counter="heuristic") as session:
        await session.prompt("go")

trio.run(main)
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    seen = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT).stdout

    assert seen.strip() == "[]"


@pytest.mark.parametrize("tracer", [5, "otel", Tracer])
def test_what_is_no_tracer_is_refused(tracer: Any) -> None:
    with pytest.raises(Refused, match="a tracer is OpenTelemetry's, with a start_span"):
        Runtime(tracer=tracer)
