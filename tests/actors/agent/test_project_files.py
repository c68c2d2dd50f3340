"""The files of a project are found from the root of the disk down, and what cannot be had of them is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sapwood.actors.agent.prepare import ProjectFile
from sapwood.actors.agent.project_files import MOST_FILE_BYTES, find_project_files
from sapwood.store.disk import RealDisk


@pytest.fixture(name="deep")
def _deep(tmp_path: Path) -> Path:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    return deep


def found(folder: Path | str, top: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The files below `top`, and what was left out there, by their paths from it: what stands above is the machine's."""
    got = find_project_files(RealDisk(), str(folder))
    files = [(file.path, file.text) for file in got.files]
    left_out = [(one.path, one.why) for one in got.left_out]
    return (
        [(path.removeprefix(f"{top}/"), text) for path, text in files if path.startswith(str(top))],
        [(path.removeprefix(f"{top}/"), why) for path, why in left_out if path.startswith(str(top))],
    )


def test_they_are_found_root_most_first_and_one_a_folder(deep: Path, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("\n outer \n")
    (tmp_path / "CLAUDE.md").write_text("not this one")
    (deep / "CLAUDE.md").write_bytes(b"\xef\xbb\xbfinner \xff\r\n")
    (deep / "below").mkdir()
    (deep / "below" / "AGENTS.md").write_text("not above the folder")

    assert found(deep, tmp_path) == ([("AGENTS.md", "outer"), ("a/b/CLAUDE.md", "inner �")], [])


def test_a_file_that_is_too_large_and_one_that_is_none_are_left_out_and_named(deep: Path, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"x" * (MOST_FILE_BYTES + 1))
    (tmp_path / "a" / "AGENTS.md").mkdir()
    (deep / "AGENTS.md").write_bytes(b"x" * MOST_FILE_BYTES)

    files, left_out = found(deep, tmp_path)

    assert [path for path, _ in files] == ["a/b/AGENTS.md"]
    assert left_out == [("AGENTS.md", "it has more than 262,144 bytes"), ("a/AGENTS.md", "Is a directory")]


class Refusing(RealDisk):
    """A disk that refuses one path; what it opens, it closes."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.open = 0

    def open_read(self, path: str) -> int:
        if path == self.path:
            raise PermissionError(13, "Permission denied")
        descriptor = super().open_read(path)
        self.open += 1
        return descriptor

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self.open -= 1


def test_a_file_that_may_not_be_read_is_left_out_and_the_others_are_not(deep: Path, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("outer")
    (deep / "AGENTS.md").write_text("inner")
    disk = Refusing(deep / "AGENTS.md")

    got = find_project_files(disk, str(deep))

    assert ProjectFile(str(tmp_path / "AGENTS.md"), "outer") in got.files
    assert [(one.path, one.why) for one in got.left_out] == [(str(deep / "AGENTS.md"), "Permission denied")]
    assert disk.open == 0


def test_a_folder_that_is_not_there_or_is_a_file_has_none(deep: Path, tmp_path: Path) -> None:
    (deep / "file").write_text("x")

    assert found(deep / "gone", tmp_path) == ([], [])
    assert found(deep / "file", tmp_path) == ([], [])


def test_a_path_that_is_not_text_is_told_as_text(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Path(folder).mkdir()
    Path(folder, "AGENTS.md").write_text("odd")

    assert found(folder, tmp_path) == ([("�/AGENTS.md", "odd")], [])
