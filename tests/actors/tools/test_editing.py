"""An edit changes what it names and no other byte, or it changes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from sapwood.actors.tools import editing
from sapwood.actors.tools.editing import edit_file
from sapwood.actors.tools.edits import Edit, Span, line_of, planned
from sapwood.actors.tools.tool import BadArguments
from tests.actors.tools.calling import as_nobody, called, details, open_folder, refusal, text
from tests.build import call


def edit(old: str, new: str, **more: object) -> dict[str, object]:
    return {"old_text": old, "new_text": new, **more}


@pytest.mark.parametrize("edits", [[], [{"old_text": "a"}], "a", [{"old_text": 1, "new_text": []}]])
def test_what_is_no_edit_is_refused(edits: object) -> None:
    with pytest.raises(BadArguments):
        edit_file.read(call("c1", "edit", path="a", edits=edits))


def test_what_is_no_text_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"a\0b")
    (tmp_path / "notes.txt").touch()

    def why(path: str) -> str:
        return refusal(called(edit_file, tmp_path, path=path, edits=[edit("a", "b")]))

    assert why("note.txt") == f"There is no {tmp_path}/note.txt. {tmp_path} has notes.txt."
    assert "is a folder, not a file" in why(".")
    assert "is no file: it is a pipe" in why("pipe")
    assert why("binary") == f"{tmp_path}/binary is no text: it is a binary file of 3 bytes."
    monkeypatch.setattr(editing, "MOST_BYTES", 2)
    assert f"{tmp_path}/binary is too large: it has 3 bytes, and at most 2 are edited." in why("binary")


def test_what_may_not_be_written_is_told() -> None:
    with open_folder() as folder:
        (folder / "a").write_text("old")
        (folder / "a").chmod(0o444)
        with as_nobody():
            result = called(edit_file, folder, path="a", edits=[edit("old", "new")])
        assert f"{folder}/a cannot be written: permission is denied" in refusal(result)
        assert (folder / "a").read_text() == "old"


def test_somebody_elses_change_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_text("one")

    def meanwhile(text: str, edits: Sequence[Edit]) -> tuple[Span, ...]:
        path.write_text("theirs")
        return planned(text, edits)

    monkeypatch.setattr(editing, "planned", meanwhile)

    assert "was changed by somebody else" in refusal(called(edit_file, tmp_path, path="a", edits=[edit("one", "1")]))
    assert path.read_text() == "theirs"


def test_when_one_of_several_cannot_be_made_none_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one two")
    before = path.stat()

    result = called(edit_file, tmp_path, path="a", edits=[edit("one", "1"), edit("three", "3")])

    assert "Nothing was changed: old_text of edit 2 was not found." in refusal(result)
    assert (path.read_text(), path.stat().st_mtime_ns) == ("one two", before.st_mtime_ns)
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("half", [0xD800, 0xDCFF])
def test_half_a_character_is_refused(half: int, tmp_path: Path) -> None:
    """One of them used to be written as the byte that Python takes it for."""
    (tmp_path / "a").write_text("one")

    result = called(edit_file, tmp_path, path="a", edits=[edit("one", chr(half))])

    assert refusal(result) == "Nothing was changed: there is half a character in a new_text."


def test_what_is_not_replaced_stays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo \xff\xe9\r\nthree\n\rfour")
    path.chmod(0o750)

    result = called(edit_file, tmp_path, path="a", edits=[edit("one\ntwo", "1\n2"), edit("four", "4\n")])

    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2 \xff\xe9\r\nthree\n\r4\r\n"
    assert path.stat().st_mode & 0o777 == 0o750
    assert not result.is_error


def test_what_was_done_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\nthree\n")

    result = called(edit_file, tmp_path, path="a", edits=[edit("two", "2")])

    assert text(result) == f"Replaced text in {tmp_path}/a in line 2."
    assert details(result) == {
        "diff": "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three",
        "firstLine": 2,
        "replaced": 1,
    }
    again = called(edit_file, tmp_path, path="a", edits=[edit("e", "E", replace_all=True)])
    assert text(again) == f"Replaced text in {tmp_path}/a in 3 places, the first in line 1, the last in line 3."


@pytest.mark.slow
def test_many_places_cost_no_look_at_the_text_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each used to have its lines counted from the beginning of the text."""
    looks: list[int] = []

    def counted(text: str, at: int) -> int:
        looks.append(at)
        return line_of(text, at)

    monkeypatch.setattr(editing, "line_of", counted)
    (tmp_path / "a").write_text("a\n" * 100_000)

    said = text(called(edit_file, tmp_path, path="a", edits=[edit("a", "b", replace_all=True)]))

    assert said.endswith("in 100,000 places, the first in line 1, the last in line 100,000.")
    assert (tmp_path / "a").read_text() == "b\n" * 100_000
    assert len(looks) == 2


def test_through_a_link_the_model_is_told_what_it_edited(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")

    said = text(called(edit_file, tmp_path, path="link", edits=[edit("old", "new")]))

    assert said.endswith(f"{tmp_path}/link is a link: {tmp_path}/real has the content.")
    assert (tmp_path / "link").is_symlink()


def test_it_writes_its_path_and_no_two_calls_at_once() -> None:
    assert (edit_file.reads, edit_file.writes, edit_file.mode) == ((), ("path",), "sequential")
