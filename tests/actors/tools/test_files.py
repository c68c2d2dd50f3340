"""What is wrong with a path is told in words that help."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sapwood.actors.tools import files
from sapwood.actors.tools.files import Unfit, place, refused, why_not
from tests.actors.tools.calling import as_nobody, open_folder


def words(number: int, path: Path, doing: str = "read") -> str:
    return str(why_not(OSError(number, os.strerror(number)), str(path), doing))


def test_a_path_is_taken_from_the_folder(tmp_path: Path) -> None:
    assert place(str(tmp_path), "a/../b") == f"{tmp_path}/a/../b"  # a may be a link
    assert place(str(tmp_path), "/x") == "/x"
    assert place(str(tmp_path / "gone"), "/x") == "/x"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (" ", "The path is empty."),
        ("a\0b", "'a\\x00b' is no path: there is a NUL in it."),
        ("a\ud800", "'a\\ud800' is no path: there is half a character in it."),
    ],
)
def test_what_is_no_path_is_refused(path: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(Unfit) as caught:
        place(str(tmp_path), path)
    assert str(caught.value) == why


def test_in_a_folder_that_is_gone_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(Unfit, match=r"the working folder .*/gone is not there, or is none"):
        place(str(tmp_path / "gone"), "a.txt")


def test_of_what_is_not_there_what_has_a_name_like_it_is_told(tmp_path: Path) -> None:
    for name in ("READING.py", "writing.py", "x"):
        (tmp_path / name).touch()

    missing = tmp_path / "reading.py"
    assert words(errno.ENOENT, missing) == f"There is no {missing}. {tmp_path} has READING.py, writing.py."


def test_of_what_is_not_there_the_deepest_folder_that_is_is_told(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()

    missing = tmp_path / "test" / "deep" / "a.py"
    assert words(errno.ENOENT, missing) == (
        f"There is no {missing}: {tmp_path} is there, test in it is not. {tmp_path} has tests."
    )


def test_where_nothing_is_like_it_that_is_told(tmp_path: Path) -> None:
    assert words(errno.ENOENT, tmp_path / "a") == (
        f"There is no {tmp_path}/a. Nothing in {tmp_path} has a name like it."
    )


def test_a_link_that_leads_nowhere_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("gone")

    assert words(errno.ENOENT, tmp_path / "link") == f"{tmp_path}/link is a link to gone, which is not there."


def test_a_folder_is_told_with_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert words(errno.EISDIR, tmp_path) == f"{tmp_path} is a folder, not a file. It is empty."
    for name in "cab":
        (tmp_path / name).touch()
    assert words(errno.EISDIR, tmp_path) == f"{tmp_path} is a folder, not a file. In it: a, b, c."
    monkeypatch.setattr(files, "LISTED", 2)
    assert words(errno.EISDIR, tmp_path) == f"{tmp_path} is a folder, not a file. In it: a, b, and 1 more."


def test_a_folder_that_nobody_may_look_into_is_told() -> None:
    with open_folder() as folder:
        folder.chmod(0o311)
        with as_nobody():
            inside = words(errno.EISDIR, folder)
            missing = words(errno.ENOENT, folder / "a")
    assert inside == f"{folder} is a folder, not a file. What is in it cannot be seen."
    assert missing == f"There is no {folder}/a. What is in {folder} cannot be seen."


def test_a_file_above_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()

    path = tmp_path / "a.txt" / "b" / "c"
    assert words(errno.ENOTDIR, path) == f"{path} is no path: {tmp_path}/a.txt is a file, and nothing can be in it."


def test_what_is_forbidden_is_told_with_who_we_are(tmp_path: Path) -> None:
    assert words(errno.EACCES, tmp_path, "written") == (
        f"{tmp_path} cannot be written: permission is denied to the user that runs this (uid {os.geteuid()})."
    )


def test_all_else_is_told_in_the_systems_words(tmp_path: Path) -> None:
    assert words(errno.EIO, tmp_path) == f"{tmp_path} cannot be read: Input/output error."
    assert str(why_not(OSError("odd"), "/x", "read")) == "/x cannot be read: odd."


def test_a_refusal_is_an_error_for_the_model() -> None:
    assert refused(Unfit("no")).is_error
    assert refused(Unfit("no")).content == "no"
