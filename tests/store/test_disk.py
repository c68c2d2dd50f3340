"""The operating system's calls, as the port promises them."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sapwood.store.disk import RealDisk, Status

DISK = RealDisk()


@contextmanager
def umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def closing(descriptor: int) -> Generator[int]:
    try:
        yield descriptor
    finally:
        DISK.close(descriptor)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count is all


@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o277, 0o777])
def test_what_is_made_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        DISK.make_folder(str(tmp_path / "a" / "b" / "c"))
        DISK.close(DISK.create(str(tmp_path / "a" / "b" / "c" / "s.jsonl")))

    assert [mode_of(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3
    assert mode_of(tmp_path / "a/b/c/s.jsonl") == 0o600


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o755)

    DISK.make_folder(str(tmp_path / "shared"))

    assert mode_of(tmp_path / "shared") == 0o755


def test_no_folder_is_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    DISK.make_folder("")
    DISK.make_folder("here")

    assert mode_of(tmp_path / "here") == 0o700


def test_a_folder_that_somebody_else_makes_meanwhile_is_as_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir

    def slow(path: str, mode: int) -> None:
        mkdir(path, 0o755)
        mkdir(path, mode)

    monkeypatch.setattr(os, "mkdir", slow)
    DISK.make_folder(str(tmp_path / "a"))

    assert mode_of(tmp_path / "a") == 0o755


def test_a_folder_cannot_be_made_where_a_file_stands(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")

    with pytest.raises(FileExistsError):
        DISK.make_folder(str(tmp_path / "a"))
    with pytest.raises(FileExistsError):
        DISK.make_folder(str(tmp_path / "a" / "b"))


def test_a_file_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"theirs")

    with pytest.raises(FileExistsError):
        DISK.create(str(tmp_path / "s"))

    assert (tmp_path / "s").read_bytes() == b"theirs"


def test_a_file_that_cannot_be_made_private_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, mode: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "fchmod", refuse)
    before = open_descriptors()

    with pytest.raises(PermissionError):
        DISK.create(str(tmp_path / "s"))

    assert list(tmp_path.iterdir()) == []
    assert open_descriptors() == before


def test_a_missing_file_is_neither_opened_nor_made(tmp_path: Path) -> None:
    for open_ in (DISK.open_read, DISK.open_append, DISK.status_at):
        with pytest.raises(FileNotFoundError):
            open_(str(tmp_path / "s"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    before = open_descriptors()
    for open_ in (DISK.open_read, DISK.open_append):
        with pytest.raises(IsADirectoryError):
            open_(str(tmp_path))
    assert open_descriptors() == before


def test_a_pipe_and_a_socket_and_a_device_are_no_files_and_hold_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        before = open_descriptors()
        for name in ("pipe", "socket", "/dev/null"):
            for open_ in (DISK.open_read, DISK.open_append):
                with pytest.raises(OSError, match=r"regular file|No such device") as caught:
                    open_(str(tmp_path / name))
                assert caught.value.errno in {errno.EINVAL, errno.ENXIO}
        assert open_descriptors() == before


def test_descriptors_do_not_pass_to_children(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    for open_ in (DISK.create, DISK.open_read, DISK.open_append):
        with closing(open_(path)) as descriptor:
            assert not os.get_inheritable(descriptor)


def test_reading_stops_at_the_end_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s").write_bytes(b"0123456789")
    pread = os.pread

    def sparing(descriptor: int, length: int, offset: int) -> bytes:
        return pread(descriptor, min(length, 3), offset)

    with closing(DISK.open_read(str(tmp_path / "s"))) as descriptor:
        assert DISK.read(descriptor, 2, 3) == b"234"
        assert DISK.read(descriptor, 0, 0) == b""
        # the system may give less than was asked for
        monkeypatch.setattr(os, "pread", sparing)
        assert DISK.read(descriptor, 1, 7) == b"1234567"
        assert DISK.read(descriptor, 4, 100) == b"456789"
        assert DISK.read(descriptor, 10, 5) == b""
        assert DISK.read(descriptor, 99, 5) == b""


def test_writes_go_behind_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with closing(DISK.create(str(path))) as descriptor:
        assert DISK.write(descriptor, b"one") == 3
        with path.open("ab") as other:
            other.write(b"theirs")
        assert DISK.write(descriptor, b"two") == 3
    with closing(DISK.open_append(str(path))) as descriptor:
        DISK.write(descriptor, b"three")
        assert path.read_bytes() == b"onetheirstwothree"
        DISK.truncate(descriptor, 3)
    assert path.read_bytes() == b"one"
    DISK.unlink(str(path))
    assert not path.exists()


def test_a_file_is_told_from_another_by_device_and_inode(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"one")
    (tmp_path / "link").symlink_to(path)
    with closing(DISK.open_read(str(path))) as descriptor:
        status = DISK.status(descriptor)
        assert status == DISK.status_at(str(path)) == DISK.status_at(str(tmp_path / "link"))
        assert status.size == 3
        path.write_bytes(b"longer")
        assert status.is_same_file(DISK.status(descriptor))
        path.rename(tmp_path / "moved")
        path.write_bytes(b"one")
        assert not status.is_same_file(DISK.status_at(str(path)))
    assert not Status(size=0, device=1, inode=2).is_same_file(Status(size=0, device=2, inode=2))
