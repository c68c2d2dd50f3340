"""E: several that write one log at once, in a process and in two.

What rewriters do to each other (E03) is nothing to us: nothing is rewritten.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec
import pytest
import trio

from sapwood import Delivered, Refused, Runtime, Scripted, ScriptedAnswer, Session, read
from sapwood.actors.environment import Environment
from sapwood.events.entries import Custom, KnownEntry, SessionInfo
from sapwood.events.errors import SessionInUse, StoreConflict
from sapwood.events.ids import EntryId
from sapwood.events.runtime import EntryAppended
from sapwood.store.port import Durability
from tests.build import MODEL, TIME, message_entry, user
from tests.faults.logs import append, assert_whole, rows, said, wired
from tests.store.stores import line
from tests.store.writer import running
from tests.talking import drain, talking


def custom(entry_id: str) -> KnownEntry:
    return Custom(id=EntryId(entry_id), parent_id=None, timestamp=TIME, custom_type="test", data=entry_id)


def named(entry_id: str) -> KnownEntry:
    return SessionInfo(id=EntryId(entry_id), parent_id=None, timestamp=TIME, name="a title")


def last_id(path: Path) -> str:
    """The tip, as another program reads it."""
    return str(rows(path)[-1]["id"])


def theirs(path: Path, entry_id: str, parent: str) -> bytes:
    """Another program appends a message, and takes no lock: the bytes that it wrote."""
    message = {"role": "user", "content": f"said {entry_id}", "timestamp": 1}
    written = line(entry_id, parent, "message", message=message) + b"\n"
    with path.open("ab", buffering=0) as file:
        assert file.write(written) == len(written)
    return written


async def test_e02_what_another_process_wrote_is_still_there_after_everything_that_we_write(tmp_path: Path) -> None:
    """E02: a title, a prompt and an extension's entry, each written while we did not know of theirs."""
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("first")
        acts: list[Callable[[], Awaitable[object]]] = [
            lambda: append(session, named("title")),
            lambda: append(session, custom("x")),
            lambda: session.prompt("second"),
        ]
        for number, act in enumerate(acts):
            before = path.read_bytes()
            b_lines = theirs(path, f"b{number}", last_id(path)) + theirs(path, f"c{number}", f"b{number}")
            await act()
            assert path.read_bytes().startswith(before + b_lines)
        assert said(session) == [
            *("first", "one", "said b0", "said c0", "said b1", "said c1", "said b2", "said c2", "second", "two")
        ]
        assert session.name == "a title"
    assert_whole(path)
    with read(path) as again:
        assert said(again) == said(session)


async def test_e02_what_comes_between_a_question_and_its_answer_is_still_there(tmp_path: Path) -> None:
    """E02: the other one writes while the model is asked, and while it has half a line to go."""
    path = tmp_path / "s.jsonl"
    async with talking(
        ScriptedAnswer(text="one", wait=0.01), ScriptedAnswer(text="two", wait=0.01), where=str(path)
    ) as session:
        await session.prompt("first")
        handle = session.submit("second")
        while len(session.entries()) < 3:
            await trio.lowlevel.checkpoint()
        b_line = theirs(path, "b", last_id(path))
        before = path.read_bytes()
        assert isinstance(await handle.outcome(), Delivered)
        assert path.read_bytes().startswith(before)
        assert before.endswith(b_line)
    assert_whole(path)
    with read(path) as again:
        assert said(again) == ["first", "one", "second", "said b", "two"]


@pytest.mark.parametrize("content", ["the same and more", "something else", "nothing"])
async def test_e02_a_file_that_another_process_put_in_the_place_of_ours_is_never_written_over(
    content: str, tmp_path: Path
) -> None:
    """E02: a rewriter renamed its own version over the file; ours is not the one at the path any more."""
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("first")
        more = line("b", last_id(path)) + b"\n"
        new = {"the same and more": path.read_bytes() + more, "something else": b"something\n", "nothing": b""}[content]
        (tmp_path / "new").write_bytes(new)
        (tmp_path / "new").rename(path)
        acts: list[Callable[[], Awaitable[object]]] = [
            lambda: session.prompt("second"),
            lambda: append(session, named("title")),
        ]
        for act in acts:
            with pytest.raises(StoreConflict, match="replaced"):
                await act()
            assert path.read_bytes() == new
        assert said(session) == ["first", "one"]
    assert path.read_bytes() == new
    assert [one.name for one in tmp_path.iterdir()] == ["s.jsonl"]


@pytest.mark.parametrize("durability", ["os", "disk"])
async def test_e04_a_hundred_tasks_and_eight_threads_write_one_new_session(
    durability: Durability, tmp_path: Path
) -> None:
    """E04: every entry once, one header, one chain, no exception."""
    path = tmp_path / "new" / "s.jsonl"
    async with wired(where=path, environment=Environment(), durability=durability) as (session, _):
        reader = session.events()
        assert not path.exists()

        async def task(number: int) -> None:
            for _ in range(number % 3):
                await trio.lowlevel.checkpoint()
            await append(session, custom(f"task-{number}"))

        def thread(number: int) -> None:
            for nth in range(10):
                trio.from_thread.run(append, session, custom(f"thread-{number}-{nth}"))

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(trio.to_thread.run_sync, thread, number)
            for number in range(100):
                nursery.start_soon(task, number)
        told = [event.entry_id for event in drain(reader) if isinstance(event, EntryAppended)]

    assert_whole(path)
    ids = [row["id"] for row in rows(path)[1:]]
    assert sorted(ids) == sorted(
        [f"task-{number}" for number in range(100)] + [f"thread-{n}-{nth}" for n in range(8) for nth in range(10)]
    )
    assert told == ids
    for number in range(8):
        mine = [one for one in ids if one.startswith(f"thread-{number}-")]
        assert mine == [f"thread-{number}-{nth}" for nth in range(10)], "each thread's in its order"
    with read(path) as again:
        assert again.damage == ()
        assert [entry.id for entry in again.entries()] == ids


RECORD: Final = {"pid": os.getpid(), "host": os.uname().nodename, "since": TIME, "process": "1"}
"""Of a process that is alive, and was started at another time than this says."""
RECORDS: Final = {
    "0 bytes": b"",
    "garbage": b"\x00\xff{]",
    "cut in the middle": json.dumps(RECORD).encode()[:20],
    "no record": b"[1, 2]\n",
    "a pid that is none": json.dumps({**RECORD, "pid": -1}).encode(),
    "a dead process": json.dumps({**RECORD, "pid": 2**22 - 3}).encode(),
    "a process that has the number now": json.dumps(RECORD).encode(),
    "a process that began in the future": json.dumps({**RECORD, "since": "2199-01-01T00:00:00.000Z"}).encode(),
    "another machine": json.dumps({**RECORD, "host": "elsewhere"}).encode(),
}


def lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def an_hour_ago() -> Environment:
    """The scripted world, its clock set back."""
    now = Environment.scripted(1)
    return Environment(now_ms=lambda: now.now_ms() - 3_600_000, random=now.random, run_sync=now.run_sync)


@pytest.mark.parametrize("clock", [Environment.scripted, an_hour_ago], ids=["now", "an hour ago"])
@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
async def test_e05_whatever_a_dead_owner_left_the_session_opens_at_once(
    record: bytes, clock: Callable[[], Environment], tmp_path: Path
) -> None:
    """E05: the record decides nothing; it is there for people."""
    path = tmp_path / "s.jsonl"
    async with talking("one", where=str(path)) as session:
        await session.prompt("first")
    lock_of(path).write_bytes(record)
    began = time.monotonic()
    async with talking("two", where=str(path), environment=clock()) as session:
        assert time.monotonic() - began < 1
        await session.prompt("second")
        is_a_record = record.startswith(b'{"pid":')  # anything else may be somebody's own file
        assert not is_a_record or json.loads(lock_of(path).read_bytes())["pid"] == os.getpid()
    assert is_a_record is not lock_of(path).exists()
    assert is_a_record or lock_of(path).read_bytes() == record
    with read(path) as again:
        assert said(again) == ["first", "one", "second", "two"]


@pytest.mark.parametrize("clock", [Environment.scripted, an_hour_ago], ids=["now", "an hour ago"])
@pytest.mark.parametrize("record", [*RECORDS.values(), None], ids=[*RECORDS, "no file"])
async def test_e05_a_live_owner_is_never_robbed_whatever_stands_in_its_record(
    record: bytes | None, clock: Callable[[], Environment], tmp_path: Path
) -> None:
    """E05: the second one is refused, may read, and harms nothing."""
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("first")
        lock_of(path).unlink()
        if record is not None:
            lock_of(path).write_bytes(record)
        before = path.read_bytes()
        for _ in range(2):
            with pytest.raises(SessionInUse):
                async with talking("stolen", where=str(path), environment=clock()) as thief:
                    await thief.prompt("mine now")
        with read(path) as reader:
            assert said(reader) == ["first", "one"]
        assert path.read_bytes() == before
        assert (lock_of(path).read_bytes() if record is not None else None) == record
        await session.prompt("second")
    async with talking("three", where=str(path)) as session:
        await session.prompt("third")
    assert_whole(path)


@pytest.mark.slow
async def test_e05_a_killed_owner_is_followed_within_a_second_and_a_live_one_is_named(tmp_path: Path) -> None:
    """E05: between two processes."""
    path = tmp_path / "s.jsonl"
    with running(sys.executable, "-m", "tests.faults.child", "hold", str(path)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        with pytest.raises(SessionInUse) as caught:
            async with talking("stolen", where=str(path), environment=an_hour_ago()):
                raise AssertionError("it was stolen")
        assert caught.value.owner is not None
        assert (caught.value.owner.pid, caught.value.owner.host) == (child.pid, os.uname().nodename)
        child.kill()
        child.wait()
        assert lock_of(path).exists(), "it had no time to clean up"
        began = time.monotonic()
        async with talking("no, mine", where=str(path), environment=an_hour_ago()) as session:
            assert time.monotonic() - began < 1
            assert said(session) == ["is this mine?", "yes"]
            await session.prompt("is it free?")
    assert not lock_of(path).exists()
    assert_whole(path)


ROUNDS: Final = 1000


class Crowd:
    """Everybody who may say something in a session, and what was promised to them."""

    def __init__(self, session: Session, path: Path, seed: int) -> None:
        self.session = session
        self.path = path
        self.draw = random.Random(seed)  # noqa: S311 - the same each time
        self.delivered: set[str] = set()
        self.refused: set[str] = set()

    async def submit(self, number: int) -> None:
        """A person: one at a time gets the tree, and others hear so."""
        handle = self.session.submit(f"submit {number}")
        try:
            outcome = await handle.outcome()
        except Refused:
            self.refused.add(handle.entry_id)
        else:
            assert isinstance(outcome, Delivered)
            assert outcome.error is None
            self.delivered.add(outcome.entry_id)

    async def say(self, number: int) -> None:
        """An extension."""
        entry = message_entry(f"say-{number}", user("x"), "made up")
        self.delivered.update((await append(self.session, entry)).entry_ids)

    def say_from_thread(self, number: int) -> None:
        trio.from_thread.run(self.say, number)

    async def foreign(self, number: int) -> None:
        """Another process, which has read the file just now."""
        if self.path.exists():
            theirs(self.path, f"foreign-{number}", last_id_of(self.path))
            self.delivered.add(f"foreign-{number}")

    async def one(self, number: int) -> None:
        for _ in range(self.draw.randrange(20)):
            await trio.lowlevel.checkpoint()
        match self.draw.randrange(10):
            case 0 | 1 | 2 | 3:
                await self.submit(number)
            case 4 | 5 | 6 | 7:
                await self.say(number)
            case 8:
                await trio.to_thread.run_sync(self.say_from_thread, number)
            case _:
                await self.foreign(number)


def last_id_of(path: Path) -> str:
    """The same as `last_id`, of a file of a thousand lines."""
    *_, last = path.read_bytes().splitlines()
    return str(msgspec.json.decode(last)["id"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_e06_whatever_is_delivered_from_wherever_is_on_the_one_path_to_the_leaf(
    seed: int, tmp_path: Path
) -> None:
    """E06, as far as it goes without queues: a thousand messages of people, extensions, threads and another process, while runs go on."""
    path = tmp_path / "s.jsonl"
    runtime = Runtime(
        providers=[Scripted({"turn": [ScriptedAnswer(text="so " * 5)] * ROUNDS})], environment=Environment()
    )
    async with runtime.open_session(path, model=MODEL) as session:
        crowd = Crowd(session, path, seed)
        for first in range(0, ROUNDS, 50):
            async with trio.open_nursery() as nursery:
                for number in range(first, first + 50):
                    nursery.start_soon(crowd.one, number)
        await session.prompt("the end")
        tree = session.tree()
        on_path = {tree.id(place) for place in tree.path(tree.leaf)}

    assert {one.partition("-")[0] for one in crowd.delivered} > {"say", "foreign"}
    assert len(crowd.delivered) > ROUNDS // 3
    assert crowd.refused, "the test is about a crowd"
    assert crowd.delivered <= on_path
    assert not crowd.refused & {row["id"] for row in rows(path)[1:]}
    assert_whole(path)


async def test_e06_a_message_from_a_thread_is_under_the_tip_at_the_moment_it_is_delivered(tmp_path: Path) -> None:
    """E06: while twenty entries are appended; the tip when it was sent is old by then."""
    path = tmp_path / "s.jsonl"
    async with wired("one", where=path, environment=Environment()) as (session, _):
        await session.prompt("first")
        tip = session.entries()[-1].id

        def host(number: int) -> None:
            entry = message_entry(f"host-{number}", user("from a thread"), tip)
            trio.from_thread.run(append, session, entry)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(trio.to_thread.run_sync, host, number)
                await append(session, custom(f"tool-{number}"))
        ids = [entry.id for entry in session.entries()]
        assert [entry.parent_id for entry in session.entries()] == [None, *ids[:-1]]
        assert {f"host-{number}" for number in range(20)} < {*ids}
    assert_whole(path)
