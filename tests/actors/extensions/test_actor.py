"""Handlers are asked in order, each within its limit, and one that fails harms nobody."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from sapwood.actors.extensions.actor import Extensions
from sapwood.actors.extensions.context import ExtensionContext, Life
from sapwood.actors.extensions.extension import Extension, Registered
from sapwood.actors.extensions.handling import AskHandler, Handlers
from sapwood.actors.kernel import Actor, Ref, Reply, Ring, Start, System, open_system
from sapwood.events.asking import Ask
from sapwood.events.copies import detached
from sapwood.events.hooks import (
    AnyQuestion,
    BeforeMessageAppend,
    Block,
    Cancel,
    ChangeArguments,
    ChangeMessage,
    ChangeResult,
    CompactionPreparation,
    ProvideSummary,
    Question,
    SessionBeforeCompact,
    SessionShutdown,
    ToolCallQuestion,
    ToolResultQuestion,
)
from sapwood.events.ids import SessionId, ToolCallId
from sapwood.events.runtime import Diagnostic, Event, ExtensionError
from tests.actors.extensions.hostile import HOSTILE, hanging, raising
from tests.build import text, user

LIFE = Life(session_id=SessionId("s1"), cwd="/home/dev")
CALL = ToolCallQuestion(tool_name="rm", tool_call_id=ToolCallId("c1"), arguments={"path": {"at": "a"}})
RESULT = ToolResultQuestion(tool_name="rm", tool_call_id=ToolCallId("c1"), content=(text("gone"),), is_error=False)
COMPACT = SessionBeforeCompact(
    preparation=CompactionPreparation(
        messages_to_summarize=(user(),),
        turn_prefix_messages=(),
        is_split_turn=False,
        tokens_before=9,
        first_kept_entry_id=None,
        settings={"reserveTokens": 1},
    ),
    branch_entry_ids=(),
    reason="manual",
    will_retry=False,
)
Handled = Callable[[Any, ExtensionContext], object]


class World:
    """Extensions in a system of their own, and what they told."""

    def __init__(self, system: System, extensions: list[Extension]) -> None:
        self.told: list[Event] = []
        self.reported: list[str] = []
        self.system = system
        registered = Registered(extensions)
        handlers = system.spawn("handlers", lambda: Handlers(LIFE, lambda name, _: self.reported.append(name)))
        self.extensions = system.spawn(
            "extensions", lambda: Extensions(registered, handlers, self._publish), asks=(handlers,)
        )

    def _publish(self, event: Event) -> int:
        self.told.append(event)
        return len(self.told)

    def failures(self) -> list[tuple[str, str, str]]:
        return [(one.extension, one.event, one.error_message) for one in self.told if isinstance(one, ExtensionError)]


@asynccontextmanager
async def world(*extensions: Extension) -> AsyncGenerator[World]:
    async with open_system("test", ring=Ring(64)) as system:
        yield World(system, list(extensions))


def extension(name: str, question: type[Question[Any]], *functions: Handled, **options: Any) -> Extension:
    made = Extension(name)
    for function in functions:
        made.on(question, **options)(function)
    return made


async def test_what_nobody_is_asked_is_answered_with_none() -> None:
    async with world(extension("a", ToolResultQuestion, raising)) as one:
        assert await one.extensions.ask(CALL) is None

    assert one.told == []


async def test_handlers_are_asked_in_order_and_each_sees_what_the_last_one_made_of_the_arguments() -> None:
    seen: list[tuple[str, object]] = []

    def change(name: str) -> Handled:
        async def changing(question: ToolCallQuestion, context: ExtensionContext) -> ChangeArguments:
            await trio.lowlevel.checkpoint()
            seen.append((name, question.arguments))
            return ChangeArguments(arguments={**question.arguments, name: len(seen)})

        return changing

    async with world(
        extension("one", ToolCallQuestion, change("b"), change("a")), extension("two", ToolCallQuestion, change("c"))
    ) as one:
        answer = await one.extensions.ask(CALL)

    path = {"path": {"at": "a"}}
    assert seen == [("b", path), ("a", {**path, "b": 1}), ("c", {**path, "b": 1, "a": 2})]
    assert answer == ChangeArguments(arguments={**path, "b": 1, "a": 2, "c": 3})
    assert one.told == []


async def test_nobody_is_asked_after_the_last_word() -> None:
    seen: list[str] = []

    def blocking(question: ToolCallQuestion, context: ExtensionContext) -> Block:
        seen.append("block")
        return Block(reason=f"not {question.arguments['path']}")

    def never(question: object, context: object) -> None:
        seen.append("never")

    def change(question: object, context: object) -> ChangeArguments:
        return ChangeArguments(arguments={"path": "b"})

    async with world(extension("one", ToolCallQuestion, change, blocking, never)) as one:
        answer = await one.extensions.ask(CALL)

    assert (answer, seen) == (Block(reason="not b"), ["block"])


@pytest.mark.parametrize(("function", "words", "reported"), HOSTILE)
@pytest.mark.parametrize(
    ("question", "good"),
    [
        (RESULT, ChangeResult(is_error=True)),
        (COMPACT, Cancel(reason="no", by="good")),
        (BeforeMessageAppend(message=user("a")), ChangeMessage(message=user("b"))),
    ],
    ids=["tool_result", "session_before_compact", "before_message_append"],
)
async def test_a_handler_that_fails_is_told_once_and_the_others_are_asked(
    question: AnyQuestion, good: object, function: Handled, words: str, *, reported: bool, autojump_clock: MockClock
) -> None:
    kind = type(question)
    async with world(extension("bad", kind, function), extension("good", kind, lambda _, __: good)) as one:
        answer: object = await one.extensions.ask(question)
        assert trio.current_time() <= 30

    assert answer == good
    [(name, event, message)] = one.failures()
    assert (name, event, len(one.told)) == ("bad", kind.__struct_config__.tag, 1)
    assert message.startswith(words)
    assert one.reported == ["bad"] * reported


@pytest.mark.parametrize(("function", "words", "reported"), HOSTILE)
async def test_a_tool_call_that_a_failing_handler_decides_on_is_blocked(
    function: Handled, words: str, *, reported: bool, autojump_clock: MockClock
) -> None:
    async with world(extension("bad", ToolCallQuestion, function, raising)) as one:
        answer = await one.extensions.ask(CALL)

    [(name, event, message)] = one.failures()
    assert (name, event) == ("bad", "tool_call")
    assert message.startswith(words)
    assert answer == Block(reason=f"the call was not run: the extension 'bad', which decides on it, failed: {message}")


@pytest.mark.parametrize(
    ("question", "options", "after"),
    [(RESULT, {}, 30), (RESULT, {"limit": 120}, 120), (SessionShutdown(), {}, 2), (SessionShutdown(), {"limit": 5}, 5)],
)
async def test_each_handler_has_its_own_limit(
    question: AnyQuestion, options: dict[str, Any], after: float, autojump_clock: MockClock
) -> None:
    async with world(
        extension("slow", type(question), hanging, **options), extension("quick", type(question), lambda _, __: None)
    ) as one:
        assert await one.extensions.ask(question) is None
        assert trio.current_time() == after

    assert [message for _, _, message in one.failures()] == [f"it did not come within {after:g} s"]


async def test_a_person_may_take_as_long_as_they_like(autojump_clock: MockClock) -> None:
    async def approving(question: object, context: object) -> Block:
        await trio.sleep(10 * 3600)
        return Block(reason="said the person")

    async with world(extension("ui", ToolCallQuestion, approving, limit=None)) as one:
        assert await one.extensions.ask(CALL) == Block(reason="said the person")

    assert one.told == []


async def test_a_handler_that_does_not_heed_its_limit_is_left_behind(autojump_clock: MockClock) -> None:
    """Such as one that waits for a thread: nothing ends that one."""

    async def deaf(question: object, context: object) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(500)

    async with world(
        extension("deaf", ToolResultQuestion, deaf),
        extension("good", ToolResultQuestion, lambda _, __: ChangeResult(is_error=True)),
    ) as one:
        answer = await one.extensions.ask(RESULT)
        assert trio.current_time() == pytest.approx(30.1), "the limit, and what it has to end"

    assert answer == ChangeResult(is_error=True)
    assert one.failures() == [("deaf", "tool_result", "it did not come within 30 s")]


async def test_who_changes_what_it_is_given_changes_it_for_nobody_else() -> None:
    def breaking(question: ToolCallQuestion, context: ExtensionContext) -> None:
        question.arguments["path"]["at"] = "/"
        question.arguments["more"] = 1
        msgspec.structs.force_setattr(question, "tool_name", "other")

    seen: list[ToolCallQuestion] = []

    def looking(question: ToolCallQuestion, context: ExtensionContext) -> None:
        seen.append(question)

    asked = detached(CALL)
    async with world(extension("bad", ToolCallQuestion, breaking), extension("good", ToolCallQuestion, looking)) as one:
        assert await one.extensions.ask(asked) is None

    assert seen == [CALL]
    assert asked == CALL


async def test_who_asked_and_leaves_cancels_the_handler_and_hears_of_no_failure(autojump_clock: MockClock) -> None:
    seen: list[str] = []

    async def waiting(question: object, context: object) -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            seen.append("cancelled")
            raise

    async with world(extension("a", ToolCallQuestion, waiting, lambda _, __: seen.append("never"))) as one:
        with trio.move_on_after(1):
            await one.extensions.ask(CALL)
        assert trio.current_time() == 1

    assert (seen, one.told) == (["cancelled"], [])


async def test_several_questions_are_asked_beside_each_other(autojump_clock: MockClock) -> None:
    async def slow(question: ToolCallQuestion, context: object) -> None:
        await trio.sleep(10)

    async with world(extension("a", ToolCallQuestion, slow)) as one:
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(one.extensions.ask, CALL)
        assert trio.current_time() == 10


async def test_what_is_overridden_unseen_is_told_when_all_were_asked() -> None:
    def give(words: str) -> Handled:
        return lambda question, context: ProvideSummary(text=words)

    async with world(
        extension("one", SessionBeforeCompact, give("x")), extension("two", SessionBeforeCompact, give("y"))
    ) as one:
        assert await one.extensions.ask(COMPACT) == ProvideSummary(text="y")

    assert one.told == [
        Diagnostic(
            code="answer_overridden",
            message="session_before_compact: extension 'two' overrode what 'one' gave as text",
            facts={"event": "session_before_compact", "field": "text", "extension": "one", "by": "two"},
        )
    ]


class Go(Ask[object], frozen=True):
    """Do what a run does: ask the extensions."""


class Run(Actor[Go]):
    """Somebody who asks the extensions from an operation of its own."""

    def __init__(self, extensions: Ref) -> None:
        self._extensions = extensions

    def handle(self, message: Go) -> Start:
        return Start(lambda: self._extensions.ask(CALL), name="run")


async def test_a_handler_that_waits_for_who_waits_for_it_is_told_so_at_once() -> None:
    refs: list[Ref] = []

    async def prompting(question: object, context: object) -> None:
        await refs[0].ask(Go())

    async with world(extension("eager", ToolCallQuestion, prompting)) as one:
        refs.append(one.system.spawn("run", lambda: Run(one.extensions), asks=(one.extensions,)))
        answer = await refs[0].ask(Go())

    [(name, _, message)] = one.failures()
    assert (name, message) == (
        "eager",
        "WouldDeadlock: this code (handlers) is a part of what it would wait for (run), for ever: ask when that is over",
    )
    assert isinstance(answer, Block)


@pytest.mark.parametrize(
    ("opens", "told"), [("scope", []), ("nursery", ["tool_result of extension odd of handlers crashed"])]
)
async def test_what_a_handler_leaves_open_harms_nobody_else(opens: str, told: list[str]) -> None:
    """An open nursery used to end the whole system."""

    async def opening(question: object, context: object) -> None:
        if opens == "scope":
            trio.CancelScope().__enter__()
        else:
            await trio.open_nursery().__aenter__()

    async with world(
        extension("odd", ToolResultQuestion, opening),
        extension("good", ToolResultQuestion, lambda _, __: ChangeResult(is_error=True)),
    ) as one:
        assert await one.extensions.ask(RESULT) == ChangeResult(is_error=True)

    assert [why for _, _, why in one.failures()] == told


class Crashing(Actor[AskHandler]):
    """In the place of the handlers: it crashes at each question but the first."""

    def __init__(self, seen: list[object]) -> None:
        self._seen = seen

    def handle(self, message: AskHandler) -> Reply:
        self._seen.append(message)
        if len(self._seen) > 1:
            raise ValueError("poison")
        return Reply(ChangeResult(is_error=True))


async def test_a_crash_in_between_is_a_failure_of_the_handler_that_was_asked() -> None:
    told: list[Event] = []

    def publish(event: Event) -> int:
        told.append(event)
        return len(told)

    seen: list[object] = []
    registered = Registered([extension("a", ToolResultQuestion, raising, raising)])
    async with open_system("test", ring=Ring(64)) as system:
        handlers = system.spawn("handlers", lambda: Crashing(seen))
        extensions = system.spawn("extensions", lambda: Extensions(registered, handlers, publish), asks=(handlers,))
        answer = await extensions.ask(RESULT)

    assert answer == ChangeResult(is_error=True)
    assert told == [ExtensionError(extension="a", event="tool_result", error_message="handlers crashed at AskHandler")]
