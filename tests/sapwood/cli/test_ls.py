"""`sapwood ls`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import sapwood
from tests.sapwood.standing import put


def ls(*args: object) -> Result:
    return CliRunner().invoke(sapwood, ["ls", *map(str, args)], standalone_mode=False)


def ids(*args: object) -> list[str]:
    """In the order of the rows."""
    return [one["id"] for one in rows(*args)["sessions"]]


def rows(*args: object) -> Any:
    return json.loads(ls("--json", *args).stdout)


@pytest.fixture(name="home")
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "pi"))
    put(tmp_path / "data" / "sapwood" / "sessions" / "--home-dev--", "ours", "ash", hour=1)
    put(tmp_path / "pi" / "sessions" / "--home-dev--", "pis", "oak", hour=2)
    return tmp_path


def test_without_a_folder_it_lists_this_users_sessions_and_pis_where_asked(home: Path) -> None:
    assert ids() == ["ours"]
    assert ids("--pi") == ["pis"]
    assert ids("--pi", home / "data" / "sapwood" / "sessions") == ["pis", "ours"]


def test_a_row_a_session_below_a_heading(home: Path) -> None:
    result = ls()

    heading, row = result.stdout.splitlines()
    assert heading.startswith("last activity")
    assert row.split() == ["2026-03-01", "01:00", *row.split()[2:4], "ours", "ash", "/home/dev"]
    assert (result.return_value, result.stderr) == (0, "")


def test_nothing_is_listed_without_a_word_where_there_is_nothing(tmp_path: Path) -> None:
    assert (ls(tmp_path).output, ls(tmp_path).return_value) == ("", 0)
    assert rows(tmp_path) == {"sessions": [], "unlisted": []}


def test_sessions_are_sorted_and_cut_as_asked(tmp_path: Path) -> None:
    put(tmp_path, "a", "x" * 500, hour=1)
    put(tmp_path, "b", "y", hour=3)
    put(tmp_path, "c", "w" * 90, hour=2)

    assert ids(tmp_path) == ["b", "c", "a"]
    assert ids(tmp_path, "--sort", "size") == ["a", "c", "b"]
    assert ids(tmp_path, "--sort", "name") == ["c", "a", "b"]
    assert len(ids(tmp_path, "--sort", "created")) == 3
    assert ids(tmp_path, "--limit", "2") == ["b", "c"]


def test_sessions_of_the_present_folder_and_those_in_which_something_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "s", "here", "ash", cwd=os.getcwd())  # noqa: PTH109 - it is text
    put(tmp_path / "s", "there", "oak")

    assert ids("s", "--here") == ["here"]
    assert ids("s", "--search", "OAK") == ["there"]


def test_a_scan_tells_more(tmp_path: Path) -> None:
    path = put(tmp_path, "a")
    path.write_bytes(path.read_bytes() + b'{"torn')

    (one,) = rows(tmp_path, "--scan")["sessions"]

    assert (one["stats"]["entries"], one["stats"]["own"]["spent"]["input"]) == (2, 7)
    assert [record["kind"] for record in one["damage"]] == ["torn_tail"]
    assert "damaged in 1 place" in ls(tmp_path, "--scan").stdout


def test_what_is_no_session_is_told_beside(tmp_path: Path) -> None:
    put(tmp_path, "a")
    (tmp_path / "odd.jsonl").write_bytes(b"hello\n")

    result = ls(tmp_path)

    assert result.stderr == f"sapwood: {tmp_path}/odd.jsonl is not listed: it has no session header\n"
    assert (result.return_value, len(result.stdout.splitlines())) == (0, 2)
    assert rows(tmp_path)["unlisted"] == [{"path": f"{tmp_path}/odd.jsonl", "why": "it has no session header"}]


def test_a_folder_that_is_not_there_is_told_with_exit_code_2(tmp_path: Path) -> None:
    assert ls(tmp_path / "gone").return_value == 2
    assert ls(tmp_path / "gone", "--json").return_value == 2


@pytest.mark.slow
def test_a_row_is_written_as_soon_as_it_is_found(tmp_path: Path) -> None:
    """Into a pipe too: whoever reads sees the first row while the others are looked for."""
    put(tmp_path, "new", "needle", hour=9)
    path = put(tmp_path, "old", hour=1)
    with path.open("ab") as file:
        for _ in range(200):
            file.write(b'{"type":"custom","id":"x","parentId":null,"data":"' + b"x" * (1 << 20) + b'"}\n')
    os.utime(path, (0, 0))

    with subprocess.Popen(
        [sys.executable, "-m", "sapwood", "ls", str(tmp_path), "--search", "needle"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert "needle" in process.stdout.readline()
        assert process.poll() is None
        process.terminate()
