"""The sessions that there are, as a host is told them: one by one, and no further than it reads."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from sapwood import Environment, NotASession, Refused, Runtime, Scripted, ScriptedAnswer
from tests.build import MODEL
from tests.sapwood.standing import put
from tests.store.faults import FaultyDisk


async def ids(found: AsyncIterator[Any]) -> list[str]:
    return [one.id async for one in found]


async def test_sessions_come_one_by_one(tmp_path: Path) -> None:
    for nth in range(40):
        put(tmp_path, f"s{nth}", hour=nth)
    disk = FaultyDisk()
    runtime = Runtime(environment=Environment(disk=disk))

    sessions = runtime.sessions(tmp_path)
    first = await sessions.receive()
    looked_at = disk.calls.count("open_read")
    rest = await ids(sessions)

    assert (first.id, looked_at) == ("s39", 1)
    assert rest == [f"s{nth}" for nth in reversed(range(39))]
    with pytest.raises(trio.EndOfChannel):
        await sessions.receive()


async def test_what_cannot_be_listed_is_told_beside(tmp_path: Path) -> None:
    put(tmp_path, "good")
    (tmp_path / "odd.jsonl").write_bytes(b"hello\n")

    sessions = Runtime().sessions(tmp_path)

    assert await ids(sessions) == ["good"]
    assert [(Path(one.path).name, one.why) for one in sessions.unlisted] == [("odd.jsonl", "it has no session header")]


async def test_they_can_be_chosen_by_folder_by_project_and_by_what_is_said(tmp_path: Path) -> None:
    put(tmp_path / "a", "one", "ash")
    put(tmp_path / "b", "two", "oak", cwd="/elsewhere")
    runtime = Runtime()

    assert await ids(runtime.sessions(tmp_path / "a")) == ["one"]
    assert sorted(await ids(runtime.sessions(tmp_path / "a", tmp_path / "b"))) == ["one", "two"]
    assert await ids(runtime.sessions(tmp_path, search="OAK")) == ["two"]
    assert await ids(runtime.sessions(tmp_path / "b", cwd="/elsewhere")) == ["two"]
    assert await ids(runtime.sessions(tmp_path / "b", cwd="/home/dev")) == []


async def test_without_a_folder_it_is_the_platforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert await ids(Runtime().sessions()) == []

    put(tmp_path / "sapwood" / "sessions" / "--home-dev--", "one")

    assert await ids(Runtime().sessions()) == ["one"]


async def test_whoever_is_cancelled_loses_nothing_that_was_found(tmp_path: Path) -> None:
    for nth in range(5):
        put(tmp_path, f"s{nth}")
    sessions = Runtime().sessions(tmp_path)
    found: list[str] = []

    for _ in range(50):
        with trio.move_on_after(0):
            found.append((await sessions.receive()).id)
    found += await ids(sessions)

    assert sorted(found) == [f"s{nth}" for nth in range(5)]


async def test_a_search_through_a_large_file_can_be_left(tmp_path: Path) -> None:
    path = put(tmp_path, "large")
    with path.open("ab") as file:
        for _ in range(64):
            file.write(b" " * (1 << 20) + b"\n")
    disk = FaultyDisk()
    sessions = Runtime(environment=Environment(disk=disk)).sessions(tmp_path, search="nowhere")

    with trio.move_on_after(0.02):
        await sessions.receive()
    reads = len(disk.read_lengths)
    await sessions.aclose()

    assert reads < 64
    with pytest.raises(trio.ClosedResourceError):
        await sessions.receive()


@pytest.mark.parametrize(
    ("folders", "named", "words"),
    [
        ([7], {}, "a folder of sessions"),
        (["x"], {"cwd": "relative"}, "absolute"),
        (["x"], {"search": 7}, "what is searched for"),
        (["x"], {"search": " "}, "what is searched for"),
    ],
)
def test_what_is_asked_wrongly_is_refused(folders: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        Runtime().sessions(*folders, **named)


async def test_a_scan_tells_what_the_whole_file_tells(tmp_path: Path) -> None:
    path = put(tmp_path, "s")
    path.write_bytes(path.read_bytes() + b'{"torn')

    scanned = await Runtime().scan(path)

    assert (scanned.id, scanned.stats.entries, scanned.stats.spent.input) == ("s", 2, 7)
    assert [one.kind for one in scanned.damage] == ["torn_tail"]
    (tmp_path / "odd").write_bytes(b"hello\n")
    with pytest.raises(NotASession):
        await Runtime().scan(tmp_path / "odd")


async def test_a_session_that_is_open_is_told_to_be(tmp_path: Path) -> None:
    runtime = Runtime(providers=[Scripted({"turn": [ScriptedAnswer(text="yes")]})])
    async with runtime.open_session(tmp_path / "s.jsonl", model=MODEL) as session:
        await session.prompt("hello")
        assert [one.open async for one in runtime.sessions(tmp_path)] == [True]
    assert [one.open async for one in runtime.sessions(tmp_path)] == [False]


@pytest.mark.slow
@pytest.mark.parametrize("files", [1_000, pytest.param(10_000, marks=pytest.mark.full)])
async def test_files_that_come_go_and_change_their_names_meanwhile_disturb_no_others(
    files: int, tmp_path: Path
) -> None:
    """Half of them stay as they are: each of these is told once, and nothing is told to be wrong with the rest."""
    template = put(tmp_path / "stays", "s").read_bytes()
    for nth in range(files):
        folder = tmp_path / ("stays" if nth % 2 else "moves")
        folder.mkdir(exist_ok=True)
        (folder / f"{nth}.jsonl").write_bytes(template.replace(b'"s"', b'"s%d"' % nth, 1))
    (tmp_path / "stays" / "s.jsonl").unlink()
    over = threading.Event()

    def disturb() -> None:
        for nth, path in enumerate(sorted((tmp_path / "moves").iterdir())):
            if over.is_set():
                return
            match nth % 4:
                case 0:
                    path.unlink()
                case 1:
                    path.rename(path.with_name(f"new-{path.name}"))
                case 2:
                    path.with_name(f"copy-{path.name}").write_bytes(path.read_bytes())
                case _:
                    path.with_name(f"copy-{path.name}").write_bytes(path.read_bytes())
                    path.with_name(f"copy-{path.name}").replace(path)

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    try:
        found, sessions = list[str](), Runtime().sessions(tmp_path)
        async for one in sessions:
            found.append(one.path)
    finally:
        over.set()
        disturbing.join()

    assert len(found) == len({*found})
    assert {str(one) for one in (tmp_path / "stays").iterdir()} <= {*found}
    assert [one.why for one in sessions.unlisted if one.why != "it is empty"] == []
