"""D: what happens to a log's file while it is written, by others and by us: interference, kills, closing, and what is written at all."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import pytest
import trio
import trio.testing

from sapwood import (
    Delivered,
    Finish,
    Request,
    Runtime,
    SapwoodError,
    Scripted,
    ScriptedAnswer,
    ToolResult,
    read,
)
from sapwood.actors.environment import Environment
from sapwood.actors.model.providers.base import Piece
from sapwood.events.base import Json, is_array, is_object
from sapwood.events.deltas import ToolCallDelta, ToolCallEnd, ToolCallStart
from sapwood.events.entries import MessageEntry, ModelChange, ThinkingLevelChange
from sapwood.events.errors import StoreConflict
from sapwood.events.ids import EntryId, ToolCallId
from sapwood.events.messages import AssistantMessage
from sapwood.events.runtime import EntryAppended
from tests.build import MODEL, TIME, call
from tests.faults.logs import (
    LOOKING,
    append,
    assert_whole,
    cli,
    lines_of,
    nth_id,
    nth_message,
    rows,
    said,
    wired,
)
from tests.store.faults import FaultyDisk
from tests.store.stores import DATA, HEAD, Watched
from tests.store.writer import running
from tests.talking import drain, talking

T = TypeVar("T")


def delete(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    path.with_name("other").write_bytes(b"something else\n")
    path.with_name("other").rename(path)


def truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 30])


def empty(path: Path) -> None:
    path.write_bytes(b"")


Meddle = Callable[[Path], None]

TAKEN: Final[dict[Meddle, str]] = {delete: "deleted", replace: "replaced"}
SHORTENED: Final[tuple[Meddle, ...]] = (truncate, empty)


def bytes_at(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize("meddle", TAKEN)
async def test_d06_a_file_that_is_taken_away_between_two_appends_is_a_typed_error_and_can_be_put_back(
    meddle: Meddle, tmp_path: Path
) -> None:
    """D06: never a headless file, and nothing that was acknowledged is lost."""
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("first")
        before = path.read_bytes()
        meddle(path)
        theirs = bytes_at(path)
        for _ in range(2):
            with pytest.raises(StoreConflict) as caught:
                await session.prompt("lost?")
            assert (caught.value.what, caught.value.path) == (TAKEN[meddle], str(path))
            assert bytes_at(path) == theirs
            assert said(session) == ["first", "one"]

        moved = await session.restore()
        assert path.read_bytes() == before
        assert (None if moved is None else Path(moved).read_bytes()) == theirs
        await session.prompt("second")
    assert_whole(path)
    with read(path) as again:
        assert said(again) == ["first", "one", "second", "two"]


@pytest.mark.parametrize("meddle", SHORTENED)
async def test_d06_a_file_that_is_cut_short_between_two_appends_is_a_typed_error_and_stays_as_it_is(
    meddle: Meddle, tmp_path: Path
) -> None:
    """D06: what is gone cannot be put back; the session can be read, and be opened again."""
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("first")
        meddle(path)
        theirs = path.read_bytes()
        with pytest.raises(StoreConflict) as caught:
            await session.prompt("lost?")
        assert caught.value.what == "shortened"
        with pytest.raises(StoreConflict):
            await session.restore()
        assert path.read_bytes() == theirs
    assert path.read_bytes() == theirs
    async with talking("two", where=str(path)) as session:
        await session.prompt("second")
        assert said(session)[-2:] == ["second", "two"]
    assert path.read_bytes().startswith(theirs)
    assert rows_that_are_whole(path)[0]["type"] == "session"


def rows_that_are_whole(path: Path) -> list[dict[str, Json]]:
    with read(path) as session:
        lost = {one.line for one in session.damage}
    lines = path.read_bytes().splitlines()
    return [json.loads(one) for number, one in enumerate(lines, 1) if number not in lost]


class Meddling:
    """Does something to the world while it is asked, and answers then."""

    id = "scripted"

    def __init__(self, act: Callable[[], None], *answers: str) -> None:
        self._act = act
        self._answers = Scripted({"turn": [ScriptedAnswer(text=answer) for answer in answers]})

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        self._act()
        return self._answers.stream(request)


@pytest.mark.parametrize("meddle", [*TAKEN, *SHORTENED])
async def test_d06_a_file_that_is_touched_in_the_middle_of_a_run_does_not_end_in_a_success(
    meddle: Meddle, tmp_path: Path
) -> None:
    """D06: the question is in the log that was taken away, the answer is nowhere: the outcome says so."""
    path = tmp_path / "s.jsonl"
    runtime = Runtime(providers=[Meddling(lambda: meddle(path), "never kept")], environment=Environment.scripted())
    async with runtime.open_session(path, model=MODEL) as session:
        outcome = await session.prompt("first")
        assert isinstance(outcome, Delivered)
        assert outcome.answer is None
        assert outcome.error is not None
        assert TAKEN.get(meddle, "shortened") in outcome.error
        assert said(session) == ["first"] if meddle in TAKEN else True
        left = bytes_at(path)
        assert not left or left.startswith((b"something else", HEAD[:10]))
        assert b"never kept" not in (left or b"")


async def test_d06_nobody_is_accused_when_a_beginning_of_ours_that_failed_made_room_for_another_file(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """D06, the other way round: a new file that could not be hardened is taken away and made again, and is not somebody else's then."""
    disk, path = FaultyDisk(), tmp_path / "s.jsonl"
    async with talking(
        "one", where=str(path), environment=Environment.scripted(disk=disk), durability="disk"
    ) as session:
        with disk.failing(5, names=("sync",)):
            handle = session.submit("first")
            await trio.sleep(1)
            assert not path.exists(), "the test is about a file that was taken away again"
        (tmp_path / "other").write_bytes(b"it may have the number that the file had")
        assert isinstance(await handle.outcome(), Delivered)
        assert said(session) == ["first", "one"]
    assert_whole(path)


@pytest.mark.slow
def test_d07_a_prompt_that_was_accepted_survives_a_kill_while_the_provider_says_nothing(tmp_path: Path) -> None:
    """D07: and the id of the session that was told is the one in the file."""
    path = tmp_path / "new" / "s.jsonl"
    with running(sys.executable, "-m", "tests.faults.child", "stall", str(path)) as child:
        assert child.stdout is not None
        session_id, entry_id = child.stdout.readline().decode().split()
        child.kill()
        assert child.wait() == -9

    with read(path) as session:
        assert session.header.id == session_id
        assert [entry.id for entry in session.entries()] == [entry_id]
        assert said(session) == ["do not lose this"]
        assert session.damage == ()


async def test_d07_the_header_and_the_prompt_are_on_disk_when_the_provider_is_asked(tmp_path: Path) -> None:
    """D07: seen from the provider."""
    path = tmp_path / "new" / "s.jsonl"
    seen: list[list[str]] = []

    def look() -> None:
        with read(path) as session:
            seen.append(said(session))

    runtime = Runtime(providers=[Meddling(look, "yes", "yes")], environment=Environment.scripted())
    async with runtime.open_session(path, model=MODEL) as session:
        await session.prompt("first")
        await session.prompt("second")
    assert seen == [["first"], ["first", "yes", "second"]]


LATEST: Final = 0.03
"""Seconds from the opening to the kill, at most: some twenty entries."""


@contextmanager
def killer(path: Path) -> Generator[Callable[[int, float], list[str]]]:
    """What starts a talking process in `path` and kills it, and says what that one was told is in the log."""
    with running(sys.executable, "-m", "tests.faults.child", "kills", str(path)) as child:

        def kill(seed: int, seconds: float) -> list[str]:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(f"{seed} {seconds}\n".encode())
            child.stdin.flush()
            heard: list[str] = json.loads(child.stdout.readline())
            return heard

        yield kill


def talked_and_killed(path: Path, seeds: range) -> tuple[int, int]:
    """Kill one process after the other in one session; how many entries were acknowledged, and how many tails were torn."""
    acknowledged: list[str] = []
    torn = 0
    with killer(path) as kill:
        for seed in seeds:
            acknowledged += kill(seed, random.Random(seed).uniform(0, LATEST))  # noqa: S311 - any moments will do
            if not path.exists():
                assert acknowledged == []
                continue
            # runs of one letter are the worst that a tokenizer can meet
            with read(path, counter="heuristic") as session:
                held = [entry.id for entry in session.entries()]
                lost = [one.kind for one in session.damage if one.kind != "blank_line"]
                assert set(lost) <= {"torn_tail", "cut_line"}
                assert torn <= len(lost) <= torn + 1, "at most one partial tail a kill"
                torn = len(lost)
                assert session.context().gaps == {}
            assert len(set(held)) == len(held)
            assert is_within(acknowledged, held)
            # of each kill: what was acknowledged, and the two entries at most that it had no time to tell of
            assert len(held) <= len(acknowledged) + 2 * (seed - seeds.start + 1)
    return len(acknowledged), torn


def is_within(some: Sequence[str], all_of_them: Sequence[str]) -> bool:
    """Whether these are there, in this order."""
    rest = iter(all_of_them)
    return all(one in rest for one in some)


@pytest.mark.slow
async def test_d10_what_was_acknowledged_before_a_kill_is_there_and_the_next_session_goes_on(tmp_path: Path) -> None:
    """D10, five times."""
    path = tmp_path / "s.jsonl"
    acknowledged, torn = talked_and_killed(path, range(5))
    assert acknowledged > 0
    wide = msgspec.structs.replace(
        MODEL, context_window=1_000_000_000
    )  # who is killed late has said more than most windows hold
    async with talking("here I am", where=str(path), model=wide) as session:
        await session.prompt("anybody there?")
    with read(path) as again:
        assert said(again)[-2:] == ["anybody there?", "here I am"]
        assert len([one for one in again.damage if one.severity == "lost"]) == torn


@pytest.mark.full
@pytest.mark.slow
def test_d10_what_was_acknowledged_before_any_of_200_kills_is_there(tmp_path: Path) -> None:
    """D10, in ten files: a file of all would be read 200 times."""
    for first in range(1000, 1200, 20):
        acknowledged, _ = talked_and_killed(tmp_path / f"{first}.jsonl", range(first, first + 20))
        assert acknowledged > 0


def slow_disk() -> tuple[Environment, trio.Event, trio.Event]:
    """A world whose disk begins to harden what it was given, and ends when it may: begun, and may end."""
    begun, may_end = trio.Event(), trio.Event()

    async def run_sync(function: Callable[[], T], /) -> T:
        begun.set()
        await may_end.wait()
        return function()

    scripted = Environment.scripted()
    return Environment(now_ms=scripted.now_ms, random=scripted.random, run_sync=run_sync), begun, may_end


async def test_d10_closing_waits_for_what_is_being_written(tmp_path: Path) -> None:
    """D10: what was acknowledged is there, and everybody has an answer; what closing cut off may be there, as after any crash."""
    path = tmp_path / "s.jsonl"
    environment, begun, may_end = slow_disk()
    kept: list[str] = []
    refused: list[SapwoodError] = []

    async def one(number: int) -> None:
        try:
            kept.extend((await append(session, nth_message(number))).entry_ids)
        except SapwoodError as error:
            refused.append(error)

    async with trio.open_nursery() as nursery:
        async with wired(where=path, environment=environment, durability="disk") as (session, _):
            reader = session.events()
            for number in range(20):
                nursery.start_soon(one, number)
            await begun.wait()
            assert kept == []
            nursery.start_soon(when_all_wait, may_end)
        assert may_end.is_set(), "closing waited"
        at_the_end = path.read_bytes()

    assert path.read_bytes() == at_the_end, "nothing is written behind the end"
    assert_whole(path)
    with read(path) as again:
        held = [entry.id for entry in again.entries()]
    assert {*kept} <= {*held} <= {nth_id(number) for number in range(20)}
    assert held == [event.entry_id for event in drain(reader) if isinstance(event, EntryAppended)]
    assert held
    assert len(kept) + len(refused) == 20


async def test_d10_of_a_prompt_that_closing_cuts_off_outcome_and_file_say_the_same(tmp_path: Path) -> None:
    """D10: the question is being hardened while the session is left."""
    path = tmp_path / "s.jsonl"
    environment, begun, may_end = slow_disk()
    async with trio.open_nursery() as nursery:
        async with wired("yes", where=path, environment=environment, durability="disk") as (session, _):
            handle = session.submit("first")
            await begun.wait()
            nursery.start_soon(when_all_wait, may_end)
        assert may_end.is_set(), "closing waited"
    outcome = await handle.outcome()
    assert isinstance(outcome, Delivered)
    with read(path) as again:
        assert again.entries()[0].id == outcome.entry_id
        assert said(again)[0] == "first"
    assert_whole(path)


async def when_all_wait(event: trio.Event) -> None:
    """Set it when nothing else can go on: then somebody waits for it."""
    await trio.testing.wait_all_tasks_blocked()
    event.set()


FILES: Final = ("v1.jsonl", "v2.jsonl", "pi-ringing-v3.jsonl", "pi-all-kinds.jsonl", "ours", "torn", "empty")


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
async def test_d13_a_session_that_is_only_opened_and_looked_at_stays_as_it_is(name: str, tmp_path: Path) -> None:
    """D13: fifty times; and nothing is left beside it."""
    path = tmp_path / "s.jsonl"
    if name.endswith(".jsonl"):
        shutil.copy(DATA / name, path)
    else:
        ours = b"".join(one + b"\n" for one in lines_of([nth_message(nth) for nth in range(6)]))
        path.write_bytes({"ours": ours, "torn": ours[:-20], "empty": b""}[name])
    watched = Watched(path)
    for _ in range(50):
        async with talking("unsaid", where=str(path)) as session:
            assert session.context() == session.context()
            assert session.context_usage(MODEL) is not None
            await session.abort()
        with read(path) as reading:
            assert len(reading.entries()) == len(reading.tree())
            assert len(said(reading)) == len(session.context().messages)
    for command in LOOKING:
        cli(command, path)
    watched.assert_untouched()
    assert [one.name for one in tmp_path.iterdir()] == ["s.jsonl"]


async def test_d16_the_model_and_the_thinking_level_are_the_logs_after_a_restart_and_nobody_elses(
    tmp_path: Path,
) -> None:
    """D16, as far as the log can tell: it is all that there is."""
    path = tmp_path / "here" / "s.jsonl"
    async with wired("one", where=path) as (session, _):
        await session.prompt("first")
        await append(
            session,
            ModelChange(id=EntryId("m"), parent_id=None, timestamp=TIME, provider="other", model_id="thinker"),
            ThinkingLevelChange(id=EntryId("t"), parent_id=None, timestamp=TIME, thinking_level="high"),
        )
        before = session.context()
        assert (before.model, before.thinking_level) == (("other", "thinker"), "high")
    assert [one.name for one in path.parent.iterdir()] == ["s.jsonl"], "no second truth beside it"

    elsewhere = tmp_path / "s.jsonl"
    shutil.move(path, elsewhere)
    shutil.rmtree(path.parent)
    with read(elsewhere, counter="heuristic") as again:
        assert again.context() == before
    shown = cli("show", "--json", elsewhere)
    facts = json.loads(shown.output)
    assert (facts["model"], facts["thinkingLevel"]) == ({"provider": "other", "id": "thinker"}, "high")
    async with wired("two", where=elsewhere) as (session, requests):
        await session.prompt("second")
        assert requests[0].thinking_level == "high"


DELTAS: Final = 2000


class Streaming:
    """A provider whose one answer is a call with an argument of 200 kB, in pieces of 100 bytes."""

    id = "scripted"

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        yield self._pieces()

    async def _pieces(self) -> AsyncGenerator[Piece, None]:
        piece = "0123456789" * 10
        yield ToolCallStart(content_index=0, id=ToolCallId("c1"), tool_name="write")
        yield ToolCallDelta(content_index=0, delta='{"text":"')
        for _ in range(DELTAS):
            yield ToolCallDelta(content_index=0, delta=piece)
        yield ToolCallDelta(content_index=0, delta='"}')
        yield ToolCallEnd(content_index=0, tool_call=call("c1", "write", text=piece * DELTAS))
        yield Finish(stop_reason="toolUse")


async def write(text: str) -> ToolResult:
    return ToolResult(content=f"{len(text)} characters", terminate=True)


def test_d18_an_answer_that_came_in_many_pieces_is_stored_once(tmp_path: Path) -> None:
    """D18: no more than its content and a fifth."""
    path = tmp_path / "s.jsonl"

    async def talk() -> None:
        runtime = Runtime(providers=[Streaming()], environment=Environment.scripted())
        async with runtime.open_session(path, model=MODEL, tools=[write]) as session:
            await session.prompt("write a lot")
            answer = session.entries()[-2]
            assert isinstance(answer, MessageEntry)
            assert isinstance(answer.message, AssistantMessage)
            assert answer.message.content == (call("c1", "write", text="0123456789" * 10 * DELTAS),)

    trio.run(talk)
    *_, stored, _ = path.read_bytes().splitlines()
    content = len(msgspec.json.encode(json.loads(stored)["message"]["content"]))
    assert content > 100 * DELTAS
    assert len(stored) <= 1.2 * content
    assert path.stat().st_size <= 1.2 * content + 1000, "with a header, the tool, a question and a result"
    names = set(keys_of(rows(path)))
    assert [name for name in names if "delta" in name.lower() or "partial" in name.lower()] == []
    assert "toolcall_" not in path.read_text(encoding="utf-8")


def keys_of(value: Json) -> Iterable[str]:
    """The name of every field, however deep."""
    if is_object(value):
        for key, item in value.items():
            yield key
            yield from keys_of(item)
    elif is_array(value):
        for item in value:
            yield from keys_of(item)
