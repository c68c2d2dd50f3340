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

from sapwood.store.disk import RealDisk, Status, write_all
from tests.store.faults import FaultyDisk, error
from tests.store.writer import running

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
    folders = [str(tmp_path / name) for name in ("a", "a/b", "a/b/c")]
    with umask(mask):
        assert DISK.make_folder(str(tmp_path / "a" / "b" / "c")) == folders
        assert DISK.make_folder(str(tmp_path / "a" / "b" / "c")) == []
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


@pytest.mark.parametrize("name", ["mkdir", "chmod"])
def test_of_folders_that_cannot_all_be_made_none_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """They used to stay, and nobody knew later that their names were still to be synced."""
    real = getattr(os, name)

    def full(path: str, mode: int) -> None:
        if path.endswith("c"):
            raise error(errno.ENOSPC)
        real(path, mode)

    monkeypatch.setattr(os, name, full)
    with pytest.raises(OSError, match="No space"):
        DISK.make_folder(str(tmp_path / "a" / "b" / "c"))

    assert list(tmp_path.iterdir()) == []


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


def test_a_file_takes_the_place_of_another_in_one_step(tmp_path: Path) -> None:
    (tmp_path / "new").write_bytes(b"new")
    (tmp_path / "old").write_bytes(b"old")
    DISK.link(str(tmp_path / "old"), str(tmp_path / "kept"))
    with pytest.raises(FileExistsError):
        DISK.link(str(tmp_path / "new"), str(tmp_path / "old"))
    DISK.rename(str(tmp_path / "new"), str(tmp_path / "old"))

    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"old": b"new", "kept": b"old"}


def test_files_and_folders_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, str]] = []
    for name in ("fdatasync", "fsync"):

        def sync(descriptor: int, name: str = name) -> None:
            synced.append((name, str(Path(f"/proc/self/fd/{descriptor}").readlink())))

        monkeypatch.setattr(os, name, sync)
    monkeypatch.chdir(tmp_path)
    before = open_descriptors()
    with closing(DISK.create(str(tmp_path / "s"))) as descriptor:
        DISK.sync(descriptor)
    DISK.sync_folder(str(tmp_path))
    DISK.sync_folder("")
    with pytest.raises(NotADirectoryError):
        DISK.sync_folder(str(tmp_path / "s"))

    assert synced == [("fdatasync", str(tmp_path / "s")), ("fsync", str(tmp_path)), ("fsync", str(tmp_path))]
    assert open_descriptors() == before


def test_a_lock_is_one_descriptors_alone_and_ends_with_it(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    DISK.close(DISK.create(path))
    Path(tmp_path / "hard").hardlink_to(path)
    with closing(DISK.open_read(path)) as other:
        with closing(DISK.open_append(str(tmp_path / "hard"))) as holder:
            assert DISK.lock_holder(other) is None
            assert DISK.lock(holder)
            assert DISK.lock(holder)
            assert not DISK.lock(other)
            assert DISK.lock_holder(other) == os.getpid()
            DISK.unlock(holder)
            assert DISK.lock(other)
            DISK.unlock(other)
            assert DISK.lock(holder)
        assert DISK.lock(other)


def test_a_lock_that_cannot_be_asked_for_is_an_error(tmp_path: Path) -> None:
    descriptor = DISK.create(str(tmp_path / "s"))
    DISK.close(descriptor)
    with pytest.raises(OSError, match="Bad file"):
        DISK.lock(descriptor)


def test_a_process_is_told_from_another_with_its_number() -> None:
    ours = DISK.process(os.getpid())
    assert ours == DISK.process(os.getpid())
    assert ours not in {None, ""}
    with running("cat") as child:
        theirs = DISK.process(child.pid)
        assert theirs not in {None, ""}
    assert DISK.process(child.pid) is None
    assert DISK.process(2**60) is None


def test_a_name_with_brackets_and_spaces_hides_no_process(tmp_path: Path) -> None:
    """The second field of the line is the program's name, as it is."""
    program = tmp_path / ") R 1 (x) y"
    program.symlink_to("/bin/cat")
    with running(str(program)) as child:
        assert int(DISK.process(child.pid) or "") > int(DISK.process(1) or "")


def test_a_process_that_ends_while_it_is_looked_at_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening its line goes well, and reading says that there is no such process."""

    def gone(path: str, mode: str) -> None:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))

    monkeypatch.setattr("sapwood.store.disk.open", gone, raising=False)
    assert DISK.process(1) is None


def test_where_nothing_tells_processes_apart_a_running_one_has_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(path: str, mode: str) -> None:
        raise FileNotFoundError

    def no_folder(_path: str) -> bool:
        return False

    def not_ours(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr("sapwood.store.disk.open", none, raising=False)
    monkeypatch.setattr(os.path, "isdir", no_folder)
    with running("cat") as child:
        assert DISK.process(child.pid) == ""
    assert DISK.process(child.pid) is None
    monkeypatch.setattr(os, "kill", not_ours)
    assert DISK.process(1) == ""


def test_a_folder_is_checked_and_not_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for good in (tmp_path, tmp_path / "a" / "b"):
        DISK.check_folder(str(good))
    for bad in ("file", "file/below"):
        with pytest.raises(NotADirectoryError):
            DISK.check_folder(str(tmp_path / bad))
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_is_nowhere_is_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    DISK.check_folder("")
    DISK.check_folder("a/b")

    def access(path: str, _mode: int) -> bool:
        return path != "."

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(PermissionError):
        DISK.check_folder("a/b")


@pytest.mark.parametrize(("flag", "number"), [(0, errno.EACCES), (os.ST_RDONLY, errno.EROFS)])
def test_a_folder_that_nothing_may_be_written_to_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: int, number: int
) -> None:
    class Mount:
        f_flag = flag

    def access(_path: str, _mode: int) -> bool:
        return False

    def statvfs(_path: str) -> type[Mount]:
        return Mount

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(os, "statvfs", statvfs)
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        DISK.check_folder(str(tmp_path / "a"))
    assert caught.value.errno == number


@pytest.mark.parametrize("takes", [1, 2, 100])
def test_everything_is_written_whatever_a_write_takes(tmp_path: Path, takes: int) -> None:
    disk = FaultyDisk()
    disk.takes = takes
    disk.plan = lambda number, name: errno.EINTR if name == "write" and number % 2 else None
    descriptor = disk.create(str(tmp_path / "s"))
    write_all(disk, descriptor, b"")
    assert "write" not in disk.calls
    write_all(disk, descriptor, b"0123456789")
    assert (tmp_path / "s").read_bytes() == b"0123456789"

    disk.takes = 0
    with pytest.raises(OSError, match="No space"):
        write_all(disk, descriptor, b"more")
    disk.close(descriptor)
