"""`sapwood stats`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sapwood import fork
from sapwood.cli.main import sapwood
from tests.sapwood.cli.sessions import DATA
from tests.sapwood.standing import put


def stats(*args: object) -> Result:
    return CliRunner().invoke(sapwood, ["stats", *map(str, args)], standalone_mode=False)


def told(*args: object) -> Any:
    return json.loads(stats("--json", *args).stdout)


def test_a_session_and_its_fork_are_paid_for_once(tmp_path: Path) -> None:
    path = put(tmp_path, "parent")
    made = fork(path, to=tmp_path / "f.jsonl")

    both = told(path, made.path)
    parent, child = both["sessions"]

    assert (parent["own"]["spent"]["input"], parent["inherited"]["spent"]["calls"]) == (7, 0)
    assert (child["own"]["spent"]["calls"], child["inherited"]["spent"]["input"]) == (0, 7)
    assert both["own"] == parent["own"]
    assert child["inherited"]["byPurpose"].keys() == {"turn"}


def test_lines_tell_own_and_inherited_apart(tmp_path: Path) -> None:
    made = fork(put(tmp_path, "parent"), to=tmp_path / "f.jsonl")

    lines = stats(made.path).stdout.splitlines()

    assert lines[0] == f"3 entries, 1 prompt, 1 answer, 0 tool calls, 0 compactions, {made.path}"
    assert "  own" in lines
    assert any(one.strip().startswith("inherited") for one in lines)
    assert any(one.split()[:2] == ["purpose", "turn"] for one in lines)


def test_a_session_that_is_no_fork_has_one_bill_and_several_have_a_sum(tmp_path: Path) -> None:
    one, two = put(tmp_path, "a"), put(tmp_path, "b")

    assert "inherited" not in stats(one).stdout
    assert "  own\n" not in stats(one).stdout
    assert "all 2 sessions, what they paid for themselves" in stats(one, two).stdout
    assert told(one, two)["own"]["spent"]["input"] == 14


def test_one_file_by_several_names_has_paid_once(tmp_path: Path) -> None:
    one = put(tmp_path, "a")
    linked, hard = tmp_path / "linked.jsonl", tmp_path / "hard.jsonl"
    linked.symlink_to(one)
    hard.hardlink_to(one)

    assert told(one, linked, hard, f"{one.parent}/./{one.name}")["own"]["spent"]["input"] == 7


def test_a_real_session_of_pi_has_pis_sums() -> None:
    (one,) = told(DATA / "pi-ringing-v3.jsonl")["sessions"]

    assert one["session"]["name"] == "Ringing logbook 0.2.0"
    assert (one["entries"], one["compactions"], one["own"]["spent"]["calls"]) == (213, 2, 80)


@pytest.mark.parametrize(("content", "code", "status"), [(None, 2, "unreadable"), (b"hello\n", 4, "no-session")])
def test_what_is_no_session_is_told_and_the_others_all_the_same(
    content: bytes | None, code: int, status: str, tmp_path: Path
) -> None:
    good, odd = put(tmp_path, "a"), tmp_path / "odd"
    if content is not None:
        odd.write_bytes(content)

    result = stats(odd, good)

    assert (result.return_value, "1 prompt" in result.stdout) == (code, True)
    assert str(odd) in result.stderr
    assert told(odd, good)["sessions"][0]["status"] == status


def test_counting_tells_by_model_what_was_reported_beside_what_is_counted() -> None:
    pi = DATA / "pi-ringing-v3.jsonl"
    (one,) = told("--counting", pi)["sessions"]
    lines = stats("--counting", pi).stdout.splitlines()

    assert one["counting"]["counter"] == "o200k_base"
    for model, compared in one["counting"]["byModel"].items():
        assert compared["ratio"] == compared["reported"] / compared["counted"]
        assert any(f"model {model}" in line and line.endswith(f"  {compared['ratio']:.2f}") for line in lines)
    assert sum("  counted by o200k_base" in line for line in lines) == 1


def test_counting_is_asked_for_and_may_find_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(put(tmp_path, "s").read_bytes().splitlines(keepends=True)[0])

    assert told(empty)["sessions"][0]["counting"] is None
    assert told("--counting", empty)["sessions"][0]["counting"] == {"counter": None, "byModel": {}}
    assert "nothing to compare" in stats("--counting", empty).stdout
