"""`sapwood fork`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood import read
from sapwood.cli.main import sapwood
from tests.build import message_entry, user
from tests.sapwood.cli.sessions import DATA, LATER, session_file


def fork(*args: object) -> Result:
    return CliRunner().invoke(sapwood, ["fork", *map(str, args)])


def two(folder: Path) -> Path:
    return session_file(
        folder, message_entry("aaaa1111", user("one")), message_entry("bbbb2222", user("two"), "aaaa1111")
    )


def test_the_path_of_the_new_session_is_all_that_is_printed(tmp_path: Path) -> None:
    path = two(tmp_path)

    result = fork(path, "aaaa1111")

    (made,) = result.stdout.splitlines()
    with read(made) as session:
        assert [entry.id for entry in session.entries()][:-1] == ["aaaa1111"]
        assert session.header.parent_session == str(path)
    assert (result.exit_code, result.stderr) == (0, "")


def test_it_goes_where_it_is_said_and_tells_of_itself_in_json(tmp_path: Path) -> None:
    path = two(tmp_path)

    told = json.loads(fork(path, "--whole-tree", "--to", tmp_path / "f.jsonl", "--json").stdout)

    with read(tmp_path / "f.jsonl") as session:
        expected = {
            "path": str(tmp_path / "f.jsonl"),
            "sessionId": session.header.id,
            "entries": 2,
            "parent": str(path),
        }
    assert told == expected


def test_an_entry_may_be_named_by_how_its_id_begins(tmp_path: Path) -> None:
    assert json.loads(fork(two(tmp_path), "aaaa", "--json").stdout)["entries"] == 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["cccc"], "Entry cccc not found"),
        (["aaaa1111", "--whole-tree"], "name an entry, or the whole tree"),
        (["--to", "{folder}/s.jsonl"], "EEXIST"),
    ],
)
def test_what_cannot_be_done_is_told_and_makes_nothing(args: list[str], words: str, tmp_path: Path) -> None:
    path = two(tmp_path)
    args = [one.format(folder=tmp_path) for one in args]

    result, as_json = fork(path, *args), fork(path, *args, "--json")

    assert (result.exit_code, as_json.exit_code) == (2, 2)
    assert words in result.stderr
    assert words in json.loads(as_json.stdout)["error"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("content", "code"), [(None, 2), (b"hello\n", 4), (b"", 2), (LATER, 2)])
def test_a_source_that_is_none_is_an_error(content: bytes | None, code: int, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    if content is not None:
        path.write_bytes(content)

    assert fork(path, "--to", tmp_path / "f.jsonl").exit_code == code
    assert not (tmp_path / "f.jsonl").exists()


def test_an_old_session_is_forked_to_a_present_one(tmp_path: Path) -> None:
    fork(DATA / "v1.jsonl", "--whole-tree", "--to", tmp_path / "f.jsonl")

    with read(tmp_path / "f.jsonl") as session, read(DATA / "v1.jsonl") as old:
        assert session.header.version == 3
        assert session.context().messages == old.context().messages
