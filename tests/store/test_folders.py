"""A look into a folder, and who has a lock."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from sapwood.store.folders import RealFolders


def test_a_folder_has_its_files_and_folders_and_links_to_them(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"four")
    (tmp_path / "inside").mkdir()
    (tmp_path / "link").symlink_to("a.jsonl")
    (tmp_path / "hard").hardlink_to(tmp_path / "a.jsonl")
    (tmp_path / "nowhere").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")
    os.utime(tmp_path / "a.jsonl", ns=(0, 1_700_000_000_123_456_789))

    seen = {Path(one.path).name: one for one in RealFolders().look(str(tmp_path))}

    assert seen.keys() == {"a.jsonl", "inside", "link", "hard"}
    assert [seen[name].is_folder for name in ("a.jsonl", "inside", "link")] == [False, True, False]
    assert (seen["a.jsonl"].size, seen["a.jsonl"].modified_ns) == (4, 1_700_000_000_123_456_789)
    assert seen["a.jsonl"].path == str(tmp_path / "a.jsonl")
    assert seen["a.jsonl"].file == seen["link"].file == seen["hard"].file != seen["inside"].file


@pytest.mark.parametrize("name", ["gone", "file"])
def test_what_is_no_folder_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(OSError, match=r"No such file|Not a directory"):
        RealFolders().look(str(tmp_path / name))


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="this system tells of no locks")  # noqa: PTH110 - it is text
def test_a_file_that_is_locked_is_told_and_one_that_is_not_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"")
    (one,) = RealFolders().look(str(tmp_path))
    with path.open("rb") as file:
        assert one.file not in RealFolders().locked()
        fcntl.flock(file, fcntl.LOCK_SH)
        assert one.file not in RealFolders().locked()
        fcntl.flock(file, fcntl.LOCK_EX)
        assert one.file in RealFolders().locked()
    assert one.file not in RealFolders().locked()
