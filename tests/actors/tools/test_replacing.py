"""A file's content is replaced in one step, or it stands as it was; nothing is followed to where nobody meant."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sapwood.actors.tools.files import Unfit
from sapwood.actors.tools.replacing import replace_file
from tests.actors.tools.calling import NOBODY, as_nobody, open_folder


def tree(folder: Path) -> dict[str, tuple[int, bytes | str | None]]:
    """All that is in a folder: modes, contents, and where links lead."""
    return {
        str(one.relative_to(folder)): (
            one.lstat().st_mode,
            str(one.readlink()) if one.is_symlink() else one.read_bytes() if one.is_file() else None,
        )
        for one in folder.rglob("*")
    }


def why_refused(path: Path, data: bytes = b"new", **more: os.stat_result) -> str:
    with pytest.raises(Unfit) as caught:
        replace_file(str(path), data, **more)
    return str(caught.value)


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("gone")
    (tmp_path / "folder").symlink_to("gone too")
    before = tree(tmp_path)

    for path in ("link", "folder/a/b"):
        assert "which is not there" in why_refused(tmp_path / path)
    assert why_refused(tmp_path / "link") == (
        f"{tmp_path}/link is not written: {tmp_path}/link is a link to gone, which is not there."
    )
    assert tree(tmp_path) == before


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    before = tree(tmp_path)

    assert "is no file: it is a pipe" in why_refused(tmp_path / "pipe")
    assert "Too many levels of symbolic links" in why_refused(tmp_path / "loop")
    assert "is a folder, not a file" in why_refused(tmp_path)
    assert "file is a file, and nothing can be in it" in why_refused(tmp_path / "file" / "a")
    assert "File name too long" in why_refused(tmp_path / "made" / ("x" * 300))
    assert tree(tmp_path) == before


def test_a_file_that_may_not_be_written_is_not_replaced_though_its_folder_would_let_us() -> None:
    with open_folder() as folder:
        (folder / "a").write_text("old")
        (folder / "a").chmod(0o444)
        with as_nobody():
            why = why_refused(folder / "a")
        assert "cannot be written: permission is denied" in why
        assert [(one.name, one.read_text()) for one in folder.iterdir()] == [("a", "old")]


def test_in_a_folder_that_is_read_only_nothing_is_written() -> None:
    with open_folder() as folder:
        (folder / "a").write_text("old")
        (folder / "a").chmod(0o666)
        folder.chmod(0o555)
        before = tree(folder)
        with as_nobody():
            replaced, made = why_refused(folder / "a"), why_refused(folder / "b" / "c")
        assert f"{folder}/a cannot be written: no file can be made in {folder} by the user" in replaced
        assert f"{folder}/b/c cannot be written: permission is denied" in made
        assert tree(folder) == before


@pytest.fixture(name="small_disk")
def _small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mounting is refused here: {done.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_on_a_full_disk_the_old_content_stands_and_nothing_is_left_behind(small_disk: Path) -> None:
    (small_disk / "a").write_text("old")
    before = tree(small_disk)

    for path in ("a", "made/b"):
        assert "cannot be written: No space left on device." in why_refused(small_disk / path, b"x" * 100_000)
    assert tree(small_disk) == before


@pytest.mark.parametrize("call", ["fsync", "fchmod", "write"])
def test_whatever_fails_on_the_way_the_old_content_stands(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    (tmp_path / "a").write_text("old")
    before = tree(tmp_path)
    monkeypatch.setattr(os, call, failing)

    assert "cannot be written: Input/output error." in why_refused(tmp_path / "a")
    if call != "fchmod":  # of a new file nothing is kept
        assert "cannot be written" in why_refused(tmp_path / "made" / "deep" / "b")
    monkeypatch.undo()
    assert tree(tmp_path) == before


def test_when_a_folder_cannot_be_made_those_above_it_are_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir

    def failing(path: Path, mode: int) -> None:
        if path.name == "third":
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        mkdir(path, mode)

    monkeypatch.setattr(os, "mkdir", failing)

    assert "cannot be written: Disk quota exceeded." in why_refused(tmp_path / "first" / "second" / "third" / "a")
    assert tree(tmp_path) == {}


def rewritten_at_once(path: Path) -> None:
    then = path.stat().st_mtime_ns
    path.write_text("another")
    os.utime(path, ns=(0, then))


def rewritten_as_long(path: Path) -> None:
    path.write_text("new")
    os.utime(path, ns=(0, 1))


def put_in_its_place(path: Path) -> None:
    path.with_name("b").write_text("old")
    os.utime(path.with_name("b"), ns=(0, path.stat().st_mtime_ns))
    path.with_name("b").rename(path)


@pytest.mark.parametrize("change", [rewritten_at_once, rewritten_as_long, put_in_its_place, Path.unlink])
def test_what_somebody_else_changed_meanwhile_is_not_overwritten(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    read = path.stat()
    change(path)
    before = tree(tmp_path)

    assert "was changed by somebody else meanwhile" in why_refused(path, unchanged=read)
    assert tree(tmp_path) == before


def test_what_is_as_it_was_read_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    replace_file(str(path), b"new", unchanged=path.stat())

    assert path.read_text() == "new"


def test_a_link_stays_one_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real").write_text("old")
    (tmp_path / "link").symlink_to("there/real")
    (tmp_path / "folder").symlink_to("there")

    done = replace_file(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "real").read_text() == "new"
    assert (done.path, done.was) == (f"{tmp_path}/there/real", 3)
    assert done.notes == (f"{tmp_path}/link is a link: {tmp_path}/there/real has the content.",)

    through = replace_file(str(tmp_path / "folder" / "new"), b"new")
    assert (through.path, through.was, through.notes) == (f"{tmp_path}/there/new", None, ())


def test_other_names_of_a_file_keep_the_old_content_and_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "b")

    done = replace_file(str(tmp_path / "a"), b"new")

    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("new", "old")
    assert done.notes == ("The file had 2 names (hard links): the others keep the old content.",)


def test_it_keeps_the_mode_and_a_new_one_is_as_the_umask_says(tmp_path: Path) -> None:
    (tmp_path / "script").touch()
    (tmp_path / "script").chmod(0o751)
    before = os.umask(0o027)
    try:
        replace_file(str(tmp_path / "script"), b"new")
        replace_file(str(tmp_path / "made" / "new"), b"new")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "script").stat().st_mode) == 0o751
    assert stat.S_IMODE((tmp_path / "made" / "new").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o750


def test_nobody_else_reads_a_private_file_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What became a file of mode 0600 used to be readable by all until then."""
    (tmp_path / "a").touch()
    (tmp_path / "a").chmod(0o600)
    modes: list[int] = []
    really = os.write

    def write(descriptor: int, data: bytes) -> int:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return really(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    before = os.umask(0)
    try:
        replace_file(str(tmp_path / "a"), b"secret")
        replace_file(str(tmp_path / "b"), b"for all")
    finally:
        os.umask(before)

    assert modes == [0o600, 0o666]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_it_keeps_the_owner_and_where_it_cannot_no_right_of_the_owner_is_lent() -> None:
    with open_folder() as folder:
        for name in ("theirs", "ours"):
            (folder / name).touch()
        os.chown(folder / "theirs", NOBODY, NOBODY)
        (folder / "theirs").chmod(0o4755)
        (folder / "ours").chmod(0o4777)

        replace_file(str(folder / "theirs"), b"new")
        with as_nobody():
            replace_file(str(folder / "theirs"), b"newer")
            replace_file(str(folder / "ours"), b"new")

        theirs, ours = (folder / "theirs").stat(), (folder / "ours").stat()
    assert (theirs.st_uid, stat.S_IMODE(theirs.st_mode)) == (NOBODY, 0o4755)
    assert (ours.st_uid, stat.S_IMODE(ours.st_mode)) == (NOBODY, 0o777)
