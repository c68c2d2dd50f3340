"""Steering and follow-ups: whatever was accepted has exactly one outcome, and the log agrees (R3)."""

from __future__ import annotations

from contextlib import suppress

import pytest
import trio
import trio.testing

from sapwood import (
    Delivered,
    ImageContent,
    SapwoodError,
    ScriptedAnswer,
    Session,
    SessionClosed,
    Settings,
    Withdrawn,
)
from sapwood.actors.kernel.testing import CrashAt, Seeded, Together
from sapwood.events.commands import QueuedInputs, Returned
from sapwood.events.messages import UserMessage
from sapwood.events.runtime import QueueUpdate
from tests.build import call, words
from tests.talking import drain, talking

IMAGE = ImageContent(data="aGk=", mime_type="image/png")


def slowly(text: str) -> ScriptedAnswer:
    return ScriptedAnswer(text=text, wait=1)


def texts(session: Session) -> list[str]:
    return [words(message) for message in session.context().messages if message.role != "system"]


async def until_running(session: Session) -> None:
    with trio.fail_after(5):
        while session.state == "idle":
            await trio.lowlevel.checkpoint()


async def test_a_follow_up_is_said_when_the_run_would_end_and_is_delivered_with_its_own_answer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with talking(slowly("one"), slowly("two")) as session:
        reader = session.events()
        first = session.submit("a")
        await until_running(session)
        second = session.follow_up("b")
        outcomes = await first.outcome(), await second.outcome()
        assert texts(session) == ["a", "one", "b", "two"]
        updates = [event for event in drain(reader) if isinstance(event, QueueUpdate)]
    assert updates == [QueueUpdate(steering=(), follow_up=("b",)), QueueUpdate(steering=(), follow_up=())]
    assert [(type(one), getattr(one, "turns", None)) for one in outcomes] == [(Delivered, 2), (Delivered, 1)]
    assert [words(one.answer) for one in outcomes if isinstance(one, Delivered) and one.answer] == ["two", "two"]


async def test_steering_enters_behind_the_tools_with_its_images(autojump_clock: trio.testing.MockClock) -> None:
    async def work() -> str:
        await trio.sleep(2)
        return "worked"

    calls = ScriptedAnswer(calls=(call("c1", "work"), call("c2", "work")))
    async with talking(calls, "done", tools=[work]) as session:
        handle = session.submit("go")
        await trio.sleep(1)
        steered = session.steer("only the tests", images=[IMAGE, IMAGE])
        await handle.outcome()
        assert isinstance(await steered.outcome(), Delivered)
        messages = [message for message in session.context().messages if message.role != "system"]
    assert [message.role for message in messages] == [
        *("user", "assistant", "toolResult", "toolResult", "user", "assistant"),
    ]
    said = messages[4]
    assert isinstance(said, UserMessage)
    assert [type(block).__name__ for block in said.content] == ["TextContent", "ImageContent", "ImageContent"]


async def test_all_of_a_queue_enter_at_once_if_that_is_set(autojump_clock: trio.testing.MockClock) -> None:
    async with talking(slowly("one"), "two", settings=Settings(follow_up_mode="all")) as session:
        handle = session.submit("a")
        await until_running(session)
        handles = [session.follow_up(text) for text in "bcd"]
        await handle.outcome()
        assert [type(await one.outcome()) for one in handles] == [Delivered] * 3
        assert texts(session) == ["a", "one", "b", "c", "d", "two"]


async def test_what_is_queued_while_nothing_runs_waits_for_the_next_run() -> None:
    """A steer rides in its first request, a follow-up gets a turn of its own."""
    async with talking("one", "two") as session:
        steered, later = session.steer("s"), session.follow_up("f")
        await trio.testing.wait_all_tasks_blocked()
        assert [one.text for one in session.queue().steering] == ["s"]
        assert session.state == "idle"
        await session.abort()  # of nothing: it does not wait for what waits
        await session.prompt("a")
        assert texts(session) == ["a", "s", "one", "f", "two"]
        assert isinstance(await steered.outcome(), Delivered)
        assert isinstance(await later.outcome(), Delivered)
        assert session.queue() == QueuedInputs()


async def test_what_waits_can_be_taken_back_once(autojump_clock: trio.testing.MockClock) -> None:
    async with talking(slowly("one")) as session:
        handle = session.submit("a")
        await until_running(session)
        later = session.follow_up("b", images=[IMAGE])
        await trio.testing.wait_all_tasks_blocked()

        assert await later.cancel()
        assert not await later.cancel()
        assert await later.outcome() == Withdrawn(text="b", images=(IMAGE,))
        assert not await handle.cancel(), "a prompt is being said"
        await handle.outcome()
        assert texts(session) == ["a", "one"]


async def test_an_abort_leaves_what_waits_for_the_next_run(autojump_clock: trio.testing.MockClock) -> None:
    async with talking(slowly("never"), "two", "three") as session:
        handle = session.submit("a")
        await until_running(session)
        later = session.follow_up("b")
        await trio.testing.wait_all_tasks_blocked()
        await session.abort()
        await handle.outcome()
        assert later.outcome_nowait is None
        assert [one.text for one in session.queue().follow_up] == ["b"]
        await session.prompt("c")
        assert isinstance(await later.outcome(), Delivered)
        assert texts(session)[-4:] == ["c", "two", "b", "three"]


async def test_closing_hands_back_what_waits_and_refuses_what_comes_then(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with talking(slowly("never")) as session:
        session.submit("a")
        await trio.sleep(0.5)
        later, steered = session.follow_up("b", images=[IMAGE]), session.steer("c")
        await trio.testing.wait_all_tasks_blocked()
        await session.close()
        assert await later.outcome() == Returned(text="b", images=(IMAGE,))
        assert await steered.outcome() == Returned(text="c")
        with pytest.raises(SessionClosed):
            session.steer("d")


async def test_what_a_full_disk_keeps_out_of_the_log_waits_again_at_its_place(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """J02: it was taken from its queue, and its run broke before it was in the log."""
    async with talking(slowly("one"), "two", "three") as session:
        handle = session.submit("a")
        await until_running(session)
        first, second = session.follow_up("b"), session.follow_up("c")
        await trio.testing.wait_all_tasks_blocked()
        queues = session._wiring.shelf.queues
        taken = queues.take("follow_up")  # as a run does that breaks then
        assert taken is not None
        assert [one.text for one in session.queue().follow_up] == ["c"]
        await session.abort()
        await handle.outcome()
        assert [one.text for one in session.queue().follow_up] == ["b", "c"]
        await session.prompt("d")
        assert isinstance(await first.outcome(), Delivered)
        assert isinstance(await second.outcome(), Delivered)


async def test_waiting_until_nothing_runs(autojump_clock: trio.testing.MockClock) -> None:
    async with talking(slowly("one")) as session:
        await session.wait_idle()
        session.submit("a")
        await until_running(session)
        await session.wait_idle()
        assert trio.current_time() == 1
        assert session.state == "idle"


@pytest.mark.parametrize("at", [None, 1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("running", [False, True])
async def test_what_is_taken_back_at_once_is_never_said(
    running: bool, seed: int, at: int | None, autojump_clock: trio.testing.MockClock
) -> None:
    """It was on its way to its queue, and used to be said: there was nothing to take back yet."""
    crash = [] if at is None else [CrashAt("agent", at)]
    async with talking(slowly("one"), "two", "three", tap=Together(Seeded(seed), *crash)) as session:
        if running:
            session.submit("a")
            await trio.sleep(0.5)
        for say in (session.steer, session.follow_up):
            handle = say("never", images=[IMAGE])
            assert await handle.cancel()
            assert not await handle.cancel()
            assert await handle.outcome() == Withdrawn(text="never", images=(IMAGE,))
        await session.wait_idle()
        with suppress(SapwoodError):
            await session.prompt("b")
        await session.wait_idle()
        assert session.queue() == QueuedInputs()
        assert "never" not in texts(session)


async def test_what_was_asked_for_just_now_is_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    """It used to return before the run had the tree."""
    async with talking(slowly("one"), slowly("two")) as session:
        first, second = session.submit("a"), session.submit("b")
        await session.wait_idle()
        assert session.state == "idle"
        assert first.outcome_nowait is not None
        assert second.outcome_nowait is not None, "it was refused"
        assert trio.current_time() == 1


async def test_what_waits_in_a_queue_is_not_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    async with talking() as session:
        later = session.follow_up("b")
        await session.wait_idle()
        assert later.outcome_nowait is None


async def test_who_reads_events_comes_to_their_end_when_the_session_closes() -> None:
    seen: list[object] = []

    async def watch(session: Session) -> None:
        seen.extend([item async for item in session.events()])

    with trio.fail_after(5):
        async with talking("one") as session, trio.open_nursery() as nursery:
            nursery.start_soon(watch, session)
            await trio.testing.wait_all_tasks_blocked()
            await session.prompt("a")
            await session.close()
    assert len(seen) > 5
