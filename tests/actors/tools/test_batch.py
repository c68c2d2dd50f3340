"""The calls of an answer, in a real session: each has exactly one result in the log, whatever its tool does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
import trio
import trio.testing

from sapwood import Environment, Published, Scripted, ScriptedAnswer, Session, Tool, ToolContext, ToolResult, tool
from sapwood.actors.kernel import Receipt, Verdict
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.tools.results import BROKEN, INTERRUPTED, LEFT_BEHIND, TRUNCATED, UNSTARTED
from sapwood.events.content import ToolCall, text_of
from sapwood.events.entries import MessageEntry
from sapwood.events.errors import StoreError
from sapwood.events.messages import ToolResultMessage
from sapwood.events.runtime import (
    Event,
    MessageEnd,
    ToolAbandoned,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
)
from tests.actors.keeping import cancelled_once
from tests.build import call
from tests.store.faults import FaultyDisk
from tests.talking import drain, names, talking


def calling(*calls: ToolCall) -> ScriptedAnswer:
    return ScriptedAnswer(calls=calls)


def results(session: Session) -> list[tuple[str, str]]:
    """Calls and what came of them, in the order of the log."""
    return [
        (entry.message.tool_call_id, text_of(entry.message.content))
        for entry in session.entries()
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
    ]


def of_kind(events: Sequence[Event], kind: type) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


class Holding:
    """Holds the calls of an answer before they begin, until they may go on."""

    def __init__(self) -> None:
        self.reached, self.may_go_on = trio.Event(), trio.Event()

    async def receipt(self, receipt: Receipt) -> Verdict:
        return "handle"

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        if (actor, phase) == ("tools", "start") and operation.startswith("tools "):
            self.reached.set()
            await self.may_go_on.wait()


async def echo(text: str) -> str:
    return text


async def slow(seconds: float) -> str:
    await trio.sleep(seconds)
    return f"{seconds:g}"


async def test_a_call_is_run_told_and_recorded_and_the_model_goes_on(autojump_clock: trio.testing.MockClock) -> None:
    async with talking(calling(call("c1", "echo", text="hi")), "done", tools=[echo]) as session:
        reader = session.events()
        outcome = await session.prompt("go")
        events = drain(reader)

    assert outcome.turns == 2
    assert names(events) == [
        *("agent_start", "turn_start"),
        *("message_start", "entry_appended", "message_end"),  # the tools are told
        *("message_start", "entry_appended", "message_end"),
        *("message_start", "entry_appended", "message_end"),
        *("tool_execution_start", "tool_execution_end", "entry_appended"),
        *("message_start", "message_end", "turn_end"),
        *("turn_start", "message_start", "entry_appended", "message_end", "turn_end"),
        *("agent_end", "agent_settled"),
    ]
    [start], [end] = of_kind(events, ToolExecutionStart), of_kind(events, ToolExecutionEnd)
    assert isinstance(start, ToolExecutionStart)
    assert (start.tool_call_id, start.tool_name, start.args) == ("c1", "echo", {"text": "hi"})
    assert isinstance(end, ToolExecutionEnd)
    assert (text_of(end.result), end.is_error, end.duration_ms) == ("hi", False, 0)
    assert results(session) == [("c1", "hi")]


async def test_calls_run_together_and_each_result_is_recorded_as_it_comes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    calls = [call(f"c{n}", "slow", seconds=n) for n in (3, 1, 2)]
    async with talking(calling(*calls), "done", tools=[slow]) as session:
        reader = session.events()
        await session.prompt("go")
        events = drain(reader)

    assert trio.current_time() == 3
    assert results(session) == [("c1", "1"), ("c2", "2"), ("c3", "3")], "as they came"
    ends = [event for event in events if isinstance(event, MessageEnd) and isinstance(event.message, ToolResultMessage)]
    assert [event.message.tool_call_id for event in ends if isinstance(event.message, ToolResultMessage)] == [
        *("c3", "c1", "c2"),
    ], "as they were called"
    turn = of_kind(events, TurnEnd)[0]
    assert isinstance(turn, TurnEnd)
    assert [one.tool_call_id for one in turn.tool_results] == ["c3", "c1", "c2"]


async def test_the_model_is_sent_the_results_in_the_order_of_the_calls(autojump_clock: trio.testing.MockClock) -> None:
    calls = [call(f"c{n}", "slow", seconds=n) for n in (2, 1)]
    async with talking(calling(*calls), "done", tools=[slow]) as session:
        await session.prompt("go")
        provider = session._wiring.providers["scripted"]
        assert isinstance(provider, Scripted)
        request = provider.requests[-1]

    assert [one.tool_call_id for one in request.messages if isinstance(one, ToolResultMessage)] == ["c2", "c1"]


async def test_one_sequential_tool_makes_all_wait_their_turn(autojump_clock: trio.testing.MockClock) -> None:
    one_by_one = tool(mode="sequential", name="alone")(slow)
    calls = [call("c1", "slow", seconds=3), call("c2", "alone", seconds=2), call("c3", "slow", seconds=1)]
    async with talking(calling(*calls), "done", tools=[slow, one_by_one]) as session:
        await session.prompt("go")

    assert trio.current_time() == 6
    assert [one for one, _ in results(session)] == ["c1", "c2", "c3"]


async def fails(text: str) -> str:
    raise KeyError(text)


async def of_another_loop() -> None:
    raise asyncio.CancelledError


async def in_a_group() -> None:
    raise ExceptionGroup("g", [ValueError("inner")])


async def leaves_a_nursery_open() -> str:
    await trio.open_nursery().__aenter__()
    return "hi"


async def odd() -> object:
    return object()


def plain(a: int) -> int:
    return a + 1


class Zone(msgspec.Struct):
    name: str

    def __post_init__(self) -> None:
        _ = {"UTC": 0}[self.name]


async def at(zone: Zone) -> str:
    return zone.name


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (call("c1", "nobody"), "There is no tool called 'nobody'. The tools are: "),
        (call("c1", "slow", seconds="soon"), "The arguments for 'slow' do not fit: "),
        (
            ToolCall(id=call("c1").id, name="slow", arguments={}, arguments_error="cut"),
            "The arguments for 'slow' are no",
        ),
        (call("c1", "fails", text="x"), "The tool failed: KeyError: 'x'"),
        (call("c1", "at", zone={"name": "MEZ"}), "The arguments for 'at' do not fit: KeyError: 'MEZ'"),
        (call("c1", "of_another_loop"), "The tool failed: CancelledError: "),
        (call("c1", "in_a_group"), "The tool failed: ValueError: inner"),
        (call("c1", "leaves_a_nursery_open"), BROKEN),
        (call("c1", "odd"), "The tool ran, and what it returned is no result: "),
    ],
)
async def test_what_goes_wrong_is_the_result_of_that_call_alone_and_the_run_goes_on(one: ToolCall, told: str) -> None:
    tools: list[Callable[..., object]] = [
        echo,
        slow,
        fails,
        of_another_loop,
        in_a_group,
        leaves_a_nursery_open,
        odd,
        at,
    ]
    async with talking(calling(one, call("c2", "echo", text="hi")), "done", tools=tools) as session:
        outcome = await session.prompt("go")

    assert not outcome.failed
    found = dict(results(session))
    assert found["c1"].startswith(told)
    assert found["c2"] == "hi"
    errors = [
        entry.message.is_error
        for entry in session.entries()
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
    ]
    assert sorted(errors) == [False, True]


async def test_a_cancelled_that_a_tool_kept_is_its_own_fault() -> None:
    """What ran the call used to be told to have broken."""
    kept = await cancelled_once()

    async def astray() -> str:
        raise kept

    def in_a_thread() -> str:
        raise kept

    both = calling(call("c1", "astray"), call("c2", "in_a_thread"))
    async with talking(both, "on", tools=[astray, in_a_thread]) as session:
        await session.prompt("go")
        told = dict(results(session))

    assert {*told} == {"c1", "c2"}
    assert all(one.startswith("The tool failed: Cancelled: ") for one in told.values())


async def test_a_tool_that_was_not_given_is_none_even_if_the_branch_tells_of_it() -> None:
    async with talking(calling(call("c1", "echo", text="hi")), "done") as session:
        await session.prompt("go")

    assert results(session) == [("c1", "There is no tool called 'echo'. There are none.")]


async def test_calls_of_an_answer_that_was_cut_off_do_not_run() -> None:
    ran: list[int] = []

    async def touch() -> None:
        ran.append(1)

    cut = ScriptedAnswer(calls=(call("c1", "touch"), call("c2", "touch")), stop_reason="length")
    async with talking(cut, "done", tools=[touch]) as session:
        await session.prompt("go")

    assert ran == []
    assert results(session) == [("c1", TRUNCATED), ("c2", TRUNCATED)]


async def test_a_tool_is_told_of_its_call_and_may_tell_how_far_it_is_and_ask() -> None:
    seen: list[ToolContext] = []

    async def curious(context: ToolContext, n: int) -> str:
        seen.append(context)
        told: dict[str, list[int]] = {"at": [n]}
        context.progress(told)
        told["at"].append(2)
        with pytest.raises(TypeError):
            context.progress(object())
        return await context.ask("sure?")

    async def ask(question: str) -> str:
        return f"{question} yes"

    async with talking(calling(call("c1", "curious", n=1)), "done", tools=[curious], ask=ask) as session:
        reader = session.events()
        await session.prompt("go")
        seen[0].progress("late")
        events = drain(reader)
        header = session.header

    assert (seen[0].call_id, seen[0].cwd, seen[0].session_id) == ("c1", "/home/dev", header.id)
    assert [event.partial_result for event in events if isinstance(event, ToolExecutionUpdate)] == [{"at": [1]}]
    assert results(session) == [("c1", "sure? yes")]


async def test_where_nobody_can_be_asked_the_tool_is_refused() -> None:
    async def curious(context: ToolContext) -> str:
        return await context.ask("sure?")

    async with talking(calling(call("c1", "curious")), "done", tools=[curious]) as session:
        await session.prompt("go")

    [(_, told)] = results(session)
    assert "nobody can be asked here" in told


async def test_a_plain_function_runs_in_a_thread_and_may_tell_from_there() -> None:
    threads: list[int] = []

    def working(context: ToolContext) -> str:
        threads.append(threading.get_ident())
        context.progress("half")
        helper = threading.Thread(target=context.progress, args=["of a thread of its own"])
        helper.start()
        helper.join()
        return "done"

    async with talking(calling(call("c1", "working")), "ok", tools=[working], environment=Environment()) as session:
        reader = session.events()
        await session.prompt("go")
        events = drain(reader)

    assert threads != [threading.get_ident()]
    assert [event.partial_result for event in events if isinstance(event, ToolExecutionUpdate)] == [
        "half",
        "of a thread of its own",
    ]


async def test_a_plain_function_that_gives_a_coroutine_has_it_awaited() -> None:
    """A decorator makes such of an async function; trio used to refuse what the thread gave."""

    def wrapped(text: str) -> object:
        return echo(text)

    answer = calling(call("c1", "wrapped", text="hi"))
    async with talking(answer, "ok", tools=[wrapped], environment=Environment()) as session:
        await session.prompt("go")
    assert results(session) == [("c1", "hi")]


async def test_a_run_stops_when_every_result_says_so() -> None:
    async def last() -> ToolResult:
        return ToolResult(content="bye", terminate=True)

    async with talking(calling(call("c1", "last")), tools=[last]) as session:
        outcome = await session.prompt("go")

    assert (outcome.turns, outcome.failed) == (1, False)


# stopping


async def stopped_at(
    seconds: float, *calls: ToolCall, tools: Sequence[Tool | Callable[..., object]], where: str | None = None
) -> tuple[Session, list[Event], float]:
    """A run that is aborted at that moment; how long that took."""
    async with talking(calling(*calls), "never", tools=tools, where=where) as session:
        reader = session.events()
        handle = session.submit("go")
        await trio.sleep(seconds)
        started = trio.current_time()
        await session.abort()
        took = trio.current_time() - started
        outcome = await handle.outcome()
        assert getattr(outcome, "aborted", None)
        return session, drain(reader), took


async def test_what_was_stopped_says_which_of_the_three_it_was(autojump_clock: trio.testing.MockClock) -> None:
    """C10, C14: before, during, and behind its end."""
    one_by_one = tool(mode="sequential", name="alone")(slow)
    calls = [call(f"c{n}", "alone", seconds=2) for n in range(4)]

    session, events, took = await stopped_at(3, *calls, tools=[one_by_one])

    assert results(session) == [("c0", "2"), ("c1", INTERRUPTED), ("c2", UNSTARTED), ("c3", UNSTARTED)]
    assert took == 0
    starts, ends = of_kind(events, ToolExecutionStart), of_kind(events, ToolExecutionEnd)
    assert len(starts) == len(ends) == 4
    assert names(events)[-3:] == ["turn_end", "agent_end", "agent_settled"]


async def test_the_cleanup_of_a_tool_is_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    cleaned: list[float] = []

    async def tidy() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(0.05)
            cleaned.append(trio.current_time())

    session, _, took = await stopped_at(1, call("c1", "tidy"), tools=[tidy])

    assert cleaned == [pytest.approx(1.05)]
    assert took == pytest.approx(0.05)
    assert results(session) == [("c1", INTERRUPTED)]


async def test_a_tool_that_swallows_its_cancellation_is_left_behind_and_named(
    autojump_clock: trio.testing.MockClock,
) -> None:
    may_end = trio.Event()
    told: list[ToolContext] = []

    async def stubborn(context: ToolContext) -> str:
        with trio.CancelScope(shield=True):
            await may_end.wait()
        context.progress("still here")
        return "too late"

    async with talking(calling(call("c1", "stubborn")), "again", tools=[stubborn]) as session:
        reader = session.events()
        session.submit("go")
        await trio.sleep(1)
        started = trio.current_time()
        await session.abort()
        assert trio.current_time() - started <= 0.2
        assert results(session) == [("c1", LEFT_BEHIND)]
        assert (await session.prompt("and now?")).answer is not None
        may_end.set()
        await trio.testing.wait_all_tasks_blocked()
        events = drain(reader)
    assert told == []
    [abandoned] = of_kind(events, ToolAbandoned)
    assert isinstance(abandoned, ToolAbandoned)
    assert (abandoned.tool_call_id, abandoned.tool_name) == ("c1", "stubborn")
    assert abandoned.after_ms >= 1000
    assert of_kind(events, ToolExecutionUpdate) == []
    assert results(session) == [("c1", LEFT_BEHIND)], "its result is nobody's"


async def test_a_call_that_was_stopped_before_it_began_does_not_run(autojump_clock: trio.testing.MockClock) -> None:
    """C11: the abort comes while the answer that calls is being recorded."""
    ran: list[int] = []

    async def touch() -> None:
        ran.append(1)

    tap = Holding()
    async with talking(calling(call("c1", "touch"), call("c2", "touch")), tools=[touch], tap=tap) as session:
        handle = session.submit("go")
        await tap.reached.wait()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.abort)
            await trio.testing.wait_all_tasks_blocked()
            tap.may_go_on.set()
        await handle.outcome()

    assert ran == []
    assert results(session) == [("c1", UNSTARTED), ("c2", UNSTARTED)]


@pytest.mark.slow
async def test_a_thread_that_goes_on_is_left_behind_and_closing_does_not_wait_for_it() -> None:
    may_end, ended = threading.Event(), threading.Event()

    def blocked() -> str:
        may_end.wait(30)
        ended.set()
        return "too late"

    with trio.fail_after(10):
        async with talking(calling(call("c1", "blocked")), tools=[blocked], environment=Environment()) as session:
            reader = session.events()
            handle = session.submit("go")
            async for item in reader:
                if isinstance(item, Published) and isinstance(item.event, ToolExecutionStart):
                    break
            await session.abort()
            await handle.outcome()
            assert results(session) == [("c1", LEFT_BEHIND)]
        assert not ended.is_set()
    may_end.set()
    assert await trio.to_thread.run_sync(ended.wait, 10)


async def test_leaving_the_session_records_what_was_interrupted(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """C12: the host's scope is cancelled around a running tool."""
    path = str(tmp_path / "s.jsonl")
    with trio.move_on_after(1) as scope:
        async with talking(calling(call("c1", "slow", seconds=9)), "never", where=path, tools=[slow]) as session:
            await session.prompt("go")
    assert scope.cancelled_caught
    async with talking("back", where=path) as session:
        assert results(session) == [("c1", INTERRUPTED)]
        assert not (await session.prompt("and?")).failed


async def test_a_result_that_cannot_be_recorded_breaks_the_run_and_stops_the_other_calls(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    disk = FaultyDisk()
    calls = [call("c1", "spoil"), call("c2", "slow", seconds=100)]

    async def spoil() -> str:
        (tmp_path / "s.jsonl").unlink()
        return "done"

    environment = Environment.scripted(disk=disk)
    async with talking(
        calling(*calls), where=str(tmp_path / "s.jsonl"), tools=[spoil, slow], environment=environment
    ) as session:
        outcome = await session.prompt("go")

        assert outcome.error_type == "StoreConflict"
        assert trio.current_time() < 1
        assert issubclass(StoreError, Exception)
        await session.restore()
        assert not results(session)
