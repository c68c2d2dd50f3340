"""The files of a project are found from the root of the disk down, and what cannot be had of them is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sapwood.actors.agent.prepare import ProjectFile, project_text
from sapwood.actors.agent.project_files import MOST_FILE_BYTES, find_project_files
from sapwood.actors.projection.section import accepted
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
    (deep / "CLAUDE.md").write_bytes(b"\xef\xbb\xbfinner \xc3\xa9\r\n")
    (deep / "below").mkdir()
    (deep / "below" / "AGENTS.md").write_text("not above the folder")

    assert found(deep, tmp_path) == ([("AGENTS.md", "outer"), ("a/b/CLAUDE.md", "inner é")], [])


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


def test_a_folder_that_is_not_there_or_is_a_file_is_named_and_those_above_it_count(deep: Path, tmp_path: Path) -> None:
    """It used to be passed over in silence, also where a host had named it."""
    (deep / "file").write_text("x")
    (deep / "AGENTS.md").write_text("above")
    above = [("a/b/AGENTS.md", "above")]

    assert found(deep / "gone", tmp_path) == (above, [("a/b/gone", "there is no such folder")])
    assert found(deep / "file" / "gone", tmp_path) == (above, [("a/b/file/gone", "there is no such folder")])
    assert found(deep / "file", tmp_path) == (above, [("a/b/file", "it is a file and no folder")])
    files, [(path, why)] = found(f"{deep}/caf�", tmp_path)
    assert (files, path) == (above, "a/b/caf�")
    assert why.endswith("a name that is not UTF-8 is not kept: give it as project_context")


@pytest.mark.parametrize("folder", ["", ".", "b", "../a", "C:\\\\work"])
def test_the_folder_of_the_process_is_never_meant(
    folder: str, deep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session without a folder, or with one of another system, used to get the AGENTS.md of whatever folder its process was in."""
    for place in (tmp_path, tmp_path / "a", deep):
        (place / "AGENTS.md").write_text("somebody's")
    monkeypatch.chdir(tmp_path / "a")

    got = find_project_files(RealDisk(), folder)

    assert got.files == ()
    [left_out] = got.left_out
    assert (left_out.path, "folder" in left_out.why or "nobody knows where" in left_out.why) == (
        folder or "AGENTS.md",
        True,
    )


@pytest.mark.parametrize("folder", ["/a\0b", "/a\ud800b"])
def test_a_name_that_nothing_can_have_is_told(folder: str) -> None:
    got = find_project_files(RealDisk(), folder)

    assert (got.files, [one.why for one in got.left_out]) == ((), ["nothing can have this name"])


@pytest.mark.parametrize(
    ("junk", "why"),
    [
        (b"\xff" * 200_000, "it is no text in UTF-8"),
        (b"\0" * 9, "it is no text"),
        ("Text".encode("utf-16"), "it is no text in UTF-8"),
        (b"x" * (MOST_FILE_BYTES + 1), "it has more than 262,144 bytes"),
    ],
    ids=["bytes", "nuls", "utf-16", "large"],
)
def test_what_is_no_text_is_left_out_and_hides_nothing_beside_it(
    junk: bytes, why: str, deep: Path, tmp_path: Path
) -> None:
    (tmp_path / "a" / "AGENTS.md").write_bytes(junk)
    (tmp_path / "a" / "CLAUDE.md").write_text("beside")
    (deep / "AGENTS.md").write_text("inner")

    assert found(deep, tmp_path) == ([("a/CLAUDE.md", "beside"), ("a/b/AGENTS.md", "inner")], [("a/AGENTS.md", why)])


def test_a_blank_file_hides_nothing_beside_it(deep: Path, tmp_path: Path) -> None:
    """It used to hide the CLAUDE.md."""
    (deep / "AGENTS.md").write_text(" \n")
    (deep / "CLAUDE.md").write_text("beside")
    (tmp_path / "AGENTS.md").mkdir()
    (tmp_path / "CLAUDE.md").write_text("outer")

    files, left_out = found(deep, tmp_path)

    assert files == [("CLAUDE.md", "outer"), ("a/b/CLAUDE.md", "beside")]
    assert left_out == [("AGENTS.md", "Is a directory")]


def test_all_files_together_have_room_in_a_section_and_the_innermost_come_first(deep: Path, tmp_path: Path) -> None:
    """Large files above used to take the whole section away, the good inner file with it."""
    (deep / "c" / "d").mkdir(parents=True)
    for place in (tmp_path, tmp_path / "a", deep, deep / "c"):
        (place / "AGENTS.md").write_text("x" * 250_000)
    (deep / "c" / "d" / "AGENTS.md").write_text("inner")
    (tmp_path / "AGENTS.md").write_text("outer")

    got = find_project_files(RealDisk(), str(deep / "c" / "d"))
    files, left_out = found(deep / "c" / "d", tmp_path)

    assert [path for path, _ in files] == ["AGENTS.md", "a/b/AGENTS.md", "a/b/c/AGENTS.md", "a/b/c/d/AGENTS.md"]
    assert left_out == [("a/AGENTS.md", "524,288 bytes are all that such files have room for together")]
    assert isinstance(accepted(project_text(got.files)), str)


def test_a_path_that_is_not_text_is_told_as_text(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Path(folder).mkdir()
    Path(folder, "AGENTS.md").write_text("odd")

    assert found(folder, tmp_path) == ([("�/AGENTS.md", "odd")], [])
