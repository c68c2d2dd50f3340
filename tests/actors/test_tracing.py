"""Spans, read back from the real SDK: what they say and never say, what is under what, and that they cost nothing where nobody traces."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import msgspec
import pytest
import structlog
import trio
import trio.testing
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanKind, StatusCode, Tracer

import sapwood
from sapwood import (
    BranchSummarySettings,
    Refused,
    RetryPolicy,
    Runtime,
    SapwoodError,
    Scripted,
    ScriptedAnswer,
    Session,
    Settings,
    ToolResult,
    Usage,
)
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Tap
from sapwood.actors.kernel.testing import CrashAt, StrikeAt
from sapwood.events.content import ToolCall
from sapwood.events.runtime import Purpose
from tests.build import MODEL, call
from tests.compacting import summary
from tests.house.layout import ROOT
from tests.tracing import Traced, fault_of, is_under, said_of

SAID = "a question of oaks"


def opened(
    traced: Traced,
    settings: Settings | None = None,
    *,
    environment: Environment | None = None,
    tools: Sequence[Callable[..., object]] | None = None,
    tap: Tap | None = None,
    **script: Sequence[ScriptedAnswer],
) -> AbstractAsyncContextManager[Session]:
    provider = Scripted(cast("Mapping[Purpose, Sequence[ScriptedAnswer]]", script))
    runtime = Runtime(
        providers=[provider],
        environment=environment or Environment.scripted(),
        counter="heuristic",
        tracer=traced.tracer,
    )
    return runtime.open_session(None, model=MODEL, session_id="s-1", settings=settings, tools=tools, tap=tap)


async def test_a_turn_is_a_span_with_names_and_numbers_alone() -> None:
    traced = Traced()
    used = Usage.of(input=10, output=3, cache_read=4, cache_write=5, reasoning=2)
    async with opened(traced, turn=[ScriptedAnswer(text=SAID, usage=used)]) as session:
        await session.prompt(SAID)

    span, run = traced.spans
    assert (span.name, span.kind, span.status.status_code) == (f"chat {MODEL.id}", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.stream": True,
        "gen_ai.provider.name": MODEL.provider,
        "gen_ai.request.model": MODEL.id,
        "gen_ai.conversation.id": "s-1",
        "gen_ai.response.model": MODEL.id,
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 19,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.reasoning.output_tokens": 2,
    }
    assert SAID not in span.to_json()
    assert (run.name, run.kind, fault_of(run)) == ("invoke_agent", SpanKind.INTERNAL, None)
    assert dict(said_of(run)) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": MODEL.provider,
        "gen_ai.request.model": MODEL.id,
        "gen_ai.conversation.id": "s-1",
    }
    assert is_under(span, run)


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

    kinds = [one.get("pi.gen_ai.oneshot.kind") for one in traced.chats()]
    assert kinds[:3] == [None] * 3
    assert set(kinds[3:-1]) <= {"compaction", "turn_prefix"}
    assert "compaction" in kinds
    assert kinds[-1] == "branch_summary"
    assert traced.chats()[-1]["gen_ai.request.max_tokens"] == 2_048
    assert [fault_of(run) for run in traced.of("invoke_agent")] == [None] * 3


async def test_each_attempt_is_a_span_and_a_failure_says_its_kind_and_no_words(
    autojump_clock: trio.testing.MockClock,
) -> None:
    traced = Traced()
    async with opened(traced, turn=[ScriptedAnswer(error=f"overloaded by {SAID}"), ScriptedAnswer(text="well")]) as one:
        await one.prompt("go")

    failed, good = traced.of("chat")
    [run] = traced.of("invoke_agent")
    assert [fault_of(one) for one in (failed, good, run)] == ["unknown", None, None]
    assert SAID not in failed.to_json()
    assert is_under(failed, run)
    assert is_under(good, run)


async def test_a_call_that_is_stopped_ends_its_span(autojump_clock: trio.testing.MockClock) -> None:
    traced = Traced()
    async with opened(traced, turn=[ScriptedAnswer(text="never", wait=100)]) as session:
        handle = session.submit("go")
        await trio.sleep(1)
        await session.abort()
        await handle.outcome()

    [chat, run] = traced.spans
    assert (fault_of(chat), fault_of(run)) == ("cancelled", "cancelled")
    assert said_of(chat)["gen_ai.response.finish_reasons"] == ("aborted",)
    assert "gen_ai.usage.input_tokens" not in said_of(chat)


async def test_who_leaves_a_move_ends_the_span_of_its_summary(autojump_clock: trio.testing.MockClock) -> None:
    traced = Traced()
    slow = ScriptedAnswer(text=summary("branch"), wait=100)
    async with opened(traced, turn=[ScriptedAnswer(text="well")] * 2, branch_summary=[slow]) as session:
        for text in ("one", "two"):
            await session.prompt(text)
        with trio.move_on_after(1):
            await session.navigate(session.entries()[1].id, summarize=True)

    assert [one.get("pi.gen_ai.oneshot.kind") for one in traced.chats()] == [None, None, "branch_summary"]
    assert traced.spans[-1].parent is None  # it is of no run
    assert fault_of(traced.spans[-1]) == "cancelled"


async def test_a_run_is_under_the_span_of_who_asks_for_it() -> None:
    traced = Traced()
    with traced.tracer.start_as_current_span("opens"):
        async with opened(traced, turn=[ScriptedAnswer(text="well")] * 2) as session:
            await session.prompt("go")
            with traced.tracer.start_as_current_span("asks"):
                await session.prompt("on")

    _, first, _, second, asks, opens = traced.spans
    assert (first.name, second.name, asks.name, opens.name) == ("invoke_agent", "invoke_agent", "asks", "opens")
    assert is_under(first, opens)
    assert is_under(second, asks)


def calling(*calls: ToolCall) -> list[ScriptedAnswer]:
    return [ScriptedAnswer(calls=calls), ScriptedAnswer(text="well")]


async def test_a_call_of_a_tool_is_a_span_under_its_run_and_what_the_tool_does_is_under_it() -> None:
    traced = Traced()

    def in_a_thread(text: str) -> str:
        with traced.tracer.start_as_current_span(f"{threading.current_thread() is threading.main_thread()}"):
            return SAID

    async def in_a_task(text: str) -> str:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(below)
        return SAID

    async def below() -> None:
        with traced.tracer.start_as_current_span("task"):
            await trio.lowlevel.checkpoint()

    calls = (call("t-1", "in_a_thread", text=SAID), call("t-2", "in_a_task", text=SAID))
    world = Environment()  # a scripted one has no threads
    async with opened(traced, environment=world, tools=[in_a_thread, in_a_task], turn=calling(*calls)) as session:
        await session.prompt(SAID)

    tools = {span.name: span for span in traced.of("execute_tool")}
    thread, task = tools["execute_tool in_a_thread"], tools["execute_tool in_a_task"]
    [run] = traced.of("invoke_agent")
    assert (thread.kind, fault_of(thread), fault_of(task), fault_of(run)) == (SpanKind.INTERNAL, None, None, None)
    assert dict(said_of(thread)) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.tool.name": "in_a_thread",
        "gen_ai.tool.call.id": "t-1",
        "gen_ai.tool.type": "function",
    }
    assert all(is_under(one, run) for one in (thread, task, *traced.of("chat")))
    inner = {span.name: span for span in traced.spans if not said_of(span)}
    assert inner.keys() == {"False", "task"}
    assert is_under(inner["False"], thread)
    assert is_under(inner["task"], task)
    assert SAID not in "".join(span.to_json() for span in traced.spans)


async def test_a_tool_that_fails_says_how_and_the_run_goes_on() -> None:
    traced = Traced()

    def raising() -> str:
        raise ZeroDivisionError(SAID)

    async def losing() -> str:
        raise asyncio.CancelledError(SAID)

    async def unhappy() -> ToolResult:
        await trio.lowlevel.checkpoint()
        return ToolResult(content=SAID, is_error=True)

    made = (call("t-1", "raising"), call("t-2", "unhappy"), call("t-3", "losing"), call("t-4", "nobody"))
    async with opened(traced, tools=[raising, unhappy, losing], turn=calling(*made)) as session:
        await session.prompt("go")

    faults = {span.name.removeprefix("execute_tool "): fault_of(span) for span in traced.of("execute_tool")}
    assert faults == {"raising": "ZeroDivisionError", "unhappy": "tool_error", "losing": "cancelled"}
    assert [fault_of(span) for span in traced.of("invoke_agent")] == [None]
    assert SAID not in "".join(span.to_json() for span in traced.spans)


async def test_what_is_stopped_and_what_is_left_behind_ends_its_span_with_the_run(
    autojump_clock: trio.testing.MockClock,
) -> None:
    traced = Traced()
    late: list[str] = []

    async def patient() -> None:
        await trio.sleep_forever()

    async def deaf() -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(5)
        with traced.tracer.start_as_current_span("late"):
            late.append("done")
        return "late"

    calls = (call("t-1", "patient"), call("t-2", "deaf"))
    async with opened(traced, tools=[patient, deaf], turn=calling(*calls)) as session:
        handle = session.submit("go")
        await trio.sleep(1)
        await session.abort()
        await handle.outcome()
        faults = {span.name: fault_of(span) for span in traced.spans if "chat" not in span.name}
        assert faults == {
            "execute_tool patient": "cancelled",
            "execute_tool deaf": "abandoned",
            "invoke_agent": "cancelled",
        }
        await trio.sleep(10)
    assert late == ["done"]
    assert {span.name: fault_of(span) for span in traced.of("execute_tool")}["execute_tool deaf"] == "abandoned"


async def test_a_run_that_fails_in_the_end_says_the_kind_of_its_last_failure(
    autojump_clock: trio.testing.MockClock,
) -> None:
    traced = Traced()
    settings = Settings(retry=RetryPolicy(max_retries=1))
    async with opened(traced, settings, turn=[ScriptedAnswer(error="503 overloaded")] * 2) as session:
        assert (await session.prompt("go")).failed

    assert [(span.name, fault_of(span)) for span in traced.spans] == [
        (f"chat {MODEL.id}", "unknown"),
        (f"chat {MODEL.id}", "unknown"),
        ("invoke_agent", "unknown"),
    ]


@pytest.mark.parametrize("actor", ["agent", "model", "tools", "session_log", "projection"])
async def test_a_crash_anywhere_leaves_no_span_open_and_none_without_its_parent(
    actor: str, autojump_clock: trio.testing.MockClock
) -> None:
    faults = 0
    numbers = range(1, 5)
    taps: list[Tap] = [CrashAt(actor, number) for number in numbers]
    taps += [StrikeAt(actor, number, "start") for number in numbers]
    taps += [StrikeAt(actor, number, "end") for number in numbers]
    for tap in taps:
        traced, begun = Traced(), Counting()
        traced.provider.add_span_processor(begun)
        with contextlib.suppress(SapwoodError):
            async with opened(traced, tools=[echo], tap=tap, turn=calling(call("t-1", "echo"))) as session:
                await session.prompt("go")
        assert begun.open == set()
        runs = traced.of("invoke_agent")
        for span in traced.spans:
            assert span in runs or any(is_under(span, run) for run in runs)
        faults += sum(fault_of(span) is not None for span in traced.spans)
    if actor in {"model", "tools"}:
        assert faults


async def test_an_agent_that_crashes_ends_the_span_of_its_run_and_of_all_that_is_under_way(
    autojump_clock: trio.testing.MockClock,
) -> None:
    traced = Traced()
    slow = ScriptedAnswer(text="never", wait=100)
    async with opened(traced, tap=CrashAt("agent", 2), turn=[slow, ScriptedAnswer(text="well")]) as session:
        handle = session.submit("go")
        await trio.sleep(1)
        session.steer("on")
        await handle.outcome()

    assert [(span.name, fault_of(span)) for span in traced.spans][:2] == [
        (f"chat {MODEL.id}", "cancelled"),
        ("invoke_agent", "cancelled"),
    ]


class Counting(SpanProcessor):
    """Knows which spans have begun and not ended."""

    def __init__(self) -> None:
        self.open: set[int] = set()

    def on_start(self, span: Span, parent_context: object = None) -> None:
        assert span.context is not None
        self.open.add(span.context.span_id)

    def on_end(self, span: ReadableSpan) -> None:
        assert span.context is not None
        self.open.remove(span.context.span_id)


async def echo() -> str:
    await trio.lowlevel.checkpoint()
    return SAID


async def test_eight_sessions_at_once_do_not_mix_their_spans() -> None:
    traced = Traced()
    script = [calling(call(f"t-{number}", "wander")) for number in range(8)]

    async def wander() -> str:
        for _ in range(5):
            await trio.lowlevel.checkpoint()
        return ""

    async def one(number: int, runtime: Runtime) -> None:
        model = msgspec.structs.replace(MODEL, provider=f"p{number}")
        async with runtime.open_session(None, model=model, session_id=f"s-{number}", tools=[wander]) as session:
            await session.prompt("go")

    providers = [Scripted({"turn": answers}, provider_id=f"p{number}") for number, answers in enumerate(script)]
    async with (
        Runtime(providers=providers, counter="heuristic", tracer=traced.tracer) as runtime,
        trio.open_nursery() as nursery,
    ):
        for number in range(8):
            nursery.start_soon(one, number, runtime)

    runs = {said_of(run)["gen_ai.conversation.id"]: run for run in traced.of("invoke_agent")}
    assert runs.keys() == {f"s-{number}" for number in range(8)}
    assert len({run.context.trace_id for run in runs.values() if run.context is not None}) == 8
    below = [*traced.of("chat"), *traced.of("execute_tool")]
    assert len(below) == 24
    for span in below:
        said = said_of(span)
        run = runs[said["gen_ai.conversation.id"]]
        assert is_under(span, run)
        assert said.get("gen_ai.tool.call.id", run.name) in {run.name, f"t-{said['gen_ai.conversation.id'][2:]}"}


class Breaking:
    """A tracer that raises, or whose spans do."""

    def __init__(self, at_once: bool) -> None:
        self.at_once = at_once

    def start_span(self, *_: object, **__: object) -> object:
        if self.at_once:
            raise ZeroDivisionError("no span today")
        return self

    def __getattr__(self, name: str) -> object:
        raise ZeroDivisionError(f"no {name} today")


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_tracer_that_breaks_harms_nobody_and_is_told_of(at_once: bool) -> None:
    faults: list[str] = []

    def keep(_: object, __: str, event: MutableMapping[str, Any]) -> str:
        if event["event"] == "tracer_failed":
            faults.append(event["tracer"])
        return ""

    structlog.configure(processors=[keep])
    try:
        async with sapwood.open_session(
            None,
            model=MODEL,
            providers=[Scripted({"turn": calling(call("t-1", "echo"))})],
            counter="heuristic",
            tracer=cast("Tracer", Breaking(at_once)),
            tools=[echo],
        ) as session:
            outcome = await session.prompt("go")
    finally:
        structlog.reset_defaults()
    assert not outcome.failed, outcome.answer
    assert set(faults) == {"the host's"}


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
