"""`sapwood show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import sapwood
from sapwood.events.context import DEFAULT_COUNTER, CounterName
from tests.real import REAL, needs_real
from tests.sapwood.cli.sessions import DATA, LATER, READ_ONLY


def show(*args: object) -> Result:
    return CliRunner().invoke(sapwood, ["show", *map(str, args)])


@pytest.mark.parametrize(("content", "code"), [(None, 2), (b"hello\n", 4)])
def test_what_cannot_be_shown_is_one_line_on_the_standard_error(
    content: bytes | None, code: int, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    if content is not None:
        path.write_bytes(content)

    result = show(path)

    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(f"sapwood: {path} is ")


@pytest.mark.parametrize("window", ["0", "-5", "many", "1" + "0" * 12, "1" * 5000])
def test_a_window_is_a_number_of_tokens(window: str) -> None:
    result = show(DATA / "v2.jsonl", "--window", window)

    assert result.exit_code == 2
    assert "--window" in result.stderr


@pytest.mark.parametrize("option", [[], ["--json"], ["--full", "--window", "1000"]])
def test_the_file_is_left_as_it_is(option: list[str]) -> None:
    path = DATA / "pi-ringing-v3.jsonl"
    before, when = path.read_bytes(), path.stat().st_mtime_ns

    assert show(path, *option).exit_code == 0

    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, when)


def test_the_summary_of_the_last_compaction_comes_after_the_prompt() -> None:
    lines = show(DATA / "pi-ringing-v3.jsonl", "--window", "200000").output.splitlines()

    assert lines[1].startswith("system ")
    assert lines[2].startswith("compactionSummary ")
    assert "45 messages" in lines
    assert lines[-1] == "context 2.8%/200000: 5,566 tokens, as the provider reported with its last answer"


def test_json_and_lines_agree() -> None:
    path = DATA / "pi-all-kinds.jsonl"

    value = json.loads(show(path, "--json", "--window", "1000").output)

    assert value["totals"]["messages"] == len(value["messages"])
    assert f"{value['totals']['messages']} messages" in show(path).output
    assert value["usage"]["text"] in show(path, "--window", "1000").output


@needs_real
def test_a_real_session_shows_what_is_not_sent() -> None:
    lines = show(REAL).output.splitlines()

    assert "914 messages, 22 not sent (21 aborted, 1 failed)" in lines
    assert sum(": " in line and " not sent (" in line for line in lines) == 22


def test_of_a_later_version_it_says_that_it_can_be_read_only(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(LATER)

    assert show(path).output.splitlines()[-1] == READ_ONLY
    assert "read only" not in show(DATA / "v2.jsonl").output


@pytest.mark.parametrize("counter", get_args(CounterName))
def test_each_counter_may_be_asked_for(counter: str) -> None:
    """One that a library knew used not to be offered here."""
    value = json.loads(show(DATA / "pi-all-kinds.jsonl", "--json", "--counter", counter).output)

    # cl100k_base is there only where tiktoken has fetched it for somebody
    assert value["totals"]["counter"] in {counter, "heuristic"}


def test_the_default_is_what_a_host_has_by_default() -> None:
    value = json.loads(show(DATA / "pi-all-kinds.jsonl", "--json").output)

    assert value["totals"]["counter"] == DEFAULT_COUNTER
