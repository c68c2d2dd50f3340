"""Text is read by lines and images by their kind; what is neither, or too much, is told as that."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from sapwood.actors.tools import reading
from sapwood.actors.tools.editing import edit_file
from sapwood.actors.tools.reading import LONGEST_LINE, MOST_BYTES, MOST_LINES, image_type, read_file
from sapwood.actors.tools.tool import BadArguments
from sapwood.store.disk import RealDisk
from tests.actors.tools.calling import as_nobody, blocks, called, details, open_folder, refusal, text
from tests.build import call

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def test_a_file_that_is_not_there_is_told_with_what_is_near(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    assert refusal(called(read_file, tmp_path, path="note.txt")) == (
        f"There is no {tmp_path}/note.txt. {tmp_path} has notes.txt."
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "is a folder, not a file" in refusal(called(read_file, tmp_path, path="."))


def test_a_pipe_is_no_file_and_holds_up_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert refusal(called(read_file, tmp_path, path="pipe")) == (
        f"{tmp_path}/pipe is no file: it is a pipe, a socket or a device."
    )
    assert "/dev/zero is no file" in refusal(called(read_file, tmp_path, path="/dev/zero"))


def test_a_file_that_would_be_waited_for_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as /proc/kmsg: the model used to be told that None has no attribute."""
    nothing_yet, writes = os.pipe()
    os.set_blocking(nothing_yet, False)

    def open_it(_disk: RealDisk, _path: str) -> int:
        return os.dup(nothing_yet)

    monkeypatch.setattr(RealDisk, "open_read", open_it)
    why = f"{tmp_path}/log cannot be read: nothing is there now, and whoever writes it may go on."

    assert refusal(called(read_file, tmp_path, path="log")) == why
    edits = [{"old_text": "a", "new_text": "b"}]
    assert refusal(called(edit_file, tmp_path, path="log", edits=edits)) == why
    os.close(nothing_yet)
    os.close(writes)


def test_what_may_not_be_read_is_told() -> None:
    with open_folder() as folder:
        (folder / "secret").touch()
        (folder / "secret").chmod(0)
        with as_nobody():
            result = called(read_file, folder, path="secret")
    assert f"{folder}/secret cannot be read: permission is denied" in refusal(result)


def test_a_name_that_no_file_can_have_and_a_loop_are_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")

    assert "cannot be read: File name too long." in refusal(called(read_file, tmp_path, path="x" * 300))
    assert "cannot be read: Too many levels of symbolic links." in refusal(called(read_file, tmp_path, path="loop"))
    assert refusal(called(read_file, tmp_path, path="")) == "The path is empty."


def test_a_binary_file_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.out").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "wide.txt").write_text("wide", encoding="utf-16")

    assert refusal(called(read_file, tmp_path, path="a.out")) == (
        f"{tmp_path}/a.out is no text: it is a binary file of 6 bytes. Commands such as file or xxd tell more."
    )
    assert "wide.txt is UTF-16, and only UTF-8 is read" in refusal(called(read_file, tmp_path, path="wide.txt"))


def test_a_file_that_is_too_large_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_FILE_BYTES", 3)
    (tmp_path / "log").write_text("1234")

    assert f"{tmp_path}/log is too large: it has 4 bytes, and at most 3 are read." in refusal(
        called(read_file, tmp_path, path="log")
    )


@pytest.mark.parametrize("arguments", [{"offset": 0}, {"limit": 0}, {"offset": "first"}])
def test_a_line_that_is_none_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(BadArguments):
        read_file.read(call("c1", "read", path="a", **arguments))


def test_a_line_behind_the_end_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n")

    assert refusal(called(read_file, tmp_path, path="a", offset=3)) == (
        f"{tmp_path}/a has 2 lines: there is no line 3."
    )


def test_an_empty_file_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "a").touch()

    assert text(called(read_file, tmp_path, path="a")) == f"[{tmp_path}/a is empty.]"
    assert refusal(called(read_file, tmp_path, path="a", offset=2)) == f"{tmp_path}/a has 0 lines: there is no line 2."


def test_a_text_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\n\ttwo \xff\n\nfour")

    result = called(read_file, tmp_path, path="a")

    assert text(result) == "one\n\ttwo �\n\nfour"
    assert details(result) == {"firstLine": 1, "lastLine": 4, "lines": 4}


def test_a_part_says_what_part_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(1, 11)))

    assert text(called(read_file, tmp_path, path="a", offset=2, limit=2)) == (
        "2\n3\n[Lines 2 to 3 of 10. Read on with offset=4.]"
    )
    assert text(called(read_file, tmp_path, path="a", offset=9)) == "9\n10\n[Lines 9 to 10: the end of the file.]"
    assert text(called(read_file, tmp_path, path="a", limit=10)).endswith("9\n10")


def test_more_lines_than_are_read_at_once_are_read_on(tmp_path: Path) -> None:
    count = MOST_LINES + 1
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(1, count + 1)))

    for limit in (None, count):
        first = text(called(read_file, tmp_path, path="a", limit=limit)).split("\n")
        assert first[-2:] == [str(MOST_LINES), f"[Lines 1 to 2,000 of 2,001. Read on with offset={count}.]"]
    assert text(called(read_file, tmp_path, path="a", offset=count)).split("\n")[0] == str(count)


def test_more_bytes_than_are_read_at_once_are_read_on(tmp_path: Path) -> None:
    line = "é" * 49 + "\n"
    (tmp_path / "a").write_text(line * 2000)
    whole = MOST_BYTES // len(line.encode())

    result = called(read_file, tmp_path, path="a")

    assert text(result) == line * whole + f"[Lines 1 to {whole} of 2,000. Read on with offset={whole + 1}.]"


def test_a_line_that_is_too_long_keeps_its_ends_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("first\n" + "x" * 10_000 + "\nlast\n")

    said = text(called(read_file, tmp_path, path="a"))

    assert said.startswith("first\nxxx")
    assert "bytes left out ...]\nxxx" in said
    assert said.endswith(
        "xxx\nlast\n[Too long to be shown whole, each over 4,096 bytes: line 2. cut -c shows parts of them.]"
    )
    assert len(said) < LONGEST_LINE + 120


def test_of_many_lines_that_are_too_long_some_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(("x" * 5000 + "\n") * 12)

    said = text(called(read_file, tmp_path, path="a"))

    assert "line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …." in said


@pytest.mark.parametrize(
    ("beginning", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"GIF87a..", "image/gif"),
        (b"RIFF\1\2\3\4WEBPVP8 ", "image/webp"),
        (b"RIFF\1\2\3\4WAVEfmt ", None),
        (b"GIF80a", None),
        (b"BM", None),
        (b"", None),
    ],
)
def test_an_image_is_known_by_its_beginning(beginning: bytes, kind: str | None) -> None:
    assert image_type(beginning) == kind


def test_an_image_is_read_as_one_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(PNG)

    result = called(read_file, tmp_path, path="a.txt")
    note, image = blocks(result)

    assert note.text == f"{tmp_path}/a.txt: image/png, 28 bytes"
    assert (base64.b64decode(image.data), image.mime_type) == (PNG, "image/png")
    assert not result.is_error


def test_an_image_that_is_too_large_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_IMAGE_BYTES", 27)
    (tmp_path / "a.png").write_bytes(PNG)

    assert refusal(called(read_file, tmp_path, path="a.png")) == (
        f"{tmp_path}/a.png is too large an image: it has 28 bytes, and at most 27 are taken."
    )


def test_the_largest_image_is_five_mebibytes_in_base64() -> None:
    assert len(base64.b64encode(b"x" * reading.MOST_IMAGE_BYTES)) == 5 << 20


def test_the_model_is_told_the_limits_that_hold() -> None:
    assert f"{MOST_LINES:,} lines or {MOST_BYTES >> 10} KiB" in read_file.description
    assert (read_file.reads, read_file.writes) == (("path",), ())
