"""A file that nobody finds before it is whole, whatever the disk does on the way."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from sapwood.store.new_file import NewFile
from tests.store.faults import ERRNOS, FaultyDisk

STEPS = ("make_folder", "create", "write", "sync", "link", "sync_folder")


def made(disk: FaultyDisk, path: Path) -> None:
    file = NewFile(disk, str(path))
    try:
        file.begin()
        file.write(b"one\n")
        assert not path.exists()
        file.write(b"two\n")
        file.commit()
    finally:
        file.end()


def test_it_is_there_with_all_that_was_written_and_with_nothing_beside_it(tmp_path: Path) -> None:
    disk, path = FaultyDisk(), tmp_path / "a" / "b" / "s.jsonl"
    old = os.umask(0)
    try:
        made(disk, path)
    finally:
        os.umask(old)

    assert path.read_bytes() == b"one\ntwo\n"
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent, path.parent.parent)] == [
        0o600,
        0o700,
        0o700,
    ]
    assert list(path.parent.iterdir()) == [path]
    assert disk.open_descriptors == set()
    assert disk.synced_folders == [str(path.parent), str(tmp_path), str(tmp_path / "a")]


@pytest.mark.parametrize("number", ERRNOS)
@pytest.mark.parametrize("name", STEPS)
def test_what_fails_leaves_nothing(name: str, number: int, tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.takes_before_failing = 2

    with disk.failing(number, names=(name,)), pytest.raises(OSError) as caught:  # noqa: PT011 - any of them
        made(disk, tmp_path / "s.jsonl")

    assert caught.value.errno == number
    assert list(tmp_path.iterdir()) == []
    assert disk.open_descriptors == set()


def test_what_stands_there_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"theirs\n")

    with pytest.raises(FileExistsError):
        made(FaultyDisk(), path)

    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("s.jsonl", b"theirs\n")]


@pytest.mark.parametrize("links", [True, False])
def test_nor_is_what_came_there_meanwhile(links: bool, tmp_path: Path) -> None:
    disk, path = FaultyDisk(), tmp_path / "s.jsonl"
    file = NewFile(disk, str(path))
    file.begin()
    file.write(b"ours\n")
    path.write_bytes(b"theirs\n")

    with disk.failing(errno.EPERM, names=() if links else ("link",), only=None if not links else 99):
        with pytest.raises(FileExistsError):
            file.commit()
        file.end()

    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("s.jsonl", b"theirs\n")]


def test_a_file_system_without_second_names_does_as_well(tmp_path: Path) -> None:
    disk, path = FaultyDisk(), tmp_path / "s.jsonl"

    with disk.failing(errno.EPERM, names=("link",)):
        made(disk, path)

    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("s.jsonl", b"one\ntwo\n")]


def test_what_a_killed_process_left_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    killed = NewFile(FaultyDisk(), str(path))
    killed.begin()
    killed.write(b"half a li")

    made(FaultyDisk(), path)

    assert path.read_bytes() == b"one\ntwo\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["s.jsonl", "s.jsonl.new-0"]
    killed.end()


def test_it_is_begun_before_it_is_written(tmp_path: Path) -> None:
    file = NewFile(FaultyDisk(), str(tmp_path / "s.jsonl"))

    with pytest.raises(ValueError, match="begin"):
        file.write(b"")
    file.end()
    file.end()
