"""Whoever guards calls lets each through, changes it or holds it back; what breaks in guarding lets nothing through."""

from __future__ import annotations

import trio
import trio.testing

from sapwood import Extension, ScriptedAnswer, Session, ToolResult
from sapwood.actors.kernel.testing import CrashAt
from sapwood.actors.tools.hooks import UNGUARDED
from sapwood.actors.tools.results import UNSTARTED
from sapwood.events.content import text_of
from sapwood.events.entries import MessageEntry
from sapwood.events.hooks import Block, ChangeArguments, ChangeResult, ToolCallQuestion, ToolResultQuestion
from sapwood.events.messages import AssistantMessage, Cost, ToolResultMessage, Usage
from sapwood.events.runtime import ExtensionError, ToolExecutionEnd, ToolExecutionStart
from tests.build import call, text
from tests.talking import drain, talking

CALLING = ScriptedAnswer(calls=(call("c1", "echo", text="hi"),))


async def echo(text: str) -> str:
    return text


def results(session: Session) -> list[ToolResultMessage]:
    return [
        entry.message
        for entry in session.entries()
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
    ]


async def test_a_call_that_is_blocked_does_not_run_and_the_model_reads_why() -> None:
    guard = Extension("guard")

    @guard.on(ToolCallQuestion)
    async def never(question: ToolCallQuestion, _: object) -> Block:
        return Block(reason=f"no {question.tool_name} with {question.arguments['text']}")

    async with talking(CALLING, "ok", tools=[echo], extensions=[guard]) as session:
        await session.prompt("go")
        [result] = results(session)
    assert (text_of(result.content), result.is_error) == ("no echo with hi", True)


async def test_a_block_may_end_the_run() -> None:
    guard = Extension("guard")

    @guard.on(ToolCallQuestion)
    async def never(_: ToolCallQuestion, __: object) -> Block:
        return Block(terminate=True)

    async with talking(CALLING, tools=[echo], extensions=[guard]) as session:
        assert (await session.prompt("go")).turns == 1


async def test_changed_arguments_are_validated_again_and_the_log_keeps_what_the_model_said() -> None:
    guard = Extension("guard")

    @guard.on(ToolCallQuestion)
    async def other(question: ToolCallQuestion, _: object) -> ChangeArguments:
        return ChangeArguments(arguments={"text": "HI" if question.tool_call_id == "c1" else 7})

    both = ScriptedAnswer(calls=(call("c1", "echo", text="hi"), call("c2", "echo", text="hi")))
    async with talking(both, "ok", tools=[echo], extensions=[guard]) as session:
        await session.prompt("go")
        told = {str(one.tool_call_id): text_of(one.content) for one in results(session)}
        sent = next(item.message for item in session.context().items if isinstance(item.message, AssistantMessage))
    assert told["c1"] == "HI"
    assert told["c2"].startswith("The arguments for 'echo' do not fit: Expected `str`, got `int`")
    assert sent.content[0] == call("c1", "echo", text="hi")


async def test_a_result_may_be_changed_before_it_is_recorded() -> None:
    redactor = Extension("redactor")

    @redactor.on(ToolResultQuestion)
    async def hide(question: ToolResultQuestion, _: object) -> ChangeResult:
        return ChangeResult(content=(text(f"[{len(text_of(question.content))}]"),), details=[1], is_error=True)

    async with talking(CALLING, "ok", tools=[echo], extensions=[redactor]) as session:
        await session.prompt("go")
        [result] = results(session)
    assert (text_of(result.content), result.details, result.is_error) == ("[2]", [1], True)


async def test_what_a_tool_and_who_looked_at_its_result_were_billed_is_in_the_totals() -> None:
    """The handler's usage used to take the place of the tool's."""
    redactor = Extension("redactor")

    @redactor.on(ToolResultQuestion)
    async def billed(_: ToolResultQuestion, __: object) -> ChangeResult:
        return ChangeResult(usage=Usage.of(input=100, output=20, cost=price(3)))

    async def costly() -> ToolResult:
        return ToolResult(content="hi", usage=Usage.of(input=1, output=2, cost=price(4)))

    calling = ScriptedAnswer(calls=(call("c1", "costly"),))
    async with talking(calling, "ok", tools=[costly], extensions=[redactor]) as session:
        await session.prompt("go")
        [result] = results(session)
        spent = session.stats().by_purpose["tool"]
    assert result.usage is not None
    assert (result.usage.input, result.usage.output) == (101, 22)
    assert (spent.input, spent.output, spent.cost) == (101, 22, 7)


def price(total: int) -> Cost:
    return Cost(input=total, output=0, cache_read=0, cache_write=0, total=total)


async def test_a_guard_that_fails_has_allowed_nothing_and_is_named() -> None:
    guard = Extension("guard")

    @guard.on(ToolCallQuestion)
    async def broken(_: ToolCallQuestion, __: object) -> None:
        raise KeyError("oops")

    async with talking(CALLING, "ok", tools=[echo], extensions=[guard]) as session:
        reader = session.events()
        await session.prompt("go")
        [result] = results(session)
        events = drain(reader)
    assert result.is_error
    assert text_of(result.content) != "hi"
    [error] = [event for event in events if isinstance(event, ExtensionError)]
    assert (error.extension, error.event) == ("guard", "tool_call")


async def test_guarding_that_crashes_has_allowed_nothing() -> None:
    guard = Extension("guard")

    @guard.on(ToolCallQuestion)
    async def fine(_: ToolCallQuestion, __: object) -> None:
        pass

    async with talking(CALLING, "ok", tools=[echo], extensions=[guard], tap=CrashAt("extensions", 1)) as session:
        await session.prompt("go")
        [result] = results(session)
    assert text_of(result.content) == UNGUARDED


async def test_looking_at_results_that_crashes_leaves_them_as_they_are() -> None:
    redactor = Extension("redactor")

    @redactor.on(ToolResultQuestion)
    async def fine(_: ToolResultQuestion, __: object) -> None:
        pass

    async with talking(CALLING, "ok", tools=[echo], extensions=[redactor], tap=CrashAt("extensions", 1)) as session:
        await session.prompt("go")
        [result] = results(session)
    assert text_of(result.content) == "hi"


async def test_an_abort_reaches_a_guard_that_waits_for_a_person(autojump_clock: trio.testing.MockClock) -> None:
    """C11: no call runs, each has its events and its result."""
    ran: list[int] = []

    async def touch() -> None:
        ran.append(1)

    guard = Extension("guard")

    @guard.on(ToolCallQuestion, limit=None)
    async def wait(question: ToolCallQuestion, _: object) -> None:
        if question.tool_call_id == "c2":
            await trio.sleep_forever()

    both = ScriptedAnswer(calls=(call("c1", "touch"), call("c2", "touch")))
    async with talking(both, tools=[touch], extensions=[guard]) as session:
        reader = session.events()
        handle = session.submit("go")
        await trio.sleep(60)
        started = trio.current_time()
        await session.abort()
        assert trio.current_time() - started <= 0.2
        await handle.outcome()
        events = drain(reader)
        told = [(one.tool_call_id, text_of(one.content)) for one in results(session)]
    assert ran == []
    assert sorted(told) == [("c1", UNSTARTED), ("c2", UNSTARTED)]
    assert len([event for event in events if isinstance(event, ToolExecutionStart)]) == 2
    assert len([event for event in events if isinstance(event, ToolExecutionEnd)]) == 2
