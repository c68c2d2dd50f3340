"""K: extensions that raise, work on and keep what they were given. Nobody else is harmed, and each of them is named."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sapwood import Extension, ExtensionContext, ScriptedAnswer, StaleContext
from sapwood.actors.extensions.extension import ASKED, event_of
from sapwood.actors.kernel.testing import CrashAt
from sapwood.events.entries import kind_of
from sapwood.events.hooks import BeforeMessageAppend, SessionShutdown, SessionStart, ToolResultQuestion
from sapwood.events.messages import AssistantMessage
from sapwood.events.runtime import ExtensionError, MessageEnd, News, TurnStart
from tests.actors.extensions.everywhere import everywhere, failures, live
from tests.build import call
from tests.faults.logs import assert_whole, rows
from tests.talking import drain, talking


class Ours(BaseException):
    """Not even an `Exception`."""


async def test_k01_whatever_raises_at_every_point_ends_no_run_and_is_named() -> None:
    """K01: every hook and every event at once. All of it is told, nothing is lost from the log, and the session is idle."""
    extension = Extension("bad")

    def fail(heard: Any, context: ExtensionContext) -> Any:
        raise Ours(type(heard).__name__)

    for question in ASKED:
        extension.on(question)(fail)
    extension.on(News)(fail)
    async with everywhere(extension) as session:
        reader = session.events(since=0)
        await live(session)
        assert (session.state, session.queue().steering) == ("idle", ())
        kinds = [kind_of(entry) for entry in session.entries()]
        await session.close()
        failed = failures(drain(reader))

    assert kinds == [*["message"] * 5, "compaction", "custom"]
    asked = ASKED - {ToolResultQuestion}  # the call did not run: what decides on it fails closed
    assert {one.event for one in failed} == {event_of(question) for question in asked} | {"*"}
    assert {one.extension for one in failed} == {"bad"}


async def test_k02_what_is_done_later_and_raises_is_told_and_ends_with_the_session(autojump_clock: MockClock) -> None:
    """K02"""
    cancelled: list[str] = []
    busy, other = Extension("busy"), Extension("other")

    async def fail() -> None:
        await trio.sleep(0.05)
        raise Ours("later")

    async def last() -> None:
        try:
            await trio.sleep_forever()
        finally:
            cancelled.append("last")

    @busy.on(TurnStart)
    def begin(event: TurnStart, context: ExtensionContext) -> None:
        context.start_soon(fail)

    @other.on(TurnStart)
    def beside(event: TurnStart, context: ExtensionContext) -> None:
        context.start_soon(last)

    async with talking("one", "two", extensions=[busy, other]) as session:
        reader = session.events()
        await session.prompt("hi")
        await trio.sleep(1)
        told = [one for one in drain(reader) if isinstance(one, ExtensionError)]
        assert [(one.extension, one.event, one.error_message) for one in told] == [
            ("busy", "background", "Ours: later")
        ]
        assert cancelled == []
        assert not (await session.prompt("again")).failed
        await session.close()
        assert cancelled == ["last", "last"]


async def test_k03_a_context_of_another_session_is_an_error_to_who_uses_it(autojump_clock: MockClock) -> None:
    """K03: in a task that outlives the session. The next session knows nothing of it."""
    kept: list[ExtensionContext] = []
    keeper = Extension("keeper")

    @keeper.on(SessionStart)
    def start(question: SessionStart, context: ExtensionContext) -> None:
        kept.append(context)

    raised: list[StaleContext] = []

    async def later() -> None:
        await trio.sleep(5)
        with pytest.raises(StaleContext) as caught:
            await kept[0].append_custom("late")
        raised.append(caught.value)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(later)
        async with talking("one", extensions=[keeper]) as session:
            await session.prompt("hi")
            first = session.header.id
        async with talking("one", extensions=[keeper], seed=1) as session:
            await trio.sleep(10)
            assert not (await session.prompt("hi")).failed
            assert [kind_of(entry) for entry in session.entries()] == ["message", "message"]

    assert [one.session_id for one in raised] == [first]


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [30, pytest.param(200, marks=pytest.mark.full)])
async def test_k06_sessions_begin_and_end_alike_however_they_end(sessions: int, autojump_clock: MockClock) -> None:
    """K06: crash and cancel paths too, each end before the next beginning."""
    seen: list[str] = []
    counting = Extension("counting")

    @counting.on(SessionStart)
    async def start(question: SessionStart, context: ExtensionContext) -> None:
        seen.append(question.reason)

    @counting.on(SessionShutdown)
    async def end(question: SessionShutdown, context: ExtensionContext) -> None:
        seen.append("end")

    for index in range(sessions):
        with trio.move_on_after(1):
            tap = CrashAt("agent", 1) if index % 3 == 1 else None
            async with talking("one", extensions=[counting], tap=tap) as session:
                if index % 3 == 2:
                    await trio.sleep_forever()
                await session.prompt("hi")

    assert seen == ["new", "end"] * sessions


@pytest.mark.slow
async def test_c16_a_hook_that_takes_its_time_with_messages_keeps_the_order_of_the_file(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """C16: fifty turns with two calls each. What is asked of a message, or told of its end, lets no result before its call."""
    slow, chance = Extension("slow"), Random(16)  # noqa: S311 - the same waits each time

    @slow.on(BeforeMessageAppend)
    async def ask(question: BeforeMessageAppend, _: ExtensionContext) -> None:
        if isinstance(question.message, AssistantMessage):
            await trio.sleep(chance.uniform(0, 0.2))

    @slow.on(MessageEnd)
    async def hear(_: MessageEnd, __: ExtensionContext) -> None:
        await trio.sleep(chance.uniform(0, 0.2))

    async def look(nth: int) -> str:
        await trio.sleep(chance.uniform(0, 0.05))
        return f"seen {nth}"

    batches = [ScriptedAnswer(calls=tuple(call(f"c{nth}{one}", "look", nth=nth) for one in "ab")) for nth in range(50)]
    path = tmp_path / "s.jsonl"
    async with talking(*batches, "done", where=str(path), tools=[look], extensions=[slow]) as session:
        assert not (await session.prompt("go")).failed

    assert_whole(path)
    order = [row["message"] for row in rows(path) if row["type"] == "message" and row["message"]["role"] != "system"]
    assert [one["role"] for one in order] == ["user", *["assistant", "toolResult", "toolResult"] * 50, "assistant"]
    for nth in range(50):
        results = order[2 + 3 * nth : 4 + 3 * nth]
        assert sorted(one["toolCallId"] for one in results) == [f"c{nth}a", f"c{nth}b"]
