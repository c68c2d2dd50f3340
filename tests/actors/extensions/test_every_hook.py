"""A hostile handler of every question there is, in a whole session: H2's outcomes, and nothing else is slowed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, cast

import pytest
import trio
from msgspec.structs import force_setattr
from trio.testing import MockClock

from sapwood import Extension, ExtensionContext, StaleContext
from sapwood.actors.extensions.extension import LIMITS, TOLD, event_of
from sapwood.actors.foreign import LIMIT
from sapwood.events.entries import Entry, MessageEntry, kind_of
from sapwood.events.hooks import Question, SessionShutdown, ToolCallQuestion
from sapwood.events.messages import AssistantMessage, ToolResultMessage, UserMessage
from sapwood.events.runtime import News
from tests.actors.extensions.everywhere import ASKED_IN_A_RUN, QUESTIONS, everywhere, failures, live
from tests.actors.keeping import cancelled_once
from tests.talking import drain

Hostile = Callable[[Any, ExtensionContext], Any]


class Ours(BaseException):
    """Not even an `Exception`."""


def raises(question: Any, context: ExtensionContext) -> Any:
    raise Ours("oops")


def gives_nonsense(question: Any, context: ExtensionContext) -> Any:
    return {"block": True}


def mutates(question: Any, context: ExtensionContext) -> Any:
    for name in question.__struct_fields__:
        value = getattr(question, name)
        if isinstance(value, dict):
            cast("dict[object, object]", value).clear()
        force_setattr(question, name, None)


async def sleeps(question: Any, context: ExtensionContext) -> Any:
    await trio.sleep_forever()


async def blocks_a_thread(question: Any, context: ExtensionContext) -> Any:
    await trio.to_thread.run_sync(time.sleep, 0.02)  # real ones: by the virtual clock it is for ever


async def cancels_itself(question: Any, context: ExtensionContext) -> Any:
    raise await cancelled_once()


FAILING: Final[dict[Hostile, str]] = {
    raises: "Ours: oops",
    gives_nonsense: "it gave {'block': True}, where ",
    sleeps: "it did not come within ",
    blocks_a_thread: "it did not come within ",
    cancels_itself: "",
}
SLOW: Final = (sleeps, blocks_a_thread)


class Beside:
    """An extension that only counts what it is asked."""

    def __init__(self, question: type[Any]) -> None:
        self.asked = 0
        self.extension = Extension("beside")

        def count(question: Any, context: ExtensionContext) -> Any:
            self.asked += 1

        self.extension.on(question)(count)


def hostile(question: type[Any], function: Hostile) -> Extension:
    extension = Extension("bad")
    extension.on(question)(function)
    return extension


async def told(*extensions: Extension) -> tuple[list[Any], list[str], float]:
    """What failed, the kinds of the entries, and how long it took, all told and closed."""
    began = trio.current_time()
    async with everywhere(*extensions) as session:
        reader = session.events(since=0)
        await live(session)
        assert session.state == "idle"
        kinds = [kind_of(entry) for entry in session.entries()]
        took = trio.current_time() - began
    await trio.testing.wait_all_tasks_blocked()
    return failures(drain(reader)), kinds, took


PLAIN: Final = [
    *("message", "message", "message", "message", "message"),
    *("compaction", "custom"),
]
"""The prompt's delta, what was said, the call, its result, the answer; the compaction; the move."""


async def test_every_question_is_asked_in_such_a_session(autojump_clock: MockClock) -> None:
    counts = [Beside(question) for question in QUESTIONS]
    everyone = Extension("everyone")
    for one in counts:
        for handler in one.extension.handlers:
            everyone.on(cast("Any", handler.question))(handler.function)

    failed, kinds, took = await told(everyone)

    asked = {event_of(question): one.asked for question, one in zip(QUESTIONS, counts, strict=True)}
    assert (failed, kinds, took) == ([], PLAIN, 0)
    assert all(asked.values()), asked
    assert (asked["session_start"], asked["session_shutdown"]) == (1, 1)
    assert (asked["before_turn_end"], asked["agent_before_settle"], asked["before_message_append"]) == (2, 1, 4)
    assert (asked["context"], asked["context_with_system"]) == (2, 2)


@pytest.mark.parametrize("function", FAILING, ids=lambda one: one.__name__)
@pytest.mark.parametrize("question", QUESTIONS, ids=event_of)
async def test_whoever_fails_is_named_and_harms_nobody_else(
    question: type[Question[Any]], function: Hostile, autojump_clock: MockClock
) -> None:
    beside = Beside(question)

    failed, kinds, took = await told(hostile(question, function), beside.extension)

    assert kinds == PLAIN
    assert {(one.extension, one.event) for one in failed} == {("bad", event_of(question))}
    ended = "it was at work when the session ended"
    assert all(one.error_message.startswith(FAILING[function]) or one.error_message == ended for one in failed)
    limit = LIMITS.get(question, LIMIT)
    if question is ToolCallQuestion:
        assert beside.asked == 0, "it fails closed: the call is blocked, whatever others would say"
    elif question not in TOLD:
        assert beside.asked == len(failed)
    if function not in SLOW or question in TOLD | {SessionShutdown}:
        assert took == 0, "nobody waits for it"
    else:
        assert took <= len(failed) * (limit + 0.2)


@pytest.mark.parametrize("function", FAILING, ids=lambda one: one.__name__)
async def test_a_call_that_a_failing_handler_decides_on_does_not_run(
    function: Hostile, autojump_clock: MockClock
) -> None:
    async with everywhere(hostile(ToolCallQuestion, function)) as session:
        outcome = await session.prompt("Which tree?")
        [result] = [one for one in session.context().messages if isinstance(one, ToolResultMessage)]

    assert result.is_error
    assert "the extension 'bad', which decides on it, failed" in str(result.content)
    assert isinstance(outcome.answer, AssistantMessage)


@pytest.mark.parametrize("question", QUESTIONS, ids=event_of)
async def test_whoever_changes_what_it_is_given_changes_it_for_nobody(
    question: type[Question[Any]], autojump_clock: MockClock
) -> None:
    entries: list[tuple[Entry, ...]] = []
    for extensions in ([], [hostile(question, mutates)]):
        async with everywhere(*extensions) as session:
            await live(session)
            entries.append(session.entries())

    assert entries[0] == entries[1]


@pytest.mark.parametrize("question", ASKED_IN_A_RUN, ids=event_of)
async def test_whoever_waits_for_a_prompt_inside_is_told_that_it_would_be_for_ever(
    question: type[Question[Any]], autojump_clock: MockClock
) -> None:
    """What it asked for is done all the same, behind what it was asked in."""
    asked: list[Any] = []

    async def prompts_from_inside(heard: Any, context: ExtensionContext) -> Any:
        asked.append(heard)
        if len(asked) == 1:
            await context.prompt("And now?").outcome()

    async with everywhere(hostile(question, prompts_from_inside)) as session:
        reader = session.events(since=0)
        with trio.fail_after(5):
            await session.prompt("Which tree is it, and how old may it be? " * 20)
            await session.wait_idle()
            await trio.testing.wait_all_tasks_blocked()
            await session.compact()
            await trio.testing.wait_all_tasks_blocked()
            await session.navigate(None)
            await trio.testing.wait_all_tasks_blocked()
        failed = failures(drain(reader))
        said = [words_of_user(entry) for entry in session.entries()]

    first = next(one for one in failed if one.event == event_of(question))
    assert first.error_message.startswith("WouldDeadlock: ")
    assert said.count("And now?") == 1


def words_of_user(entry: Entry) -> object:
    match entry:
        case MessageEntry(message=UserMessage(content=content)):
            return content
        case _:
            return None


@pytest.mark.parametrize("question", QUESTIONS, ids=event_of)
async def test_a_context_that_was_kept_is_stale_when_the_session_is_over(
    question: type[Question[Any]], autojump_clock: MockClock
) -> None:
    kept: list[ExtensionContext] = []

    def keep(_: Any, context: ExtensionContext) -> None:
        kept.append(context)

    await told(hostile(question, keep))

    context = kept[-1]
    uses: list[Callable[[], object]] = [
        lambda: context.cwd,
        lambda: context.session_id,
        lambda: context.steer("x"),
        lambda: context.prompt("x"),
        context.compact,
        lambda: context.append_message("x", "y"),
        lambda: context.start_soon(trio.sleep_forever),
        context.context_usage,
    ]
    for use in uses:
        with pytest.raises(StaleContext):
            use()
    for wait in (context.append_custom("x"), context.set_name("x")):
        with pytest.raises(StaleContext):
            await wait


@pytest.mark.parametrize("function", [*FAILING, mutates], ids=lambda one: one.__name__)
async def test_a_subscriber_that_fails_at_every_event_slows_nobody(
    function: Hostile, autojump_clock: MockClock
) -> None:
    beside = Beside(News)

    failed, kinds, took = await told(hostile(News, function), beside.extension)

    assert (kinds, took) == (PLAIN, 0)
    assert {(one.extension, one.event) for one in failed} == ({("bad", "*")} if function is not mutates else set())
    assert beside.asked > 20, "it is told all, in the meantime"
