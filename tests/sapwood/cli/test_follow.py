"""`sapwood follow`: a process, as a person starts it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood.cli.main import sapwood
from tests.sapwood.cli.sessions import DATA
from tests.store.stores import HEAD, file_of, line


@contextmanager
def followed(path: Path, *options: str) -> Generator[subprocess.Popen[str]]:
    """A process that follows the file; it is ended at the end, if it has not ended by then."""
    words = [sys.executable, "-m", "sapwood", "follow", str(path), *options]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    """The next line that it says: whoever reads it has it at once."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


@pytest.mark.slow
def test_what_comes_is_a_line_until_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(line("a", name="x", kind="session_info"), line("b", "a", "session_info", name="ready")))
    with followed(path, "--last", "1") as process:
        assert said(process) == "b  session_info ready"
        with path.open("ab") as file:
            file.write(line("c", "b", "session_info", name="\x1b[1mbold") + b"\nhalf")
        assert said(process) == "c  session_info �[1mbold"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)

    assert (process.returncode, out, err.strip()) == (130, "", "")


@pytest.mark.slow
def test_a_lost_file_ends_it_and_programs_are_told_as_events(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(line("a"), b"rubbish", line("b", "a")))
    with followed(path, "--json", "--all") as process:
        events = [json.loads(said(process)) for _ in range(3)]
        path.unlink()
        out, err = process.communicate(timeout=10)

    assert [event["type"] for event in events] == ["damage_found", "entry_appended", "entry_appended"]
    assert [event.get("entryId") for event in events] == [None, "a", "b"]
    assert json.loads(out) == {"type": "session_file_lost", "path": str(path), "what": "deleted"}
    assert (process.returncode, err) == (2, "")


@pytest.mark.slow
def test_for_people_the_loss_and_the_damage_are_told_on_the_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(line("a"), b"rubbish"))
    with followed(path) as process:
        assert said(process) == "a  custom       (a kind that this release does not know)"
        path.write_bytes(HEAD)
        out, err = process.communicate(timeout=10)

    assert (process.returncode, out) == (2, "")
    assert err.splitlines() == [
        "sapwood: the file is damaged in 1 place: see `sapwood check`",
        f"sapwood: somebody has shortened {path}: what stands there now is to be followed anew",
    ]


@pytest.mark.slow
def test_a_reader_that_went_away_ends_it_quietly(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(line("a")))
    with followed(path) as process:
        said(process)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        with path.open("ab") as file:
            file.write(line("b", "a") + b"\n")

        assert (process.wait(timeout=10), process.stderr.read()) == (0, "")


@pytest.mark.parametrize(("content", "code"), [(None, 2), (b"hello\n", 4)])
@pytest.mark.parametrize("as_json", [False, True])
def test_what_cannot_be_followed_is_told_once(content: bytes | None, code: int, as_json: bool, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    if content is not None:
        path.write_bytes(content)
    result = CliRunner().invoke(sapwood, ["follow", str(path), *(["--json"] if as_json else [])])

    assert result.exit_code == code
    if as_json:
        assert json.loads(result.stdout)["path"] == str(path)
    else:
        assert (result.stdout, len(result.stderr.splitlines())) == ("", 1)


def test_the_number_of_entries_is_one() -> None:
    assert CliRunner().invoke(sapwood, ["follow", str(DATA / "v2.jsonl"), "--last", "-1"]).exit_code == 2
