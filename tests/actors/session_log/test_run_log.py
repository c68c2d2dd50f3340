"""What a run appends stands behind what it appended before, whoever else writes."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import cast

import pytest
import trio
import trio.testing

from sapwood import CannotWrite, Environment, Refused, Session
from sapwood.actors.session_log.run_log import AT_ONCE, RunLog
from sapwood.events.entries import ContextEdit, Entry, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message
from sapwood.events.requests import Append
from sapwood.events.runtime import Diagnostic
from tests.actors.projection.logs import edit
from tests.build import assistant, message_entry, user, words
from tests.store.faults import FaultyDisk
from tests.talking import drain, talking


def a_log(session: Session, last: EntryId | None = None) -> RunLog:
    """A run's end of the log of an open session, beside the session's own."""
    return RunLog(session._wiring.pen, last=last)


def message_of(entry: Entry) -> Message:
    assert isinstance(entry, MessageEntry)
    return cast("Message", entry.message)


def parents(session: Session) -> dict[str, str | None]:
    return {str(entry.id): entry.parent_id for entry in session.entries()}


async def test_each_message_hangs_under_the_one_before_and_the_first_under_the_leaf() -> None:
    async with talking("one") as session:
        await session.prompt("hi")
        leaf = session.entries()[-1].id
        log = a_log(session)

        first = await log.append(user("a"))
        second = await log.append(assistant("b"), EntryId("mine"))

    assert (log.last, second) == (EntryId("mine"), EntryId("mine"))
    assert parents(session)[first] == leaf
    assert parents(session)["mine"] == first


async def test_what_is_appended_together_is_one_after_the_other() -> None:
    async with talking() as session:
        log = a_log(session)
        async with trio.open_nursery() as nursery:
            for n in range(5):
                nursery.start_soon(log.append, user(f"{n}"), EntryId(f"e{n}"))

    entries = session.entries()
    assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries[:-1])]


async def test_what_waits_while_something_is_written_is_one_write_in_the_order_in_which_it_was_asked_for(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Each was a write of its own: a thousand results took a disk that hardens one in 5 ms five seconds."""
    disk, where = FaultyDisk(), str(tmp_path / "s.jsonl")
    environment = Environment.scripted(disk=disk)
    async with talking(where=where, environment=environment, durability="disk") as session:
        log = a_log(session)
        await log.append(user("first"))
        before = disk.calls.count("write")
        async with trio.open_nursery() as nursery:
            for n in range(10 * AT_ONCE):
                nursery.start_soon(log.append, user(f"{n}"))
                await trio.lowlevel.checkpoint()
        entries = session.entries()
    assert disk.calls.count("write") - before <= 20
    assert [words(message_of(entry)) for entry in entries] == ["first", *map(str, range(10 * AT_ONCE))]
    assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries[:-1])]


async def test_what_is_unfit_harms_nothing_that_waits_with_it() -> None:
    refused: list[str] = []

    async def say(log: RunLog, text: str, entry_id: str | None = None) -> None:
        try:
            await log.append(user(text), None if entry_id is None else EntryId(entry_id))
        except Refused as error:
            refused.append(f"{text}: {error.reason}")

    async with talking() as session:
        log = a_log(session)
        await log.append(user("first"), EntryId("taken"))
        async with trio.open_nursery() as nursery:
            for text, entry_id in (("a", None), ("b", "taken"), ("c", "same"), ("d", "same"), ("e", None)):
                nursery.start_soon(say, log, text, entry_id)
    assert sorted(refused) in (
        ["b: duplicate-entry", "c: duplicate-entry"],
        ["b: duplicate-entry", "d: duplicate-entry"],
    )
    assert len(session.entries()) == 4


async def test_whoever_writes_for_all_that_wait_and_leaves_takes_its_own_away_and_no_other(tmp_path: Path) -> None:
    disk, where = FaultyDisk(), str(tmp_path / "s.jsonl")
    async with talking(where=where, environment=Environment.scripted(disk=disk)) as session:
        log, scopes = a_log(session), [trio.CancelScope() for _ in range(5)]
        await log.append(user("first"))
        disk.plan = lambda _number, name: errno.ENOSPC if name == "write" else None

        async def say(n: int) -> None:
            with scopes[n]:
                await log.append(user(f"{n}"))

        async with trio.open_nursery() as nursery:
            for n in range(5):
                nursery.start_soon(say, n)
                await trio.testing.wait_all_tasks_blocked()
            scopes[2].cancel()  # waits for its turn
            for n in (0, 1):  # writes, the second one for those behind it
                await trio.testing.wait_all_tasks_blocked()
                scopes[n].cancel()
            await trio.testing.wait_all_tasks_blocked()
            disk.plan = lambda _number, _name: None
    assert [words(message_of(entry)) for entry in session.entries()] == ["first", "3", "4"]


async def test_what_another_one_wrote_behind_it_is_gone_on_from() -> None:
    async with talking() as session:
        log = a_log(session)
        mine = await log.append(user("a"))
        await session._wiring.pen.session_log.ask(Append(entries=(message_entry("other", user("o")),)))
        reader = session.events()

        last = await log.append(assistant("b"))

    assert parents(session)["other"] == mine
    assert parents(session)[last] == "other"
    assert [event for event in drain(reader) if isinstance(event, Diagnostic)] == []


async def test_what_another_one_wrote_elsewhere_is_a_branch_and_told() -> None:
    async with talking() as session:
        log = a_log(session)
        mine = await log.append(user("a"))
        elsewhere = Append(entries=(message_entry("other", user("o")),), under=None)
        await session._wiring.pen.session_log.ask(elsewhere)
        reader = session.events()

        last = await log.append(assistant("b"))

    assert parents(session)["other"] is None
    assert parents(session)[last] == mine
    [told] = [event for event in drain(reader) if isinstance(event, Diagnostic)]
    assert (told.code, told.entry_id) == ("leaf_moved", mine)


async def test_a_run_goes_on_behind_what_it_is_told_to() -> None:
    async with talking() as session:
        first = await a_log(session).append(user("a"))

        second = await a_log(session, last=first).append(assistant("b"))

    assert parents(session)[second] == first


async def test_a_run_that_was_stopped_waits_for_no_disk(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    disk, where = FaultyDisk(), str(tmp_path / "s.jsonl")
    caught: list[CannotWrite] = []
    async with talking(where=where, environment=Environment.scripted(disk=disk)) as session:
        log = a_log(session)
        await log.append(user("a"))
        disk.plan = lambda _number, name: errno.ENOSPC if name == "write" else None

        async def try_it() -> None:
            try:
                await log.append(user("b"))
            except CannotWrite as error:
                caught.append(error)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(try_it)
            await trio.sleep(30)
            assert caught == []
            await log.stop()
        assert [error.errno for error in caught] == [errno.ENOSPC]
        with pytest.raises(CannotWrite):
            await log.append(user("c"))
    assert len(session.entries()) == 1


async def test_an_entry_of_any_kind_is_made_when_it_is_its_turn() -> None:
    async with talking() as session:
        log = a_log(session)
        first = await log.append(user("a"))

        def hide(entry_id: EntryId, _: str) -> ContextEdit:
            assert log.last == first
            return edit(entry_id, first, first, None)

        hidden = await log.add(hide, EntryId("h"))

    assert (hidden, log.last) == (EntryId("h"), EntryId("h"))
    assert parents(session)["h"] == first


async def test_it_goes_on_behind_what_somebody_else_appended_for_the_run() -> None:
    async with talking() as session:
        log = a_log(session)
        await log.append(user("a"))
        await session._wiring.pen.session_log.ask(Append(entries=(message_entry("for it", user("o")),)))
        reader = session.events()

        log.follow(EntryId("for it"))
        last = await log.append(assistant("b"))

    assert parents(session)[last] == "for it"
    assert [event for event in drain(reader) if isinstance(event, Diagnostic)] == []
