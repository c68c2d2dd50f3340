"""A session file forked without a session: where the fork goes, what it is called, and what stops it."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from sapwood import CannotOpen, CannotWrite, EntryId, NewerVersion, NotASession, Refused, fork, read
from sapwood.actors.environment import Environment
from sapwood.store.lock import WriterLock
from tests.build import TIME, assistant, message_entry, usage, user
from tests.sapwood.cli.sessions import DATA, LATER, session_file
from tests.store.faults import FaultyDisk
from tests.store.mounting import small_disk
from tests.store.stores import file_of, line, me


def talk(folder: Path, name: str = "s.jsonl") -> Path:
    """A question, an answer that was paid for, and another question."""
    return session_file(
        folder,
        message_entry("u1", user("one")),
        message_entry("a1", assistant("two", usage=usage(100)), "u1"),
        message_entry("u2", user("three"), "a1"),
        name=name,
    )


def rows(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in Path(path).read_text(encoding="utf-8").splitlines()]


def test_it_stands_beside_its_parent_under_pis_name_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    parent = talk(tmp_path)
    before = parent.read_bytes(), parent.stat().st_mtime_ns

    made = fork(parent)

    header, *entries = rows(made.path)
    assert Path(made.path).parent == tmp_path
    assert Path(made.path).name == f"{header['timestamp'].replace(':', '-').replace('.', '-')}_{made.session_id}.jsonl"
    assert (header["id"], header["parentSession"], header["cwd"]) == (made.session_id, str(parent), "/home/dev")
    assert ([row["id"] for row in entries[:-1]], made.entries) == (["u1", "a1", "u2"], 3)
    assert stat.S_IMODE(Path(made.path).stat().st_mode) == 0o600
    assert (parent.read_bytes(), parent.stat().st_mtime_ns) == before
    assert len(list(tmp_path.iterdir())) == 2


def test_it_holds_the_path_to_an_entry_and_knows_what_it_did_not_pay_for(tmp_path: Path) -> None:
    made = fork(talk(tmp_path), EntryId("a1"))

    with read(made.path) as session:
        stats = session.stats()
        assert [item.entry_id for item in session.context().items] == ["u1", "a1"]
    assert (stats.spent.input, stats.inherited.spent.input, stats.own.spent.input) == (100, 100, 0)


def test_the_path_of_the_parent_is_told_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk(tmp_path)
    monkeypatch.chdir(tmp_path)

    made = fork("s.jsonl")

    assert os.path.isabs(made.path)  # noqa: PTH117 - it is text
    assert rows(made.path)[0]["parentSession"] == str(tmp_path / "s.jsonl")


def test_it_goes_where_it_is_said_to_go(tmp_path: Path) -> None:
    parent, folder = talk(tmp_path), tmp_path / "forks"
    folder.mkdir()

    first = fork(parent, to=folder)
    second = fork(parent, to=folder / "deep" / "mine.jsonl", cwd="/elsewhere")

    assert Path(first.path).parent == folder
    assert second.path == str(folder / "deep" / "mine.jsonl")
    assert rows(second.path)[0]["cwd"] == "/elsewhere"
    assert stat.S_IMODE((folder / "deep").stat().st_mode) == 0o700


def test_a_path_that_ends_with_a_slash_is_a_folder_that_may_not_be_there_yet(tmp_path: Path) -> None:
    made = fork(talk(tmp_path), to=f"{tmp_path}/forks/")

    (only,) = (tmp_path / "forks").iterdir()
    assert made.path == str(only)
    assert only.suffix == ".jsonl"


def test_nothing_is_written_over(tmp_path: Path) -> None:
    parent = talk(tmp_path)
    before = parent.read_bytes()

    with pytest.raises(CannotWrite) as caught:
        fork(parent, to=parent)

    assert caught.value.errno == errno.EEXIST
    assert parent.read_bytes() == before


@pytest.mark.parametrize("name", ["v1", "v2", "pi-all-kinds", "pi-ringing-v3"])
def test_files_of_every_version_are_forked_to_version_3(name: str, tmp_path: Path) -> None:
    parent = tmp_path / "s.jsonl"
    parent.write_bytes((DATA / f"{name}.jsonl").read_bytes())

    made = fork(parent, whole_tree=True)

    with read(parent) as old, read(made.path) as new:
        assert new.header.version == 3
        assert new.entries()[:-1] == old.entries()
        assert new.context().messages == old.context().messages
        assert not [one for one in new.damage if not one.is_note]


@pytest.mark.parametrize(
    ("content", "error"), [(None, CannotOpen), (b"hello\n", NotASession), (b"", Refused), (LATER, NewerVersion)]
)
def test_what_is_no_session_to_fork_is_an_error_and_never_an_empty_session(
    content: bytes | None, error: type[Exception], tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(error):
        fork(path, to=tmp_path / "f.jsonl")

    assert not (tmp_path / "f.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"entry_id": "nope"}, "Entry nope not found"),
        ({"entry_id": 7}, "the entry to fork at is text"),
        ({"entry_id": "u1", "whole_tree": True}, "name an entry, or the whole tree"),
        ({"whole_tree": 1}, "whole_tree is True or False"),
        ({"to": b"f"}, "where a fork goes"),
        ({"cwd": "here"}, "absolute"),
    ],
)
def test_what_is_asked_wrongly_is_refused_and_nothing_is_made(
    arguments: dict[str, Any], words: str, tmp_path: Path
) -> None:
    parent = talk(tmp_path)

    with pytest.raises(Refused, match=words):
        fork(parent, **arguments)

    assert list(tmp_path.iterdir()) == [parent]


def test_a_name_that_no_file_can_have_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="EINVAL"):
        fork(talk(tmp_path), to="a\0b")


def test_a_session_that_somebody_writes_can_be_forked(tmp_path: Path) -> None:
    parent, disk = talk(tmp_path), FaultyDisk()
    writer = WriterLock(disk, me)
    descriptor = disk.open_read(str(parent))
    writer.take(descriptor, str(parent))

    assert fork(parent).entries == 3

    writer.give_back()
    disk.let_go()


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    parent, disk = talk(tmp_path), FaultyDisk()
    disk.takes_before_failing = 40

    with disk.failing(errno.ENOSPC, names=("write",)), pytest.raises(CannotWrite) as caught:
        fork(parent, environment=Environment(disk=disk))

    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == [parent]
    assert disk.open_descriptors == set()


def test_what_another_program_forked_is_told_apart_by_its_time(tmp_path: Path) -> None:
    """Pi's forks have no marker: what is older than their header was paid for in their parent."""
    path = talk(tmp_path)
    header, *lines = path.read_bytes().splitlines(keepends=True)
    said = json.loads(header) | {"timestamp": "2026-01-02T00:00:00.000Z", "parentSession": "/p.jsonl"}
    later = message_entry("a2", assistant("four", usage=usage(7)), "u2")
    own = json.dumps(
        {**json.loads(lines[1]), "id": later.id, "parentId": "u2", "timestamp": "2026-01-03T00:00:00.000Z"}
    )
    path.write_bytes(json.dumps(said).encode() + b"\n" + b"".join(lines) + own.encode() + b"\n")

    with read(path) as session:
        stats = session.stats()

    assert said["timestamp"] > TIME
    assert (stats.inherited.spent.input, stats.own.spent.input, stats.spent.input) == (100, 100, 200)
    assert (stats.inherited.spent.calls, stats.own.spent.calls) == (1, 1)


def test_a_disk_that_is_really_full_in_the_middle_leaves_nothing_and_the_parent_as_it_was(tmp_path: Path) -> None:
    """Of a fork that is larger than a block of it."""
    with small_disk(tmp_path / "small", "2m"):
        path = tmp_path / "small" / "s.jsonl"
        path.write_bytes(
            file_of(*(line(f"e{nth}", f"e{nth - 1}" if nth else None, data="x" * 9_000) for nth in range(120)))
        )
        before = path.read_bytes()

        for _ in range(2):
            with pytest.raises(CannotWrite) as caught:
                fork(path, whole_tree=True)
            assert caught.value.errno == errno.ENOSPC
            assert [one.name for one in path.parent.iterdir()] == ["s.jsonl"]
        assert path.read_bytes() == before
        assert Path(fork(path, EntryId("e50")).path).exists()
