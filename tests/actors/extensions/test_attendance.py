"""Whoever is told that a session begins is told once that it ends (H4)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sapwood import Extension, ExtensionContext, SessionBroken, StoreError
from sapwood.actors.extensions.attendance import SETTLING
from sapwood.actors.extensions.extension import event_of
from sapwood.actors.kernel.testing import CrashAt
from sapwood.events.entries import Custom
from sapwood.events.hooks import SessionShutdown, SessionStart
from sapwood.events.runtime import AgentStart, ExtensionError, News
from tests.talking import drain, talking


class Counting:
    """An extension that counts its beginnings and its ends."""

    def __init__(self, name: str = "counting", starting: Callable[[], Any] = lambda: None) -> None:
        self.seen: list[str] = []
        self.extension = Extension(name)

        @self.extension.on(SessionStart)
        async def start(question: SessionStart, context: ExtensionContext) -> None:
            self.seen.append(f"start {question.reason}")
            came = starting()
            if came is not None:
                await came

        @self.extension.on(SessionShutdown)
        async def end(question: SessionShutdown, context: ExtensionContext) -> None:
            self.seen.append("end")


async def test_a_session_begins_anew_and_is_taken_up(tmp_path: Path) -> None:
    counting = Counting()
    path = str(tmp_path / "s.jsonl")
    for _ in range(2):
        async with talking("one", where=path, extensions=[counting.extension]) as session:
            assert counting.seen[-1].startswith("start"), "before anybody has the session"
            await session.prompt("hi")

    assert counting.seen == ["start new", "end", "start resume", "end"]


async def test_closing_twice_ends_once() -> None:
    counting = Counting()
    async with talking(extensions=[counting.extension]) as session:
        await session.close()
        await session.close()

    assert counting.seen == ["start new", "end"]


async def test_what_the_block_raises_and_a_cancellation_end_it_too(autojump_clock: MockClock) -> None:
    counting = Counting()
    with pytest.raises(KeyError):
        async with talking(extensions=[counting.extension]):
            raise KeyError("x")
    with trio.move_on_after(1):
        async with talking(extensions=[counting.extension]):
            await trio.sleep_forever()

    assert counting.seen == ["start new", "end"] * 2


async def test_a_start_that_fails_is_ended_and_the_session_opens() -> None:
    def fail() -> None:
        raise ValueError("oops")

    counting = Counting(starting=fail)
    async with talking("one", extensions=[counting.extension]) as session:
        assert not (await session.prompt("hi")).failed

    assert counting.seen == ["start new", "end"]


async def test_who_was_not_told_of_a_beginning_is_not_told_of_the_end(autojump_clock: MockClock) -> None:
    """Opening was left while the first one was still at it."""
    first, second = Counting("first", trio.sleep_forever), Counting("second")
    with trio.move_on_after(1):
        async with talking(extensions=[first.extension, second.extension]):
            raise AssertionError("it was left before that")

    assert (first.seen, second.seen) == (["start new", "end"], [])


async def test_an_opening_that_fails_begins_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("hello\n", encoding="utf-8")
    counting = Counting()
    with pytest.raises(StoreError):
        async with talking(where=str(tmp_path / "s.jsonl"), extensions=[counting.extension]):
            raise AssertionError("it is no session")

    assert counting.seen == []


@pytest.mark.parametrize("actor", ["agent", "session_log", "model", "extensions", "handlers", "companions", "tools"])
@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_crash_anywhere_leaves_the_count_even(actor: str, nth: int) -> None:
    counting = Counting()

    @counting.extension.on(AgentStart)
    def heard(event: AgentStart, context: ExtensionContext) -> None: ...

    async with talking("one", "two", extensions=[counting.extension], tap=CrashAt(actor, nth)) as session:
        for text in ("a", "b"):
            with suppress(SessionBroken):
                await session.prompt(text)

    assert counting.seen == ["start new", "end"]


async def test_the_last_word_can_still_be_kept() -> None:
    """The log is open when extensions are told of the end."""
    last = Extension("last")

    @last.on(SessionShutdown)
    async def end(question: SessionShutdown, context: ExtensionContext) -> None:
        await context.append_custom("last", {"words": "bye"})

    async with talking("one", extensions=[last]) as session:
        await session.prompt("hi")

    [kept] = [one for one in session.entries() if isinstance(one, Custom)]
    assert kept.data == {"words": "bye"}


async def test_what_is_kept_at_the_end_is_told_behind_it_and_is_nobodys_failure() -> None:
    """Who heard of every event used to be named as one that was at work when the session ended."""
    told: list[str] = []
    last, ear = Extension("last"), Extension("ear")

    @last.on(SessionShutdown)
    async def end(question: SessionShutdown, context: ExtensionContext) -> None:
        await context.append_custom("last", {"words": "bye"})
        await context.set_name("About trees")

    @ear.on(News)
    async def hear(event: News, context: ExtensionContext) -> None:
        await trio.lowlevel.checkpoint()
        told.append(event_of(type(event)))

    @ear.on(SessionShutdown)
    def shut(question: SessionShutdown, context: ExtensionContext) -> None:
        told.append("shutdown")

    for order in ([ear, last], [last, ear]):
        told.clear()
        async with talking("one", extensions=order) as session:
            reader = session.events()
            await session.prompt("hi")

        assert not [one for one in drain(reader) if isinstance(one, ExtensionError)]
        assert told.index("agent_settled") < told.index("shutdown"), "what came before the end is told before it"
        assert sorted(told[-4:]) == ["entry_appended", "entry_appended", "session_info_changed", "shutdown"]


async def test_who_is_stuck_holds_up_the_end_once(autojump_clock: MockClock) -> None:
    last = Extension("last")

    @last.on(News)
    async def hang(event: News, context: ExtensionContext) -> None:
        await trio.sleep_forever()

    @last.on(SessionShutdown)
    async def end(question: SessionShutdown, context: ExtensionContext) -> None:
        await context.append_custom("last", {"words": "bye"})

    async with talking("one", extensions=[last]) as session:
        await session.prompt("hi")
        began = trio.current_time()

    assert SETTLING <= trio.current_time() - began < SETTLING + 0.5
    assert [one.data for one in session.entries() if isinstance(one, Custom)] == [{"words": "bye"}]
