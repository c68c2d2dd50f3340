"""What stands at a path, in words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sapwood.words.paths import missing


def test_a_file_and_a_link_to_one_are_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")

    assert missing(tmp_path / "file") is None
    assert missing(str(tmp_path / "link")) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "the name is empty"),
        ("gone", "no such file"),
        ("x" * 300, "file name too long"),
        ("a\0b", "no file can have this name"),
        ("\ud800", "no file can have this name"),
        ("link", "it is a link to gone��[31m, which is missing"),
        ("loop", "too many levels of symbolic links"),
        ("file/in it", "not a directory"),
        (".", "it is a folder, not a file"),
        ("pipe", "it is no regular file, but a pipe or a device"),
        ("/dev/zero", "it is no regular file, but a pipe or a device"),
    ],
)
def test_what_is_no_file_is_told(name: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("gone\n\x1b[31m")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")

    assert missing(name) == why
