"""The command line as a process: exit codes, quiet ends, and nothing loaded that is not used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood.cli.main import COMMANDS, sapwood

DATA = Path(__file__).parents[2] / "data"
ROOT = Path(__file__).parents[3]
PI = DATA / "pi-ringing-v3.jsonl"


def ran(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sapwood", *args],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **more},
    )


@pytest.mark.parametrize("args", [[], ["nothing"], ["tree"], ["tree", "--colour", "x"], ["show", "x", "--window", "0"]])
def test_what_is_not_understood_is_told_with_exit_code_2(args: list[str]) -> None:
    result = CliRunner().invoke(sapwood, args)

    assert result.exit_code == 2
    assert "Usage:" in result.output
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_an_error_of_a_real_process_is_one_line_and_no_traceback() -> None:
    result = ran("tree", "nowhere.jsonl")

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "sapwood: nowhere.jsonl is not there: check the spelling, or give the path from here\n"


@pytest.mark.slow
@pytest.mark.parametrize("args", ["tree {}", "show --full {}", "tree --json {}", "replay scenarios"])
def test_a_reader_that_went_away_ends_it_quietly(args: str) -> None:
    shell = f'"{sys.executable}" -m sapwood {args.format(PI)}; echo "code $?" >&2'

    result = subprocess.run(
        ["bash", "-c", f"({shell}) | head -n 1"], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert result.stderr == "code 0\n"
    assert result.stdout.count("\n") == 1


@pytest.mark.slow
def test_a_terminal_that_cannot_show_a_character_shows_the_rest() -> None:
    result = ran("tree", str(PI), PYTHONIOENCODING="ascii")

    assert (result.returncode, result.stderr) == (0, "")
    assert "Ringing logbook" in result.stdout


@pytest.mark.slow
def test_help_loads_nothing_that_only_a_command_needs() -> None:
    probe = """
import sys
from click.testing import CliRunner
from sapwood.cli.main import sapwood
assert CliRunner().invoke(sapwood, ["--help"]).exit_code == 0
print([name for name in ("trio", "rich", "yaml", "cattrs", "httpx", "tiktoken") if name in sys.modules])
"""

    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
def test_looking_into_a_session_loads_nothing_that_only_scenarios_need() -> None:
    probe = f"""
import sys
from click.testing import CliRunner
from sapwood.cli.main import sapwood
for command in ("tree", "show", "check"):
    assert CliRunner().invoke(sapwood, [command, {str(PI)!r}]).exit_code == 0, command
print([name for name in ("trio", "yaml", "cattrs", "sapwood.scenario") if name in sys.modules])
"""

    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
def test_the_front_door_does_not_open_the_command_line() -> None:
    probe = "import sapwood, sys; print([name for name in ('click', 'rich', 'yaml') if name in sys.modules])"

    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
@pytest.mark.parametrize("args", ["tree {}", "show --json {}", "replay scenarios", "--help", "tree --help"])
def test_an_output_that_is_full_is_one_line_and_exit_code_2(args: str) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "sapwood", *args.format(PI).split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=ROOT,
        )

    assert result.returncode == 2
    assert result.stderr == "sapwood: the standard output cannot be written: no space left on device\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "redirection", "code", "told"),
    [
        ("tree {}", ">&-", 2, "sapwood: the standard output is closed: send it to a file, or to /dev/null\n"),
        ("tree {}", ">&- 2>&-", 2, ""),
        ("tree {}", "<&- >&- 2>&-", 2, ""),
        ("tree {}", ">/dev/null 2>&-", 0, ""),
        ("tree nowhere", "2>&-", 2, ""),
        ("tree nowhere", "2>/dev/full", 2, ""),
        ("tre", "2>/dev/full", 2, ""),
        ("replay nowhere", "2>/dev/full", 2, ""),
    ],
)
def test_a_stream_that_is_closed_or_full_is_no_traceback(args: str, redirection: str, code: int, told: str) -> None:
    shell = f'"{sys.executable}" -m sapwood {args.format(PI)} {redirection}'

    result = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, cwd=ROOT)

    assert (result.returncode, result.stderr) == (code, told)


@pytest.mark.slow
def test_an_argument_that_would_steer_the_terminal_does_not() -> None:
    result = ran("tree", "a", "b\x07")

    assert result.returncode == 2
    assert "unexpected extra argument (b�)" in result.stderr


@pytest.mark.parametrize(
    ("word", "said"), [("tre", "No such command 'tre': did you mean 'tree'?"), ("x", "No such command 'x'.")]
)
def test_a_command_that_there_is_not_is_told_with_the_nearest(word: str, said: str) -> None:
    result = CliRunner().invoke(sapwood, [word])

    assert result.exit_code == 2
    assert said in result.output


def test_each_command_shows_its_help_with_an_example() -> None:
    for name in COMMANDS:
        result = CliRunner().invoke(sapwood, [name, "--help"])

        assert result.exit_code == 0
        assert "Example:" in result.output
        assert f"sapwood {name} " in result.output
        assert "The JSON: {" in result.output
        assert "Exit code: 0 " in result.output


def test_it_says_its_version() -> None:
    result = CliRunner().invoke(sapwood, ["--version"], prog_name="sapwood")

    assert re.fullmatch(r"sapwood \d+\.\d+\.\d+.*\n", result.output)
