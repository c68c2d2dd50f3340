"""From what a host names to an open store."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from sapwood import opening
from sapwood.actors.environment import Environment
from sapwood.events.errors import CannotOpen, InvalidSessionId, NotASession, Refused
from sapwood.opening import new_header, open_store, open_store_beside
from sapwood.store.jsonl import JsonlStore
from sapwood.store.memory import MemoryStore
from tests.build import HEADER
from tests.store.faults import FaultyDisk
from tests.store.stores import file_of, line


def test_a_new_session_has_a_version_an_id_a_time_and_a_folder() -> None:
    header = new_header(Environment(), cwd="/home/dev", session_id="mine.1")

    assert (header.version, header.id, header.cwd, header.parent_session) == (3, "mine.1", "/home/dev", None)
    assert new_header(Environment()).cwd == str(Path.cwd())


def test_a_folder_whose_name_is_no_unicode_does_not_keep_a_session_from_being_written() -> None:
    assert new_header(Environment(), cwd="/home/\udcff").cwd == "/home/\ufffd"


def test_a_session_id_of_the_hosts_obeys_the_rule() -> None:
    with pytest.raises(InvalidSessionId, match="must be non-empty"):
        new_header(Environment(), session_id="-no-")


def test_none_is_memory_a_path_is_a_file_and_a_store_is_itself(tmp_path: Path) -> None:
    store = MemoryStore(HEADER)

    assert open_store(None, Environment()).where == ":memory:"
    assert isinstance(open_store(tmp_path / "s.jsonl", Environment()), JsonlStore)
    assert open_store(store, Environment()) is store


def test_a_file_that_must_exist_is_not_made_up(tmp_path: Path) -> None:
    with pytest.raises(CannotOpen):
        open_store(tmp_path / "s.jsonl", Environment(), read_only=True)


def test_a_present_folder_that_is_gone_is_told_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(Refused, match="cwd="):
        open_store(None, Environment())
    assert new_header(Environment(), cwd="/home/dev").cwd == "/home/dev"


@pytest.mark.parametrize("where", [None, MemoryStore(HEADER)])
def test_only_a_file_is_opened_to_be_read_only(where: MemoryStore | None) -> None:
    with pytest.raises(Refused, match="read_only is for files"):
        open_store(where, Environment(), read_only=True)


async def test_a_long_file_is_read_beside_the_loop_and_what_is_wrong_with_one_is_told_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "LONG", 1_000)
    threads = set[int]()

    class Disk(FaultyDisk):
        def open_read(self, path: str) -> int:
            threads.add(threading.get_ident())
            return super().open_read(path)

    for name, content in (("short", b""), ("long", file_of(line("a", data="x" * 1_000))), ("none", b"x" * 1_001)):
        (tmp_path / name).write_bytes(content)
    environment, here = Environment(disk=Disk()), threading.get_ident()

    (await open_store_beside(tmp_path / "short", environment)).close()
    assert threads == {here}
    threads.clear()
    store = await open_store_beside(tmp_path / "long", environment)
    assert here not in threads
    assert len(store.tree) == 1
    store.close()
    with pytest.raises(NotASession):
        await open_store_beside(tmp_path / "none", environment)
    with pytest.raises(CannotOpen):
        await open_store_beside(tmp_path / "gone", environment, read_only=True)
    assert (await open_store_beside(None, environment)).where == ":memory:"
