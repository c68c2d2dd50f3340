"""A handler is called once, and whatever it does is what came of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sapwood.actors.extensions.context import ExtensionContext, Life
from sapwood.actors.extensions.extension import Handler
from sapwood.actors.extensions.handling import AskHandler, Handlers
from sapwood.actors.extensions.merging import NoAnswer
from sapwood.actors.kernel import Ref, Ring, open_system
from sapwood.actors.kernel.errors import alone
from sapwood.events.hooks import Block, ChangeArguments, ToolCallQuestion
from sapwood.events.ids import SessionId, ToolCallId
from tests.actors.extensions.hostile import HOSTILE, TOO_LATE
from tests.actors.keeping import cancelled_once

Reports = list[tuple[str, BaseException]]
LIFE = Life(session_id=SessionId("s1"), cwd="/home/dev")
CALL = ToolCallQuestion(tool_name="rm", tool_call_id=ToolCallId("c1"), arguments={"path": "a"})


@asynccontextmanager
async def handlers() -> AsyncGenerator[tuple[Ref, Reports]]:
    reports: Reports = []

    def report(extension: str, fault: BaseException) -> None:
        reports.append((extension, fault))

    async with open_system("test", ring=Ring(64)) as system:
        yield system.spawn("handlers", lambda: Handlers(LIFE, report)), reports


def ask(function: Any, *, limit: float | None = 30.0) -> AskHandler:
    return AskHandler(Handler(extension="guard", question=ToolCallQuestion, limit=limit, function=function), CALL)


def giving(answer: object) -> Any:
    def give(question: object, context: object) -> object:
        return answer

    return give


async def test_a_plain_and_an_async_handler_are_told_the_question_and_the_context() -> None:
    def plain(question: ToolCallQuestion, context: ExtensionContext) -> Block:
        return Block(reason=f"{question.tool_name} in {context.cwd} of {context.session_id}")

    async def slow(question: ToolCallQuestion, context: ExtensionContext) -> Block:
        await trio.lowlevel.checkpoint()
        return plain(question, context)

    class Awaiting:
        def __call__(self, question: ToolCallQuestion, context: ExtensionContext) -> Awaitable[Block]:
            return slow(question, context)

    async with handlers() as (ref, reports):
        told = [await ref.ask(ask(function)) for function in (plain, slow, Awaiting())]

    assert told == [Block(reason="rm in /home/dev of s1")] * 3
    assert reports == []


@pytest.mark.parametrize(("function", "words", "reported"), [one for one in HOSTILE if one.values[1] != TOO_LATE])
async def test_whatever_a_handler_does_it_is_what_came_of_it(function: Any, words: str, *, reported: bool) -> None:
    async with handlers() as (ref, reports):
        came = await ref.ask(ask(function))
        again = await ref.ask(ask(giving(Block())))

    assert isinstance(came, NoAnswer)
    assert came.why.startswith(words)
    assert [extension for extension, _ in reports] == ["guard"] * reported
    assert again == Block()


async def test_a_fault_is_reported_with_its_traceback() -> None:
    fault = KeyError("oops")

    def raising(question: object, context: object) -> None:
        raise fault

    async with handlers() as (ref, reports):
        await ref.ask(ask(raising))

    assert reports == [("guard", fault)]
    assert fault.__traceback__ is not None


@pytest.mark.parametrize(
    "end", [KeyboardInterrupt(), SystemExit(3), BaseExceptionGroup("g", [ValueError(), SystemExit(3)])], ids=repr
)
async def test_what_is_to_end_the_process_does(end: BaseException) -> None:
    def ending(question: object, context: object) -> None:
        raise end

    reports: Reports = []
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the very one, wrapped as trio wraps it
        async with handlers() as (ref, reports):
            await ref.ask(ask(ending))

    assert type(alone(caught.value)) is (SystemExit if isinstance(end, BaseExceptionGroup) else type(end))
    assert reports == []


async def test_a_cancelled_that_a_handler_kept_cancels_nobody() -> None:
    """It used to cancel the whole system."""
    kept = await cancelled_once()

    def bare(question: object, context: object) -> None:
        raise kept

    def in_a_group(question: object, context: object) -> None:
        raise BaseExceptionGroup("g", [kept, ValueError("x")])

    async with handlers() as (ref, reports):
        first, second = await ref.ask(ask(bare)), await ref.ask(ask(in_a_group))
        assert await ref.ask(ask(giving(Block()))) == Block()

    assert isinstance(first, NoAnswer)
    assert first.why.startswith("Cancelled: ")
    assert second == NoAnswer("BaseExceptionGroup: g (2 sub-exceptions)")
    assert [type(fault) for _, fault in reports] == [trio.Cancelled, BaseExceptionGroup]


async def test_what_is_to_end_the_process_does_beside_a_cancelled_that_was_kept() -> None:
    kept = await cancelled_once()

    def ending(question: object, context: object) -> None:
        raise BaseExceptionGroup("g", [kept, SystemExit(3)])

    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the very one, wrapped as trio wraps it
        async with handlers() as (ref, _):
            await ref.ask(ask(ending))

    assert type(alone(caught.value)) is SystemExit


@pytest.mark.parametrize(("held", "limit", "answers"), [(30, 30.0, True), (30.5, 30.0, False), (99, None, True)])
async def test_a_plain_handler_that_holds_everything_up_beyond_its_limit_is_named(
    held: float, limit: float | None, autojump_clock: MockClock, *, answers: bool
) -> None:
    def blocking(question: object, context: object) -> Block:
        autojump_clock.jump(held)
        return Block()

    async with handlers() as (ref, reports):
        came = await ref.ask(ask(blocking, limit=limit))

    assert came == (Block() if answers else NoAnswer("it held everything up for 30.5 s, and has 30 s"))
    assert reports == []


async def test_who_breaks_the_context_breaks_it_for_nobody_else() -> None:
    def breaking(question: object, context: ExtensionContext) -> None:
        object.__setattr__(context, "cwd", "/")

    def where(question: object, context: ExtensionContext) -> Block:
        return Block(reason=context.cwd)

    async with handlers() as (ref, reports):
        assert isinstance(await ref.ask(ask(breaking)), NoAnswer)
        came = await ref.ask(ask(where))

    assert came == Block(reason="/home/dev")
    assert [type(fault) for _, fault in reports] == [AttributeError]


async def test_an_answer_that_its_handler_keeps_does_not_change_later() -> None:
    kept = ChangeArguments(arguments={"path": "b"})

    async with handlers() as (ref, _):
        came = await ref.ask(ask(giving(kept)))
    kept.arguments["path"] = "/"

    assert came == ChangeArguments(arguments={"path": "b"})


async def test_who_asked_and_leaves_cancels_a_handler_with_tasks_of_its_own(autojump_clock: MockClock) -> None:
    async def failing() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("on the way out")

    async def waiting(question: object, context: object) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(failing)
            nursery.start_soon(trio.sleep_forever)

    async with handlers() as (ref, reports):
        with trio.move_on_after(1):
            await ref.ask(ask(waiting))
        assert await ref.ask(ask(giving(Block()))) == Block()

    assert reports == []


async def test_who_asked_and_leaves_cancels_the_handler(autojump_clock: MockClock) -> None:
    seen: list[str] = []

    async def waiting(question: object, context: object) -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            seen.append("cancelled")
            raise

    async with handlers() as (ref, reports):
        with trio.move_on_after(1):
            await ref.ask(ask(waiting))
        assert seen == ["cancelled"]

    assert reports == []


async def test_a_handler_that_does_not_heed_its_cancellation_is_named_when_the_system_closes(
    autojump_clock: MockClock,
) -> None:
    async def deaf(question: object, context: object) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(100)

    names: list[tuple[str, ...]] = []

    async def look() -> None:
        await trio.sleep(50)
        names.append(system.stragglers)

    async with trio.open_nursery() as nursery, open_system("test", ring=Ring(64)) as system:
        ref = system.spawn("handlers", lambda: Handlers(LIFE, lambda _, __: None))
        with trio.move_on_after(1):
            await ref.ask(ask(deaf))
        assert trio.current_time() == pytest.approx(1.1), "what it has to end"
        nursery.start_soon(look)
        await wait_all_tasks_blocked()

    assert names == [("handlers/tool_call of extension guard",)]
