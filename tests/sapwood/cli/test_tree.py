"""`sapwood tree`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import sapwood
from tests.real import REAL, needs_real
from tests.sapwood.cli.sessions import DATA, LATER, READ_ONLY


def tree(*args: object) -> Result:
    return CliRunner().invoke(sapwood, ["tree", *map(str, args)])


@pytest.mark.parametrize(("content", "code"), [(None, 2), (b"hello\n", 4)])
def test_what_cannot_be_drawn_is_one_line_on_the_standard_error(
    content: bytes | None, code: int, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    if content is not None:
        path.write_bytes(content)

    result = tree(path)

    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(f"sapwood: {path} is ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["pi-ringing-v3.jsonl", "pi-all-kinds.jsonl", "v1.jsonl", "v2.jsonl"])
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_every_entry_is_drawn_and_the_file_is_left_as_it_is(name: str, option: list[str]) -> None:
    path = DATA / name
    before, when = path.read_bytes(), path.stat().st_mtime_ns

    result = tree(path, *option)

    entries = len(json.loads(result.output)["entries"]) if option else result.output.count("\n") - 1
    assert result.exit_code == 0
    assert entries == before.count(b"\n") - 1
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, when)


def test_branches_labels_and_branch_summaries_are_shown() -> None:
    output = tree(DATA / "pi-all-kinds.jsonl").output

    assert "├─ ○ 3c5bcf8d  user         Only the wrens, please.  [wrens only]" in output
    assert "branch_summary [branch summary]: The other branch" in output
    assert output.rstrip().endswith("<- leaf, position")


@needs_real
def test_a_real_session_of_a_thousand_entries_is_drawn_whole() -> None:
    lines = tree(REAL).output.splitlines()

    assert len(lines) == 1 + 1018
    assert lines[0].startswith("d703a1a9  1,018 entries, 1 branch, ")


def test_of_a_later_version_it_says_that_it_can_be_read_only(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(LATER)

    assert tree(path).output.splitlines()[-1] == READ_ONLY
    assert "read only" not in tree(DATA / "v2.jsonl").output
