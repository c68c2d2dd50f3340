"""Following a session: events within a tenth of a second, a session that is read as it grows, and an end that says why."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import trio
import trio.testing

from sapwood import (
    CannotOpen,
    EntryId,
    Following,
    NotASession,
    Refused,
    Scripted,
    ScriptedAnswer,
    SessionInUse,
    follow,
    open_session,
)
from sapwood.events.runtime import DamageFound, EntryAppended, SessionFileLost
from tests.build import MODEL
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle
from tests.store.stores import DATA, HEAD, file_of, line
from tests.store.writer import writer
from tests.talking import talking

A, B, C = line("a"), line("b", "a"), line("c", "b")


def write(path: Path, data: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(data)


async def next_id(following: Following) -> str:
    event = await following.receive()
    assert isinstance(event, EntryAppended)
    return event.entry_id


async def test_what_another_program_appends_is_told_within_a_tenth_of_a_second(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(A))
    async with follow(path) as following:
        assert await next_id(following) == "a"
        for one in (B, C):
            with trio.move_on_after(1):
                await following.receive()
            write(path, one + b"\n")
            began = trio.current_time()
            await next_id(following)
            assert trio.current_time() - began < 0.1  # of a clock that stands still while we work
        assert [entry.id for entry in following.entries()] == ["a", "b", "c"]


async def test_it_is_a_session_that_is_read_while_another_one_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking(ScriptedAnswer(text="Here I am."), where=str(path)) as session:
        await session.prompt("Where are you?")
        async with follow(path) as following:
            seen = [await next_id(following) for _ in range(len(session.tree()))]
            assert [item.message for item in following.context().items] == [
                item.message for item in session.context().items
            ]
            await session.label(EntryId(seen[0]), "start")
            await next_id(following)

            assert following.labels() == {seen[0]: "start"}
            assert following.header == session.header
        with pytest.raises(SessionInUse):
            async with open_session(path, model=MODEL, providers=[Scripted({})]):
                pass


@pytest.mark.parametrize(("last", "ids"), [(None, ["a", "b", "c"]), (0, []), (1, ["c"]), (9, ["a", "b", "c"])])
async def test_as_many_of_those_that_are_there_are_told_as_were_asked_for(
    last: int | None, ids: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(A, B, C))
    async with follow(path, last=last) as following:
        write(path, line("d", "c") + b"\n")

        assert [await next_id(following) for _ in range(len(ids) + 1)] == [*ids, "d"]


async def test_a_program_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(A, B, C))
    async with follow(path, since=EntryId("b")) as following:
        assert await next_id(following) == "c"


@pytest.mark.parametrize(
    "asked", [{"since": "nowhere"}, {"since": "a", "last": 1}, {"last": -1}, {"counter": "abacus"}]
)
async def test_what_cannot_be_meant_is_refused_and_nothing_is_left_open(asked: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(A))
    before = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(Refused):
        follow(path, **asked)  # type: ignore[arg-type]  # what a caller without a type checker may say

    assert len([*Path("/proc/self/fd").iterdir()]) == before


async def test_a_file_that_is_none_is_told_by_its_fault(tmp_path: Path) -> None:
    with pytest.raises(CannotOpen):
        follow(tmp_path / "s.jsonl")
    (tmp_path / "s.jsonl").write_bytes(b"hello\n")
    with pytest.raises(NotASession):
        follow(tmp_path / "s.jsonl")


LOSSES: Final[dict[str, Callable[[Path], object]]] = {
    "deleted": Path.unlink,
    "replaced": lambda path: path.with_name("other").replace(path),
    "shortened": lambda path: os.truncate(path, len(HEAD)),
}


@pytest.mark.parametrize("what", LOSSES)
async def test_the_last_event_says_what_became_of_the_file(
    what: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(A, B))
    path.with_name("other").write_bytes(file_of(A, B, C))
    async with follow(path, last=1) as following:
        events = [await following.receive()]
        LOSSES[what](path)
        events += [event async for event in following]

        assert events[1:] == [SessionFileLost(path=str(path), what=what)]  # type: ignore[arg-type]  # as the type has them
        with pytest.raises(trio.EndOfChannel):
            await following.receive()


async def test_who_waits_may_leave_and_a_closed_one_says_so(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(A))
    following = follow(path, last=0)
    with trio.move_on_after(1) as waiting:
        await following.receive()
    write(path, B + b"\n")
    assert waiting.cancelled_caught
    assert await next_id(following) == "b"

    await following.aclose()
    await following.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await following.receive()


async def test_damage_is_told_before_the_entries_that_came_with_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(A, b"rubbish"))
    async with follow(path) as following:
        first = await following.receive()
        assert isinstance(first, DamageFound)
        assert [one.kind for one in first.records] == ["garbage"]
        assert await next_id(following) == "a"


async def test_an_entry_that_this_release_cannot_read_is_told_by_its_kind(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(line("a", kind="from.tomorrow")))
    async with follow(path) as following:
        event = await following.receive()

    assert event == EntryAppended(entry_id=EntryId("a"), kind="from.tomorrow")


async def test_a_file_that_is_empty_becomes_a_session(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    async with follow(path) as following:
        with trio.move_on_after(1):
            await following.receive()
        assert following.header.id == ""
        write(path, file_of(A))

        assert await next_id(following) == "a"
        assert following.header.id == "s1"
        assert len(following.entries()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_nothing_of_a_writer_that_is_killed_is_told_twice_or_missed(seed: int, tmp_path: Path) -> None:
    """Processes that append up to 64 KiB at a time are killed in the middle; the next one begins on a fresh line."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(HEAD)
    acknowledged: list[str] = []
    told: list[str] = []

    async def collect(following: Following) -> None:
        async for event in following:
            match event:
                case EntryAppended(entry_id=entry_id):
                    told.append(entry_id)
                case DamageFound(records=records):
                    assert {one.kind for one in records} <= {"torn_tail", "cut_line", "missing_parent"}
                case _:
                    raise AssertionError(event)

    with writer("os", path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        async with follow(path) as following, trio.open_nursery() as nursery:
            nursery.start_soon(collect, following)
            for nth in range(5):
                process.stdin.write(f"{seed}-{nth} {nth + 1} {seed / 2000}\n".encode())
                process.stdin.flush()
                said = await trio.to_thread.run_sync(process.stdout.readline)
                acknowledged += [one.strip('", []') for one in said.decode().strip().split(",")]
            with trio.fail_after(10):
                while not {*acknowledged} <= {*told}:  # noqa: ASYNC110 - what comes is told by another process, not by an event
                    await trio.sleep(0.05)
            nursery.cancel_scope.cancel()

    assert len(told) == len({*told})
    with path.open("rb") as file:
        whole = [row for row in file if row.endswith(b"}\n")]
    assert len(told) >= len(acknowledged)
    assert len(told) <= len(whole)


@pytest.mark.interop
async def test_what_pi_appends_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes((DATA / "pi-ringing-v3.jsonl").read_bytes())
    try:
        with Oracle() as pi:
            async with follow(path, last=0) as following:
                message = {"role": "user", "content": "from Pi", "timestamp": 1}
                pi.ask({"op": "append", "path": str(path), "appends": [{"what": "message", "message": message}] * 2})
                with trio.fail_after(5):
                    ids = [await next_id(following) for _ in range(2)]

                assert [item.entry_id for item in following.context().items][-2:] == ids
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


async def test_two_that_follow_one_file_are_told_the_same_whoever_comes_late(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(line("e0")))
    lines = [line(f"e{nth}", f"e{nth - 1}") + b"\n" for nth in range(1, 40)]
    told: dict[str, list[str]] = {"early": [], "late": []}

    async def listen(name: str) -> None:
        async with follow(path) as following:
            while len(told[name]) < 1 + len(lines):
                told[name].append(await next_id(following))

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen, "early")
            with path.open("ab", buffering=0) as file:
                for nth, one in enumerate(lines):
                    file.write(one[:20])
                    await trio.sleep(0.03)
                    file.write(one[20:])
                    if nth == 20:
                        nursery.start_soon(listen, "late")

    assert told["early"] == told["late"] == [f"e{nth}" for nth in range(1 + len(lines))]


async def test_a_file_that_another_one_is_put_in_place_of_is_lost_with_all_that_came_before(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """In one step, as editors and programs that rewrite a session do: with the same entries, and with a new one."""
    path, other = tmp_path / "s.jsonl", tmp_path / "other"
    path.write_bytes(file_of(line("a")))
    other.write_bytes(file_of(line("a"), line("b", "a")))
    async with follow(path) as following:
        assert await next_id(following) == "a"
        other.replace(path)
        assert await following.receive() == SessionFileLost(path=str(path), what="replaced")
        with pytest.raises(trio.EndOfChannel):
            await following.receive()
        assert following.tree().leaf == 0, "what was read can still be read"
