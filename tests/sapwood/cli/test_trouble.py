"""What goes wrong with a file, in one line each, with its exit code."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from sapwood.cli.trouble import NoSession, Trouble, session_at

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'


def trouble(path: Path) -> tuple[int, str]:
    with pytest.raises(Trouble) as caught, session_at(str(path)):
        pass
    return caught.value.exit_code, caught.value.format_message().replace(str(path), "PATH")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert trouble(tmp_path / "gone") == (2, "PATH is not there: check the spelling, or give the path from here")


def test_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")

    assert trouble(tmp_path / "link")[0] == 2


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


def test_trouble_is_one_line_on_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    NoSession("it is none").show()

    assert capsys.readouterr() == ("", "sapwood: it is none\n")
    assert issubclass(Trouble, click.ClickException)


def test_a_session_is_handed_out_and_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(HEADER)

    with session_at(str(path)) as session:
        assert session.header.id == "s"

    assert path.read_bytes() == HEADER
