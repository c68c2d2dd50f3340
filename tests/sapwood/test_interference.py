"""Two writers, readers beside a writer, and a file that somebody else touches while a session has it open (S7, S9, S10)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import trio

from sapwood import Published, Runtime, Scripted, ScriptedAnswer
from sapwood.actors.environment import Environment
from sapwood.events.commands import Delivered
from sapwood.events.errors import ReadOnly, SessionInUse, StoreConflict, StoreError
from sapwood.events.runtime import DamageFound, Diagnostic, EntryAppended
from sapwood.reading import read
from tests.build import MODEL
from tests.talking import drain, talking


def runtime() -> Runtime:
    script = [ScriptedAnswer(text=f"answer {number}") for number in range(9)]
    return Runtime(providers=[Scripted({"turn": script})], environment=Environment.scripted())


def texts(path: Path) -> list[str]:
    """What is said in a file, line by line."""
    said: list[str] = []
    for line in path.read_bytes().splitlines()[1:]:
        content = json.loads(line)["message"]["content"]
        said.append(content if isinstance(content, str) else content[0]["text"])
    return said


def theirs(path: Path, parent: str | None, text: str = "theirs") -> None:
    """Another program appends a message, as Pi does: without a lock."""
    message = {"role": "user", "content": text, "timestamp": 1}
    entry = {"type": "message", "id": text, "parentId": parent, "timestamp": "", "message": message}
    with path.open("ab") as file:
        file.write(json.dumps(entry).encode() + b"\n")


async def test_a_second_writer_is_told_who_the_first_one_is(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", where=str(path)) as session:
        await session.prompt("hi")
        with pytest.raises(SessionInUse) as caught:
            async with talking(where=str(path)):
                raise AssertionError("a second writer was let in")

        assert caught.value.owner is not None
        assert caught.value.owner.pid == os.getpid()
    async with talking("two", where=str(path)) as again:
        await again.prompt("and again")
    assert texts(path) == ["hi", "one", "and again", "two"]


async def test_who_only_reads_may_read_beside_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("hi")
        async with runtime().open_session(path, model=MODEL, read_only=True) as reader:
            assert [entry.id for entry in reader.entries()] == [entry.id for entry in session.entries()]
            with pytest.raises(ReadOnly):
                await reader.prompt("no")
            assert len(reader.entries()) == 2
        await session.prompt("on")
    assert texts(path) == ["hi", "one", "on", "two"]


async def test_what_another_program_appends_is_taken_in_told_and_built_upon(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("hi")
        theirs(path, session.tree().id(1))
        reader = session.events()

        await session.prompt("on")

        appended = [event.entry_id for event in drain(reader) if isinstance(event, EntryAppended)]
        assert appended[0] == "theirs"
        assert [item.entry_id for item in session.context().items][2:3] == ["theirs"]
    assert texts(path) == ["hi", "one", "theirs", "on", "two"]
    with read(path) as again:
        assert len(again.context().items) == 5


async def test_damage_that_another_program_leaves_is_told_when_it_is_read_in(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("hi")
        with path.open("ab") as file:
            file.write(b"rubbish\n")
        reader = session.events()

        await session.prompt("on")

        (found,) = [event for event in drain(reader) if isinstance(event, DamageFound)]
        assert [(one.kind, one.line) for one in found.records] == [("garbage", 4)]
        assert session.damage == found.records


async def test_a_file_that_was_deleted_is_put_back_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("hi")
        before = path.read_bytes()
        path.unlink()
        with pytest.raises(StoreConflict, match="deleted"):
            await session.prompt("lost?")
        assert not path.exists()
        assert len(session.entries()) == 2

        assert await session.restore() is None
        assert path.read_bytes() == before
        await session.prompt("on")
    assert texts(path) == ["hi", "one", "on", "two"]


async def test_a_file_that_was_replaced_is_put_back_and_the_other_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("hi")
        before = path.read_bytes()
        path.rename(tmp_path / "moved")
        path.write_bytes(b"another\n")
        with pytest.raises(StoreConflict, match="replaced"):
            await session.prompt("lost?")
        assert path.read_bytes() == b"another\n"

        moved = await session.restore()

        assert moved is not None
        assert Path(moved).read_bytes() == b"another\n"
        assert path.read_bytes() == before
        await session.prompt("on")
    assert texts(path) == ["hi", "one", "on", "two"]
    with read(path) as again:
        assert len(again.entries()) == 4


async def test_damage_is_told_once_when_a_session_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", where=str(path)) as session:
        await session.prompt("hi")
    path.write_bytes(path.read_bytes() + b'{"type":"mess')

    async with runtime().open_session(path, model=MODEL) as session:
        reader = session.events(since=0)
        (found,) = [event for event in drain(reader) if isinstance(event, DamageFound)]
        assert [one.kind for one in found.records] == ["torn_tail"]
        assert session.damage == found.records
        await session.prompt("on")
        assert not [event for event in drain(reader) if isinstance(event, DamageFound)]
        assert len(session.entries()) == 4
    with read(path) as again:
        assert len(again.entries()) == 4
        assert [one.kind for one in again.damage] == ["cut_line"]


async def test_a_clean_file_tells_of_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", where=str(path)) as session:
        await session.prompt("hi")
        assert [type(item) for item in drain(session.events(since=0)) if isinstance(item, DamageFound)] == []
        assert session.damage == ()


async def test_memory_may_be_dropped_behind_every_append(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """At every append of a run: what the host was told of is in the bytes, and the bytes open."""
    path = tmp_path / "s.jsonl"
    told: list[str] = []
    images: list[tuple[list[str], bytes]] = []

    async with talking("one", "two", "three", where=str(path)) as session, trio.open_nursery() as nursery:
        reader = session.events()

        async def watch() -> None:
            async for item in reader:
                if isinstance(item, Published) and isinstance(item.event, EntryAppended):
                    told.append(item.event.entry_id)
                    images.append(([*told], path.read_bytes()))

        nursery.start_soon(watch)
        for text in ("a", "b", "c"):
            await session.prompt(text)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert len(images) == 6
    for number, (known, image) in enumerate(images):
        copy = tmp_path / f"{number}.jsonl"
        copy.write_bytes(image)
        with read(copy) as again:
            assert [entry.id for entry in again.entries()][: len(known)] == known
            assert again.damage == ()


async def test_an_answer_stays_with_its_question_when_another_program_begins_a_branch(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """It used to hang under the other program's message, and the question was gone from the context."""
    path = tmp_path / "s.jsonl"
    async with talking("one", ScriptedAnswer(text="two", wait=1), where=str(path)) as session:
        await session.prompt("first")
        reader = session.events()
        handle = session.submit("second")
        await trio.sleep(0.5)
        theirs(path, None)
        outcome = await handle.outcome()

        assert isinstance(outcome, Delivered)
        assert not outcome.failed
        said = [item.entry_id for item in session.context().items]
        assert len(said) == 4
        assert "theirs" not in said
        assert "theirs" in [entry.id for entry in session.entries()]
        assert [event.code for event in drain(reader) if isinstance(event, Diagnostic)] == ["leaf_moved"]
    assert texts(path) == ["first", "one", "second", "theirs", "two"]
    with read(path) as again:
        assert [item.entry_id for item in again.context().items] == said


async def test_an_answer_hangs_behind_what_another_program_wrote_behind_its_question(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """So that nobody's words land on a branch that nobody sees."""
    path = tmp_path / "s.jsonl"
    async with talking("one", ScriptedAnswer(text="two", wait=1), where=str(path)) as session:
        await session.prompt("first")
        reader = session.events()
        handle = session.submit("second")
        await trio.sleep(0.5)
        theirs(path, session.tree().id(2))
        await handle.outcome()

        assert "theirs" in [item.entry_id for item in session.context().items]
        assert len(session.context().items) == 5
        assert not [event for event in drain(reader) if isinstance(event, Diagnostic)]


@pytest.mark.parametrize("system_prompt", [None, "You help."])
async def test_a_file_that_was_cut_refuses_each_prompt_and_breaks_nothing(
    system_prompt: str | None, tmp_path: Path
) -> None:
    """The third prompt of a session with a system prompt used to break it for good: `projection crashed too often`."""
    path = tmp_path / "s.jsonl"
    async with talking("one " * 99, "two", where=str(path)) as session:
        await session.prompt("hi")
    async with talking(where=str(path), system_prompt=system_prompt) as again:
        os.truncate(path, 300)
        for _ in range(4):
            with pytest.raises(StoreError, match="somebody else"):
                await again.prompt("more")
