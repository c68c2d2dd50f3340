"""What goes wrong with a file, in one line each, with its exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood.cli.main import sapwood
from sapwood.cli.session_file import session_at
from sapwood.cli.trouble import Trouble

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'


def trouble(path: Path) -> tuple[int, str]:
    with pytest.raises(Trouble) as caught, session_at(str(path)):
        pass
    return caught.value.exit_code, caught.value.format_message().replace(str(path), "PATH")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert trouble(tmp_path / "gone") == (2, "PATH is not there: check the spelling, or give the path from here")


def test_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")

    assert trouble(tmp_path / "link") == (
        2,
        f"PATH cannot be read: it is a link to {tmp_path / 'gone'}, which is missing",
    )


def test_a_pipe_a_loop_and_a_name_that_is_too_long(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")

    assert trouble(tmp_path / "pipe") == (2, "PATH cannot be read: it is no regular file, but a pipe or a device")
    assert trouble(tmp_path / "loop") == (2, "PATH cannot be read: too many levels of symbolic links")
    assert trouble(tmp_path / ("x" * 300))[1].endswith("cannot be read: file name too long")


@pytest.mark.parametrize(
    ("name", "words"),
    [("", "the name of the file is empty: name a .jsonl file"), ("a\n\x1b[31m", "a��[31m is not there")],
)
def test_a_strange_name_is_told_in_one_visible_line(name: str, words: str) -> None:
    with pytest.raises(Trouble, match=r".") as caught, session_at(name):
        pass

    assert caught.value.format_message().startswith(words)


def test_a_folder(tmp_path: Path) -> None:
    assert trouble(tmp_path) == (2, "PATH is a folder: name one of the .jsonl files in it")


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert trouble(tmp_path / "file" / "in it")[0] == 2


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the system call is made to refuse."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(HEADER)

    def refuse(*args: object, **more: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)

    assert trouble(path) == (2, "PATH may not be read: ask its owner, or copy it to where you may (chmod u+r)")


@pytest.mark.parametrize("content", [b"hello\n", b"\x00\x01", b"{}\n", b"[]", b'{"type":"message"}\n'])
def test_a_file_that_is_no_session(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)

    code, message = trouble(path)

    assert code == 4
    assert message.startswith("PATH is no session")
    assert path.read_bytes() == content


def test_a_session_is_handed_out_and_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(HEADER)

    with session_at(str(path)) as session:
        assert session.header.id == "s"

    assert path.read_bytes() == HEADER


@pytest.mark.parametrize("command", ["tree", "show"])
@pytest.mark.parametrize(
    ("content", "code", "status"), [(None, 2, "unreadable"), (b"hello\n", 4, "no-session"), ("folder", 2, "unreadable")]
)
def test_in_json_a_file_that_fails_is_a_document_as_check_has_it(
    command: str, content: bytes | str | None, code: int, status: str, tmp_path: Path
) -> None:
    """This used to print nothing."""
    path = tmp_path / "s.jsonl"
    if content == "folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)

    result = CliRunner().invoke(sapwood, [command, "--json", str(path)])

    checked = json.loads(CliRunner().invoke(sapwood, ["check", "--json", str(path)]).stdout)["files"][0]
    value = json.loads(result.stdout)
    assert (result.exit_code, value["status"]) == (code, status)
    assert value == {key: checked[key] for key in ("path", "status", "error")}
    assert result.stderr == ""  # it is told in one place, as by `check`


@pytest.mark.parametrize("command", ["tree", "show"])
def test_an_empty_file_has_no_session_and_so_no_id(command: str, tmp_path: Path) -> None:
    """It had another one each time."""
    path = tmp_path / "s.jsonl"
    path.touch()

    first, second = (CliRunner().invoke(sapwood, [command, "--json", str(path)]).stdout for _ in range(2))

    assert json.loads(first)["session"] == {
        "id": None, "path": str(path), "version": 3, "cwd": "", "name": None, "parentSession": None
    }  # fmt: skip
    assert first == second
