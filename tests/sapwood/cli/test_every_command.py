"""Every command beside every kind of file: what it answers, with which exit code, and what it leaves alone.

1. The table has a row for each command, and a test says that none is missing.
2. No case is a traceback; a file that is only looked into stays as it was, with nothing beside it.
3. In JSON there is one document, with the same exit code.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

import attrs
import click
import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import COMMANDS, sapwood
from sapwood.store.lock import WriterLock
from tests.build import assistant, call, message_entry, result, usage, user
from tests.sapwood.cli.sessions import LATER, session_file
from tests.store.faults import FaultyDisk
from tests.store.stores import me

Case = Literal["whole", "missing", "damaged", "locked", "foreign", "later", "empty", "huge"]
HUGE: Final = 6_000
"""Entries of two kilobytes: twelve megabytes are more than anything here reads at once."""


def whole(path: Path) -> None:
    said = [
        message_entry("aaaa0001", user("Which wood?")),
        message_entry("aaaa0002", assistant("Ash.", call("c1"), usage=usage(7), stop="toolUse"), "aaaa0001"),
        message_entry("aaaa0003", result("c1"), "aaaa0002"),
    ]
    session_file(path.parent, *said, name=path.name)


def damaged(path: Path) -> None:
    whole(path)
    path.write_bytes(path.read_bytes()[:-30])


def foreign(path: Path) -> None:
    path.write_bytes(b"\x7fELF\0\0\1\1\n" * 9)


def huge(path: Path) -> None:
    ids = [f"{nth:08x}" for nth in range(HUGE)]
    entries = (message_entry(one, user("x" * 2_000), ids[nth - 1] if nth else None) for nth, one in enumerate(ids))
    session_file(path.parent, *entries, name=path.name)


FILES: Final[Mapping[Case, Callable[[Path], object]]] = {
    "whole": whole,
    "missing": lambda _: None,
    "damaged": damaged,
    "locked": whole,
    "foreign": foreign,
    "later": lambda path: path.write_bytes(LATER),
    "empty": lambda path: path.write_bytes(b""),
    "huge": huge,
}


@attrs.frozen
class Row:
    """A command with a file, and its exit code beside each kind of file."""

    args: tuple[str, ...]
    codes: Mapping[Case, int]
    as_json: frozenset[str] = frozenset()
    """The keys of its document where all is well."""
    keys: Mapping[Case, frozenset[str]] = {}
    """Where it is another document."""
    writes: bool = False


def codes(**said: int) -> Mapping[Case, int]:
    return {case: said.get(case, 0) for case in FILES}


TROUBLE: Final = frozenset({"path", "status", "error"})
NONE: Final[Mapping[Case, frozenset[str]]] = {"missing": TROUBLE, "foreign": TROUBLE}
SAYING: Final = ("--model", "openai/gpt-4.1", "--base-url", "http://127.0.0.1:9/v1", "hello", "--session")
TABLE: Final[Mapping[str, Row]] = {
    "check": Row(("{file}",), codes(missing=2, damaged=3, foreign=4), frozenset({"files"})),
    "tree": Row(
        ("{file}",), codes(missing=2, foreign=4), frozenset({"session", "leaf", "position", "entries", "damage"}), NONE
    ),
    "show": Row(
        ("{file}", "--counter", "heuristic"),
        codes(missing=2, foreign=4),
        frozenset(
            {"session", "leaf", "messages", "absent", "gaps", "model", "thinkingLevel", "totals", "usage", "damage"}
        ),
        NONE,
    ),
    "stats": Row(("{file}",), codes(missing=2, foreign=4), frozenset({"sessions", "own"})),
    "ls": Row(("{folder}",), codes(), frozenset({"sessions", "unlisted"})),
    "fork": Row(
        ("{file}", "--to", "{folder}/to.fork"),
        codes(missing=2, foreign=4, later=2, empty=2),
        frozenset({"path", "sessionId", "entries", "parent"}),
        {**NONE, "later": TROUBLE, "empty": TROUBLE},
        writes=True,
    ),
    "replay": Row(("{file}",), dict.fromkeys(FILES, 2)),
    "record": Row(("{file}", "{folder}/to.recording"), dict.fromkeys(FILES, 2)),
}
ASKING: Final = ("run", "chat")
"""They go on with a session, and ask a model: their own tests have them, and here stands what keeps them from it."""
LASTING: Final = ("follow", "serve-local")
"""They go on until they are ended: their own tests have them, and here stands what keeps `follow` from it."""


def invoked(*args: str) -> Result:
    return CliRunner().invoke(sapwood, args, standalone_mode=False)


def code_of(ran: Result) -> int:
    match ran.exception:
        case None:
            return ran.return_value if isinstance(ran.return_value, int) else 0
        case click.ClickException(exit_code=code) | click.exceptions.Exit(exit_code=code):
            return code
        case fault:
            raise fault


def seen(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.iterdir()}


def test_every_command_is_in_the_table() -> None:
    assert TABLE.keys() | {*ASKING, *LASTING} == COMMANDS.keys()


@pytest.mark.parametrize(("case", "code"), [("missing", 2), ("foreign", 4)])
def test_nobody_follows_what_is_no_session(case: Case, code: int, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    FILES[case](path)
    before = seen(tmp_path)

    ran, told = invoked("follow", str(path)), invoked("follow", "--json", str(path))

    assert (code_of(ran), code_of(told)) == (code, code)
    assert json.loads(told.stdout).keys() == TROUBLE
    assert seen(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("name", TABLE)
def test_each_file_has_its_exit_code_and_is_left_alone(name: str, case: Case, tmp_path: Path) -> None:
    row, path, disk = TABLE[name], tmp_path / "s.jsonl", FaultyDisk()
    FILES[case](path)
    if case == "locked":
        WriterLock(disk, me).take(disk.open_read(str(path)), str(path))
    before = seen(tmp_path)
    args = [one.format(file=path, folder=tmp_path) for one in row.args]

    ran = invoked(name, *args)

    assert code_of(ran) == row.codes[case], ran.output
    assert "\x1b" not in ran.output
    assert {one: what for one, what in seen(tmp_path).items() if one != "to.fork"} == before
    assert (tmp_path / "to.fork").exists() == (row.writes and row.codes[case] == 0)
    if row.as_json:
        (tmp_path / "to.fork").unlink(missing_ok=True)
        ran = invoked(name, "--json", *args)
        assert code_of(ran) == row.codes[case]
        assert json.loads(ran.stdout).keys() == row.keys.get(case, row.as_json)
    disk.let_go()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "code", "words"),
    [("foreign", 4, "no session"), ("locked", 2, "in use by"), ("later", 2, "reading only")],
)
@pytest.mark.parametrize("name", ASKING)
def test_a_session_that_cannot_be_gone_on_with_is_told_before_anybody_is_asked(
    name: str, case: Case, code: int, words: str, tmp_path: Path
) -> None:
    path, disk = tmp_path / "s.jsonl", FaultyDisk()
    FILES[case](path)
    if case == "locked":
        WriterLock(disk, me).take(disk.open_read(str(path)), str(path))
    before = seen(tmp_path)
    said = [one for one in SAYING if name == "run" or one != "hello"]

    ran = subprocess.run(
        [sys.executable, "-m", "sapwood", name, *said, str(path)],
        input="hello\n",
        capture_output=True,
        text=True,
        check=False,
    )

    code = 1 if (name, case) == ("chat", "later") else code  # it is readable, and what is said there has no answer
    assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran.stderr
    assert words in ran.stderr
    assert seen(tmp_path) == before
    disk.let_go()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_help_says_what_it_is_for_with_an_example_and_its_exit_codes(name: str) -> None:
    said = CliRunner().invoke(sapwood, [name, "--help"]).output

    assert re.search(rf"Example:\n\s+(?:\$ )?(?:echo .*\| )?sapwood {name} ", said), said
    assert "Exit code: 0" in said
    assert "--json" not in said or "The JSON" in said
