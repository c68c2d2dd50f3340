"""N: disks and paths as they are. Keys of folders (N03) are in test_folders.py, and a rename that Windows refuses (N05) befalls only who
replaces files: `restore`, whose every failing call the store's own tests try.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import trio.testing

from sapwood import CannotOpen, Runtime, Scripted, read
from sapwood.actors.environment import Environment
from sapwood.events.errors import ReadOnly, SessionInUse, StoreConflict
from sapwood.opening import open_store
from tests.build import MODEL
from tests.faults.logs import LOOKING, assert_whole, cli, lines_of, nth_message, put, said, wired
from tests.store.faults import FaultyDisk
from tests.store.mounting import read_only_mount
from tests.store.stores import Watched, old_file
from tests.store.writer import ROOT
from tests.talking import talking


@pytest.fixture(name="disk")
def _disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.let_go()


def session_at(path: Path) -> Path:
    """A session of four messages."""
    return put(path, lines_of([nth_message(nth) for nth in range(4)]))


def assert_readable(path: Path) -> None:
    with read(path) as session:
        assert len(said(session)) == len(session.entries()) == 4
        assert session.damage == ()
    for command in LOOKING:
        shown = cli(command, path)
        assert (shown.exception, shown.return_value or 0) == (None, 0)


async def refused(path: Path | str, environment: Environment | None = None) -> CannotOpen:
    """What opening for writing raises; nobody is given a session, and so no id."""
    with pytest.raises(CannotOpen) as caught:
        async with talking("unsaid", where=str(path), environment=environment):
            raise AssertionError("a session was opened that nothing can be written to")
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)
    return caught.value


NO_FOLDER: Final = {"check_folder", "make_folder", "create", "link", "rename"}
NO_FILE: Final = {"open_append", "create"}


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("content", ["new", "version 1", "a session"])
async def test_n02_what_cannot_be_written_is_told_at_once_with_path_and_errno(
    content: str, number: int, tmp_path: Path, disk: FaultyDisk
) -> None:
    """N02: not when the first prompt has been typed; reading works, and nothing is left behind."""
    path = tmp_path / "s.jsonl"
    if content == "a session":
        session_at(path)
    elif content == "version 1":
        path.write_bytes(old_file())
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    failing = NO_FILE if content == "a session" else NO_FOLDER
    disk.plan = lambda _number, name: number if name in failing else None

    error = await refused(path, Environment.scripted(disk=disk))

    assert error.errno == number
    assert errno.errorcode[number] in str(error)
    assert disk.open_descriptors == set()
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
    if content == "a session":
        assert_readable(path)
    if content != "new":
        store = open_store(path, Environment.scripted(disk=disk), read_only=True)
        assert len(store.tree) == (4 if content == "a session" else 3)
        store.close()


@pytest.mark.parametrize("below", ["s.jsonl", "deep/er/s.jsonl"])
async def test_n02_a_path_below_a_file_is_told_at_once(below: str, tmp_path: Path) -> None:
    """N02: the parent is a file."""
    file = tmp_path / "file"
    file.write_bytes(b"hello")
    watched = Watched(file)
    assert (await refused(file / below)).errno == errno.ENOTDIR
    with pytest.raises(CannotOpen) as caught:
        read(file / below)
    assert caught.value.path == str(file / below)
    watched.assert_untouched()


async def test_n02_a_folder_is_no_session(tmp_path: Path) -> None:
    """N02: neither to write nor to read."""
    assert (await refused(tmp_path)).errno == errno.EISDIR
    with pytest.raises(CannotOpen):
        read(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 300, "\ud800"], ids=ascii)
async def test_n02_a_path_that_is_none_is_told_at_once(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N02: as a typed error, whatever the text is."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CannotOpen):
        async with talking("unsaid", where=path) as session:
            await session.prompt("hi")
    assert list(tmp_path.iterdir()) == []


@contextmanager
def shared_folder() -> Generator[Path]:
    """A folder that everybody may reach: pytest's own are this user's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "sessions"
        folder.mkdir()
        Path(name).chmod(0o755)
        try:
            yield folder
        finally:
            folder.chmod(0o755)


def opened_by_nobody(path: Path) -> dict[str, object]:
    """What a process that owns nothing gets."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.child", "locked", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return told


@pytest.mark.slow
def test_n02_a_file_and_a_folder_that_are_read_only_to_a_person_without_rights_are_told_at_once() -> None:
    """N02: file 0444, and folder 0555, seen by a process that is not root."""
    with shared_folder() as folder:
        path = session_at(folder / "s.jsonl")
        path.chmod(0o444)
        folder.chmod(0o555)
        before = sorted(one.name for one in folder.iterdir())
        for target, number in (path, errno.EACCES), (folder / "new.jsonl", errno.EACCES):
            told = opened_by_nobody(target)
            assert (told["opened"], told["error"]) == (False, "CannotOpen")
            assert (told["errno"], told["path"]) == (number, str(target))
            assert told["read"] == (4 if target is path else "CannotOpen")
        assert sorted(one.name for one in folder.iterdir()) == before


async def test_n02_on_a_read_only_file_system_opening_fails_at_once_and_reading_works(tmp_path: Path) -> None:
    """N02: where this machine lets us mount one."""
    folder = tmp_path / "there"
    folder.mkdir()
    path = session_at(folder / "s.jsonl")
    with read_only_mount(folder):
        assert (await refused(path)).errno == errno.EROFS
        assert (await refused(folder / "new.jsonl")).errno == errno.EROFS
        assert_readable(path)


async def test_n02_a_session_that_is_opened_to_be_read_needs_no_right_to_write(
    tmp_path: Path, disk: FaultyDisk
) -> None:
    """N02: as a host opens it."""
    path = session_at(tmp_path / "s.jsonl")
    disk.plan = lambda _number, name: errno.EROFS if name in NO_FOLDER | NO_FILE | {"unlink", "write"} else None
    watched = Watched(path)
    runtime = Runtime(providers=[Scripted()], environment=Environment.scripted(disk=disk))
    async with runtime.open_session(path, model=MODEL, read_only=True) as session:
        assert len(said(session)) == 4
        with pytest.raises(ReadOnly):
            await session.prompt("no")
    watched.assert_untouched()


def the_path(path: Path) -> Path:
    return path


def linked(link: Path, target: str | Path) -> Path:
    if not link.is_symlink():
        link.symlink_to(target)
    return link


def link_to_file(path: Path) -> Path:
    return linked(path.with_name("link.jsonl"), path)


def link_to_folder(path: Path) -> Path:
    return linked(path.parent.with_name("alias"), path.parent) / path.name


def link_to_a_link(path: Path) -> Path:
    link_to_folder(path)
    return linked(path.parent.with_name("second"), "alias") / path.name


def hard_link(path: Path) -> Path:
    other = path.with_name("hard.jsonl")
    if not other.exists():
        other.hardlink_to(path)
    return other


def dots(path: Path) -> Path:
    return path.parent / ".." / path.parent.name / "." / path.name


def relative(path: Path) -> Path:
    return Path(os.path.relpath(path))


ALIASES: Final = [the_path, link_to_file, link_to_folder, link_to_a_link, hard_link, dots, relative]


@pytest.mark.parametrize("second", ALIASES)
@pytest.mark.parametrize("first", ALIASES)
async def test_n04_one_file_has_one_writer_by_whatever_path(
    first: Callable[[Path], Path], second: Callable[[Path], Path], tmp_path: Path
) -> None:
    """N04: and whoever reads by another path reads the same session."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path = session_at(folder / "s.jsonl")
    one, other = first(path), second(path)
    async with talking("yes", where=str(one)) as session:
        with pytest.raises(SessionInUse) as caught:
            async with talking("stolen", where=str(other)):
                raise AssertionError("it has two writers")
        assert Path(caught.value.path) == Path.cwd() / other
        await session.prompt("go on")
        with read(other) as reader:
            assert said(reader) == said(session)
            assert reader.header.id == session.header.id
    async with talking("again", where=str(other)) as session:
        await session.prompt("and on")
    assert_whole(path)
    assert [one.name for one in folder.iterdir() if one.suffix == ".lock"] == []


async def test_n04_a_new_session_behind_a_link_to_its_folder_is_the_folders(tmp_path: Path) -> None:
    """N04: begun by the one path, found and locked by the other."""
    folder = tmp_path / "folder"
    folder.mkdir()
    alias = link_to_folder(folder / "s.jsonl")
    async with talking("one", where=str(alias)) as session:
        await session.prompt("first")
        with pytest.raises(SessionInUse):
            async with talking("stolen", where=str(folder / "s.jsonl")):
                raise AssertionError("it has two writers")
        with read(folder / "s.jsonl") as reader:
            assert said(reader) == ["first", "one"]
    assert_whole(folder / "s.jsonl")


@pytest.mark.parametrize("links", ["the file", "the folder"])
async def test_n04_a_link_that_leads_elsewhere_now_never_brings_an_entry_into_another_session(
    links: str, tmp_path: Path
) -> None:
    """N04: the link was turned while the session was open."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        session_at(tmp_path / name / "s.jsonl")
    link = tmp_path / "link"
    target = "one/s.jsonl" if links == "the file" else "one"
    link.symlink_to(target)
    path = link if links == "the file" else link / "s.jsonl"
    other = Watched(tmp_path / "two" / "s.jsonl")
    async with talking("yes", "no", where=str(path)) as session:
        await session.prompt("first")
        before = (tmp_path / "one" / "s.jsonl").read_bytes()
        link.unlink()
        link.symlink_to(target.replace("one", "two"))
        with pytest.raises(StoreConflict) as caught:
            await session.prompt("second")
        assert caught.value.what == "replaced"
        assert said(session)[-2:] == ["first", "yes"]
    other.assert_untouched()
    assert (tmp_path / "one" / "s.jsonl").read_bytes() == before
    async with talking("yes", where=str(path)) as session:
        assert len(said(session)) == 4
        await session.prompt("second")
    assert (tmp_path / "one" / "s.jsonl").read_bytes() == before


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o277, 0o777])
async def test_n06_everything_that_a_session_makes_is_private_whatever_the_umask(mask: int, tmp_path: Path) -> None:
    """N06: the folders, the file, and the lock's record beside it; after a restoring too."""
    path = tmp_path / "made" / "deep" / "s.jsonl"
    before = os.umask(mask)
    try:
        async with talking("one", "two", where=str(path)) as session:
            await session.prompt("first")
            assert {one.name: mode(one) for one in path.parent.iterdir()} == {"s.jsonl": 0o600, "s.jsonl.lock": 0o600}
            assert (mode(path.parent), mode(path.parent.parent)) == (0o700, 0o700)
            path.unlink()
            await session.restore()
            await session.prompt("second")
            assert {one.name: mode(one) for one in path.parent.iterdir()} == {"s.jsonl": 0o600, "s.jsonl.lock": 0o600}
    finally:
        os.umask(before)
    assert_whole(path)


@pytest.mark.parametrize("mask", [0, 0o022])
async def test_n06_the_copy_of_an_old_session_and_what_was_set_aside_are_as_private(mask: int, tmp_path: Path) -> None:
    """N06: a file beside the first one; whatever the old one's mode was."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(old_file())
    path.chmod(0o644)
    before = os.umask(mask)
    try:
        async with wired("one", where=path) as (session, _):
            await session.prompt("first")
            beside = Path(session.path)
            assert beside != path
            assert mode(beside) == 0o600
            assert {mode(one) for one in tmp_path.iterdir() if one.suffix == ".lock"} <= {0o600}
    finally:
        os.umask(before)
    assert (mode(path), path.read_bytes()) == (0o644, old_file())


async def test_n06_nothing_that_a_failing_disk_leaves_behind_is_open_to_others(
    tmp_path: Path, disk: FaultyDisk, autojump_clock: trio.testing.MockClock
) -> None:
    """N06: at no moment: looked at whenever the disk is asked for something."""
    path = tmp_path / "made" / "s.jsonl"
    modes: set[tuple[str, int]] = set()

    def look(number: int, name: str) -> int | None:
        if path.parent.exists():
            modes.update((one.name, mode(one)) for one in path.parent.iterdir())
            modes.add(("made", mode(path.parent)))
        return errno.ENOSPC if name in {"write", "sync"} and disk.calls.count(name) < 4 else None

    disk.plan = look
    disk.takes_before_failing = 10
    before = os.umask(0)
    try:
        async with talking(
            "one", where=str(path), environment=Environment.scripted(disk=disk), durability="disk"
        ) as session:
            await session.prompt("first")
    finally:
        os.umask(before)
    assert ("s.jsonl", 0o600) in modes
    assert ("made", 0o700) in modes
    assert {bits for _, bits in modes} == {0o600, 0o700}
    assert_whole(path)
