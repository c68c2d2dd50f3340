"""The real Pi opens what we wrote, and we open what it wrote."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sapwood import ScriptedAnswer, read
from sapwood.events.messages import Message, Usage
from sapwood.events.unknown_fields import split
from tests.build import usage, words
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle
from tests.real import REAL, needs_real
from tests.sapwood.summarizing import compacting, compactions, long
from tests.talking import talking

pytestmark = pytest.mark.interop

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(name="pi", scope="module")
def _pi() -> Generator[Oracle]:
    try:
        with Oracle() as oracle:
            yield oracle
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


def opened(pi: Oracle, path: Path) -> dict[str, Any]:
    answer: dict[str, Any] = pi.ask({"op": "open", "path": str(path)})
    assert answer["changed"] is False, "Pi found nothing to mend"
    return answer


def assert_same(pi: Oracle, path: Path) -> None:
    """Pi and we see the same entries, leaf, path and context."""
    seen = opened(pi, path)
    with read(path) as session:
        tree, context = session.tree(), session.context()
        assert [(entry["id"], entry["parentId"]) for entry in seen["entries"]] == [
            (entry.id, entry.parent_id) for entry in session.entries()
        ]
        assert (seen["leaf"], seen["path"]) == (context.leaf, [tree.id(index) for index in tree.path(tree.leaf)])
        # fields that no version of Pi names stay in the log, and are no part of what the model sees
        assert [(item["source"], split(item["message"], Message)[0]) for item in seen["context"]] == [
            (item.entry_id, json.loads(msgspec.json.encode(item.message))) for item in context.items
        ]


async def test_pi_opens_a_session_of_ours(pi: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "ours.jsonl"
    async with talking(
        ScriptedAnswer(text="Hello – 漢字 😀", usage=usage(12)),
        ScriptedAnswer(error="overloaded"),
        "fine",
        where=str(path),
    ) as session:
        for text in ("hi", "line\u2028separator\tand \x01 control", "again"):
            await session.prompt(text)

    assert_same(pi, path)


async def test_pi_adds_up_the_usage_of_a_session_of_ours(pi: Oracle, tmp_path: Path) -> None:
    """Pi's sums take every answer to have its costs: one without them used to stop its footer."""
    path = tmp_path / "ours.jsonl"
    async with talking(
        ScriptedAnswer(text="x", usage=Usage(input=3, output=4, cache_read=5, cache_write=0)), "y", where=str(path)
    ) as session:
        await session.prompt("hi")
        await session.prompt("again")

    totals = pi.ask({"op": "totals", "path": str(path)})["totals"]

    assert totals == {"input": 3, "output": 4, "cacheRead": 5, "cacheWrite": 0, "cost": 0}


@pytest.mark.parametrize("name", ["pi-all-kinds", "pi-ringing-v3"])
async def test_pi_goes_on_with_a_session_of_its_own_that_we_went_on_with(pi: Oracle, name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    before = (DATA / f"{name}.jsonl").read_bytes()
    path.write_bytes(before)

    async with talking("And so it goes on.", where=str(path)) as session:
        await session.prompt("go on")

    assert path.read_bytes().startswith(before)
    assert_same(pi, path)
    reply = {"what": "message", "message": {"role": "user", "content": "and Pi again", "timestamp": 1_772_352_000_000}}
    pi.ask({"op": "append", "path": str(path), "appends": [reply]})
    assert_same(pi, path)
    async with talking("Once more.", where=str(path), seed=3) as session:
        await session.prompt("and we again")
    assert_same(pi, path)


async def test_pi_opens_the_version_3_session_that_a_version_1_file_became(pi: Oracle, tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    old.write_bytes((DATA / "v1.jsonl").read_bytes())
    async with talking("Taken up.", where=str(old)) as session:
        await session.prompt("go on")
        path = Path(session.path)

    assert path != old
    assert old.read_bytes() == (DATA / "v1.jsonl").read_bytes()
    assert_same(pi, path)


@needs_real
async def test_the_real_session_is_taken_up_beside_its_file(pi: Oracle, tmp_path: Path) -> None:
    old = tmp_path / "real.jsonl"
    old.write_bytes(REAL.read_bytes())
    with read(old) as before:
        ids = [entry.id for entry in before.entries()]
        selected = [item.entry_id for item in before.context().items]
    async with talking("one", "two", where=str(old)) as session:
        await session.prompt("go on")
        path = Path(session.path)
        first = path.read_bytes()
        await session.prompt("and on")

    assert path.read_bytes().startswith(first), "the second prompt appends only"
    assert old.read_bytes() == REAL.read_bytes()
    with read(path) as after:
        assert [entry.id for entry in after.entries()][: len(ids)] == ids
        assert [item.entry_id for item in after.context().items][: len(selected)] == selected
        assert len(after.entries()) == len(ids) + 5, "two prompts, two answers and the mark of the fork"
    assert_same(pi, path)


async def test_pi_may_append_to_a_session_that_we_have_open(pi: Oracle, tmp_path: Path) -> None:
    """S9: Pi takes no lock. What it appends is read in, and all three see one file."""
    path = tmp_path / "shared.jsonl"
    async with talking("one", "two", where=str(path)) as session:
        await session.prompt("first")
        said = {"role": "user", "content": [{"type": "text", "text": "from Pi"}], "timestamp": 1}
        appended = pi.ask({"op": "append", "path": str(path), "appends": [{"what": "message", "message": said}]})
        assert "error" not in appended

        await session.prompt("second")

        assert [message.role for message in session.context().messages] == [
            "user",
            "assistant",
            "user",
            "user",
            "assistant",
        ]
        assert session.damage == ()
    assert_same(pi, path)


async def test_pi_sees_what_we_see_of_a_session_that_was_compacted_three_times(pi: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "compacted.jsonl"
    async with compacting(*(long(f"a{at}") for at in range(12)), where=path, system_prompt="You help.") as (session, _):
        for at in range(3):
            for nth in range(3):
                await session.prompt(long(f"u{at}{nth}"))
            await session.edit(session.entries()[-1].id, None)
            await session.compact()
            assert_same(pi, path)
        await session.prompt("And now?")

        assert len(compactions(session)) >= 3
    assert_same(pi, path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pi-all-kinds", "pi-ringing-v3"])
async def test_pi_stands_where_a_move_of_ours_ended(pi: Oracle, name: str, tmp_path: Path) -> None:
    """S6: neither of the two remembers a move by itself. Each is told in the log, and the file is closed and opened again behind it."""
    path = tmp_path / "s.jsonl"
    path.write_bytes((DATA / f"{name}.jsonl").read_bytes())
    with read(path) as session:
        entries = session.entries()
    for target in (None, *(entry.id for entry in entries[:: max(len(entries) // 8, 1)]), entries[-1].id):
        async with talking(where=str(path)) as session:
            moved = await session.navigate(target)
            there, context = session.tree().leaf, session.context().messages

        seen = opened(pi, path)
        assert seen["leaf"] == moved.leaf
        assert [one["message"]["role"] for one in seen["context"]] == [message.role for message in context]
        assert_same(pi, path)
        with read(path) as again:
            assert (again.tree().leaf, again.context().messages) == (there, context)


async def test_pi_goes_on_where_a_move_of_ours_ended(pi: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", "two", "three", where=str(path)) as session:
        for text in ("first", "second", "third"):
            await session.prompt(text)
        answer = session.entries()[1].id
        await session.navigate(answer)
    reply = {"what": "message", "message": {"role": "user", "content": "of Pi's", "timestamp": 1_772_352_000_000}}

    pi.ask({"op": "append", "path": str(path), "appends": [reply]})

    assert_same(pi, path)
    with read(path) as session:
        assert [words(message) for message in session.context().messages] == ["first", "one", "of Pi's"]
