"""A file is written as a whole, and what was done is told."""

from __future__ import annotations

from pathlib import Path

from sapwood.actors.tools.writing import write_file
from tests.actors.tools.calling import called, details, refusal, text


def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    result = called(write_file, tmp_path, path="a/b/c.txt", content="café\n")

    assert (tmp_path / "a/b/c.txt").read_bytes() == "café\n".encode()
    assert text(result) == f"Wrote 6 bytes to {tmp_path}/a/b/c.txt, a new file."
    assert details(result) == {"bytes": 6, "created": True}


def test_what_was_there_is_replaced_and_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 2000)

    result = called(write_file, tmp_path, path="a", content="")

    assert (tmp_path / "a").read_text() == ""
    assert text(result) == f"Wrote 0 bytes to {tmp_path}/a, in the place of 2,000."
    assert not details(result)["created"]


def test_through_a_link_the_model_is_told_where_it_wrote(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")

    assert text(called(write_file, tmp_path, path="link", content="new")) == (
        f"Wrote 3 bytes to {tmp_path}/real, in the place of 3. {tmp_path}/link is a link: {tmp_path}/real has the content."
    )


def test_half_a_character_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    result = called(write_file, tmp_path, path="a/b", content="ab\ud800")

    assert refusal(result) == "Nothing was written: character 3 of the content is half a character."
    assert [*tmp_path.iterdir()] == []


def test_what_is_refused_is_an_error(tmp_path: Path) -> None:
    assert "is a folder" in refusal(called(write_file, tmp_path, path=".", content=""))
    assert "a/ is the name of a folder" in refusal(called(write_file, tmp_path, path="a/", content=""))
    assert refusal(called(write_file, tmp_path, path="", content="")) == "The path is empty."
    assert "is not there, or is none" in refusal(called(write_file, tmp_path / "gone", path="a", content=""))
    assert [*tmp_path.iterdir()] == []


def test_it_writes_its_path_and_no_two_calls_at_once() -> None:
    assert (write_file.reads, write_file.writes, write_file.mode) == ((), ("path",), "sequential")
