"""What a command said is kept in a private file, as much as there is room for."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sapwood.actors.tools import spool
from sapwood.actors.tools.spool import Spool


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(name="small_disk")
def _small_disk(folder: Path) -> Iterator[Path]:
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mounting is refused here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_nothing_is_made_before_there_is_something_to_keep(folder: Path) -> None:
    kept = Spool()
    kept.close()
    kept.discard()

    assert [*folder.iterdir()] == []


def test_what_is_kept_is_for_its_owner_alone(folder: Path) -> None:
    kept = Spool()
    kept.write(b"one ")
    kept.write(b"two")
    kept.close()

    [file] = folder.iterdir()
    assert kept.path == str(file)
    assert file.read_bytes() == b"one two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_nobody_will_know_of_is_taken_away(folder: Path) -> None:
    kept = Spool()
    kept.write(b"one")
    kept.discard()

    assert kept.path is None
    assert [*folder.iterdir()] == []


def test_a_full_file_counts_what_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_BYTES", 5)
    kept = Spool()
    for said in (b"1234", b"5678", b"9"):
        kept.write(said)
    kept.close()

    assert kept.path is not None
    assert Path(kept.path).read_bytes() == b"12345"
    assert (kept.left_out, kept.trouble) == (4, None)


def test_on_a_full_disk_the_file_is_taken_away_and_says_why(small_disk: Path) -> None:
    kept = Spool()
    for _ in range(3):
        kept.write(b"x" * (1 << 15))
    assert kept.trouble == os.strerror(errno.ENOSPC)
    assert kept.path is None
    assert [*small_disk.iterdir()] == []

    kept.write(b"more")
    kept.close()
    assert [*small_disk.iterdir()] == []


def test_where_no_file_can_be_made_it_says_why(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "gone"))
    kept = Spool()
    kept.write(b"x")
    kept.discard()

    assert (kept.path, kept.trouble) == (None, os.strerror(errno.ENOENT))
