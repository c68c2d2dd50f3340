"""A disk that refuses for a while, seen by a host: nothing lost, nothing told too early, and a way out (S8)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import trio

from sapwood.actors.environment import Environment
from sapwood.events.commands import Delivered
from sapwood.events.errors import CannotWrite, SapwoodError
from sapwood.events.messages import AssistantMessage
from sapwood.events.runtime import EntryAppended, MessageEnd, StoreDegraded, StoreRecovered
from sapwood.reading import read
from sapwood.session import Session
from sapwood.store.disk import RealDisk
from sapwood.store.port import Durability
from tests.talking import drain, names, talking


class Filling(RealDisk):
    """A disk that takes `room` appends, and no more until it is emptied."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, descriptor: int, data: bytes) -> int:
        if b'"parentId"' in data:
            if self.room == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.room -= 1
        return super().write(descriptor, data)


async def waiting(session: Session) -> None:
    """Wait until the session has told that its disk is full."""
    async with session.events(since=0) as reader:
        async for item in reader:
            if isinstance(getattr(item, "event", None), StoreDegraded):
                return


@pytest.mark.parametrize("room", [0, 1], ids=["the input", "the answer"])
async def test_what_waits_is_written_when_there_is_room_again(
    room: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    disk, path = Filling(room), tmp_path / "s.jsonl"
    async with talking("there", where=str(path), environment=Environment.scripted(disk=disk)) as session:
        reader = session.events()
        handle = session.submit("hi")
        await waiting(session)
        await trio.sleep(100)
        told = drain(reader)
        assert (session.state, len(session.entries())) == ("run", room)
        assert sum(isinstance(event, EntryAppended) for event in told) == room
        assert sum(isinstance(event, MessageEnd) for event in told) == room

        disk.room = 10
        outcome = await handle.outcome()

        assert isinstance(outcome, Delivered)
        assert outcome.answer is not None
        assert [event.written for event in drain(reader) if isinstance(event, StoreRecovered)] == [1]
    with read(path) as session_again:
        assert len(session_again.entries()) == 2


@pytest.mark.parametrize("room", [0, 1], ids=["the input", "the answer"])
async def test_an_abort_ends_the_waiting(room: int, tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    disk, path = Filling(room), tmp_path / "s.jsonl"
    async with talking("lost", "there", where=str(path), environment=Environment.scripted(disk=disk)) as session:
        handle = session.submit("hi")
        await waiting(session)
        await trio.sleep(100)
        with trio.fail_after(0.2):
            await session.abort()

        assert (session.state, len(session.entries())) == ("idle", room)
        if room == 0:
            with pytest.raises(CannotWrite, match="ENOSPC"):
                await handle.outcome()
        else:
            outcome = await handle.outcome()
            assert isinstance(outcome, Delivered)
            assert "ENOSPC" in (outcome.error or "")

        disk.room = 10
        assert isinstance(await session.prompt("again"), Delivered)
    with read(path) as session_again:
        assert len(session_again.entries()) == room + 2


async def test_a_session_may_be_left_while_its_disk_is_full(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    outcomes: list[object] = []
    with trio.fail_after(5):
        async with talking(
            "x", where=str(tmp_path / "s.jsonl"), environment=Environment.scripted(disk=Filling(0))
        ) as session:
            handle = session.submit("hi")
            await waiting(session)
    try:
        outcomes.append(await handle.outcome())
    except SapwoodError as error:
        outcomes.append(error)

    assert [type(one) for one in outcomes] == [CannotWrite]
    assert not (tmp_path / "s.jsonl").exists()


async def test_a_model_is_not_called_before_the_input_is_on_disk(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with talking(
        "x", where=str(tmp_path / "s.jsonl"), environment=Environment.scripted(disk=Filling(0))
    ) as session:
        reader = session.events()
        session.submit("hi")
        await waiting(session)
        await trio.sleep(100)

        assert names(drain(reader)) == ["agent_start", "turn_start", "message_start", "store_degraded"]
        assert [type(message) for message in session.context().messages] == list[type[AssistantMessage]]()


@pytest.mark.parametrize("durability", ["os", "disk"])
async def test_both_durabilities_record_the_same(durability: Durability, tmp_path: Path) -> None:
    path = tmp_path / f"{durability}.jsonl"
    async with talking("there", where=str(path), durability=durability) as session:
        await session.prompt("hi")
        before = [entry.id for entry in session.entries()]
    with read(path) as again:
        assert [entry.id for entry in again.entries()] == before
        assert len(before) == 2
