"""J: what is said while a session compacts, and compactions that are stopped. Nothing said is lost, doubled or sent too early."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Final

import pytest
import trio
import trio.testing

from sapwood import (
    Delivered,
    Environment,
    Extension,
    Failed,
    ImageContent,
    Published,
    Refused,
    Request,
    Returned,
    ScriptedAnswer,
    Session,
    UserMessage,
)
from sapwood.events.errors import CompactionFailed
from sapwood.events.hooks import Cancel, SessionBeforeCompact
from sapwood.events.runtime import TurnEnd
from sapwood.store.disk import RealDisk
from tests.build import words
from tests.faults.compacting import SMALL, TIGHT, Scribe, compacting, compactions, long_history, news_of, record
from tests.faults.logs import assert_whole
from tests.faults.sent import texts
from tests.talking import drain

ONE: Final = ImageContent(data="b25l", mime_type="image/png")
TWO: Final = ImageContent(data="dHdv", mime_type="image/jpeg")


def slowly(seconds: float) -> Scribe:
    """Takes its time for a summary."""
    return Scribe(writes=lambda _: ScriptedAnswer(text=record(), wait=seconds))


def asked_last(provider: Scribe) -> list[str]:
    """What each turn's request ends with."""
    return [texts(request)[-1] for request in provider.turns]


async def test_j03_a_compaction_that_a_turns_end_asks_for_hands_back_what_waits(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """J03: C15 decides: the run is stopped, and what was not said yet is handed back. No request is made with what was stopped.

    What was on its way into the log by then is there, and is sent with the next request: once, behind the summary.
    """
    provider = Scribe(ScriptedAnswer(text="one", wait=1))
    async with compacting(provider, long_history(5).store(), model=SMALL, settings=TIGHT) as session:
        reader, handle = session.events(), session.submit("go")
        later = session.follow_up("and this")
        async for item in reader:
            if isinstance(item, Published) and isinstance(item.event, TurnEnd):
                break
        compacted = await session.compact()
        await handle.outcome()
        outcome = await later.outcome()
        assert [request.purpose for request in provider.requests] == ["turn", "compaction"]
        assert [one.text for one in compacted.returned] == (["and this"] if isinstance(outcome, Returned) else [])
        if isinstance(outcome, Returned):
            session.follow_up("and this")
        assert not (await session.prompt("further")).failed
        assert session.queue().follow_up == ()
    assert texts(provider.turns[-1]).count("and this") == 1
    assert "## Goal" in texts(provider.turns[-1])[0]


async def test_j04_what_waits_at_a_recovery_is_delivered_behind_it(autojump_clock: trio.testing.MockClock) -> None:
    """J04: three messages, while an overflow is compacted away and the attempt is made again."""
    provider = Scribe(
        ScriptedAnswer(error="400 prompt is too long"),
        says=lambda _: "well",
        writes=lambda _: ScriptedAnswer(text=record(), wait=10),
    )
    async with compacting(provider, long_history(5).store(), model=SMALL, settings=TIGHT) as session:
        handle = session.submit("go")
        await trio.sleep(5)
        waiting = [session.steer("s"), session.follow_up("f1"), session.follow_up("f2")]
        assert [type(await one.outcome()) for one in (handle, *waiting)] == [Delivered] * 4
        assert session.state == "idle"
        assert len(compactions(session)) == 1
    assert asked_last(provider) == ["go", "s", "f1", "f2"]


async def test_j05_j06_j09_what_is_said_during_a_compaction_waits_for_its_end_and_no_longer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """J05, J06, J09: by hand: steering and a follow-up, with images; neither is sent before, both are without new input."""
    provider = slowly(60)
    async with compacting(provider, long_history(5).store(), model=SMALL, settings=TIGHT) as session:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.compact)
            await trio.sleep(5)
            assert session.state == "compaction"
            waiting = [session.steer("s", images=[ONE, TWO]), session.follow_up("f", images=[TWO])]
            await trio.sleep(5)
            assert provider.turns == []
            assert [one.outcome_nowait for one in waiting] == [None, None]
        assert [type(await one.outcome()) for one in waiting] == [Delivered, Delivered]
        assert len(compactions(session)) == 1
    assert asked_last(provider) == ["s", "f"]
    assert images_of(provider.turns[-1]) == {"s": [ONE, TWO], "f": [TWO]}


async def test_j05_j06_j09_the_same_of_one_between_the_turns_of_a_run(autojump_clock: trio.testing.MockClock) -> None:
    provider = slowly(60)
    async with compacting(provider, long_history(7).store(), model=SMALL, settings=TIGHT) as session:
        handle = session.submit("go")
        await trio.sleep(5)
        assert session.state == "run"
        waiting = [session.steer("s", images=[ONE, TWO]), session.follow_up("f", images=[TWO])]
        await trio.sleep(5)
        assert provider.turns == []
        assert [type(await one.outcome()) for one in (handle, *waiting)] == [Delivered] * 3
        assert len(compactions(session)) == 1
    assert asked_last(provider) == ["s", "f"]
    assert images_of(provider.turns[-1]) == {"s": [ONE, TWO], "f": [TWO]}


def images_of(request: Request) -> dict[str, list[ImageContent]]:
    return {
        words(one): [block for block in one.content if isinstance(block, ImageContent)]
        for one in request.messages
        if isinstance(one, UserMessage) and not isinstance(one.content, str) and len(one.content) > 1
    }


async def test_j08_a_submit_during_a_long_compaction_has_a_handle_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """J08: ten minutes. R6: a prompt is refused then, in Pi's words, and a follow-up is accepted."""
    async with compacting(slowly(600), long_history(5).store(), model=SMALL, settings=TIGHT) as session:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.compact)
            await trio.sleep(300)
            refused, later = session.submit("x"), session.follow_up("f")
            await trio.testing.wait_all_tasks_blocked()
            assert trio.current_time() == 300
            assert isinstance(refused.outcome_nowait, Failed)
            with pytest.raises(Refused, match="compaction is in progress"):
                await refused.outcome()
            assert later.outcome_nowait is None
        assert isinstance(await later.outcome(), Delivered)


class Full(RealDisk):
    """Has no room for a compaction."""

    refuses = False

    def write(self, descriptor: int, data: bytes) -> int:
        if self.refuses and b'"compaction"' in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(descriptor, data)


async def test_j07_who_asked_and_is_cancelled_stops_it(autojump_clock: trio.testing.MockClock) -> None:
    """J07: the end is told all the same."""
    provider = slowly(600)
    async with compacting(provider, long_history(5).store(), model=SMALL, settings=TIGHT) as session:
        reader = session.events()
        with trio.move_on_after(5):
            await session.compact()
        await session.wait_idle()
        assert trio.current_time() < 6
        [end] = news_of(drain(reader)).ends
        assert end.aborted
        assert compactions(session) == []
        assert not (await session.prompt("go on")).failed


PLACES: Final = ("in the hook", "in the call", "in the append")


@pytest.mark.parametrize("reason", ["manual", "threshold"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("end", ["stopped", "failed"])
async def test_j07_a_compaction_that_is_stopped_or_fails_leaves_nothing_behind(
    end: str, place: str, reason: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """J07: nobody believes that it is on any more, and the next prompt is sent. A stop settles at once.

    An append that has begun ends before the stop does: what is written is in the log.
    """
    guard, disk = Extension("guard"), Full()
    disk.refuses = (place, end) == ("in the append", "failed")

    @guard.on(SessionBeforeCompact, limit=None)
    async def think(_: SessionBeforeCompact, __: object) -> Cancel | None:
        if place != "in the hook":
            return None
        await trio.sleep(60)
        return Cancel(reason="no")

    def writes(_: Request) -> ScriptedAnswer:
        if place != "in the call":
            return ScriptedAnswer(text=record())
        return ScriptedAnswer(text=record(), wait=60, error="400 never" if end == "failed" else None)

    path = long_history(7).write(tmp_path / "s.jsonl")
    provider = Scribe(writes=writes)
    async with compacting(
        provider,
        path,
        model=SMALL,
        settings=TIGHT,
        extensions=[guard],
        environment=Environment.scripted(disk=disk),
    ) as session:
        reader = session.events()
        async with trio.open_nursery() as nursery:
            if end == "stopped" and place != "in the append":
                nursery.start_soon(stop_after, session, 5)
            await compact_or_prompt(session, reason, is_made=(end, place) == ("stopped", "in the append"))
        assert session.state == "idle"
        news_of(drain(reader))
        made = (end, place) == ("stopped", "in the append")
        assert len(compactions(session)) == (1 if made else 0)
        disk.refuses, before = False, len(provider.turns)
        guard_free(provider)
        outcome = await session.prompt("go on")
        assert not outcome.failed
        assert len(provider.turns) == before + 1
    assert_whole(path)


def guard_free(provider: Scribe) -> None:
    provider.writes = lambda _: record()


async def compact_or_prompt(session: Session, reason: str, *, is_made: bool) -> None:
    if reason == "threshold":
        await session.prompt("go")
    elif is_made:
        await session.compact()
    else:
        with pytest.raises(CompactionFailed):
            await session.compact()


async def stop_after(session: Session, seconds: float) -> None:
    await trio.sleep(seconds)
    began = trio.current_time()
    await session.abort()
    assert trio.current_time() - began <= 0.2
