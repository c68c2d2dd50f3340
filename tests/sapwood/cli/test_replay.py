"""`sapwood replay`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import sapwood
from sapwood.scenario import Scenario
from sapwood.scenario.schema import schema
from tests.sapwood.scenario.stories import TALK, written

DIFFERENT = TALK + "expect: {state: run}\n"
WRONG = TALK + "expct: {}\n"


def replay(*args: object) -> Result:
    return CliRunner().invoke(sapwood, ["replay", *map(str, args)])


def test_a_wrong_scenario_is_one_line_on_the_standard_error(tmp_path: Path) -> None:
    path = written(tmp_path, WRONG)

    result = replay(path)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"sapwood: {path}:6: expct: unknown key 'expct': did you mean 'expect'?\n"


def test_every_mistake_of_a_scenario_is_a_line_with_its_own_place(tmp_path: Path) -> None:
    """This used to tell the first alone."""
    path = written(tmp_path, "titel: x\nsteps:\n  - prompt: 7\n  - promt: hi\n")

    result = replay(path, written(tmp_path, TALK, "good.yaml"), "--json")

    told = [line.removeprefix(f"sapwood: {path}:") for line in result.stderr.splitlines()]
    assert told == [
        "1: titel: unknown key 'titel': did you mean 'title'?",
        "3: steps.1.prompt: must be text, not 7: put it in quotes",
        "4: steps.2.promt: unknown key 'promt': did you mean 'prompt'?",
    ]
    assert json.loads(result.stdout)["errors"] == [f"{path}:{line}" for line in told]
    assert "1 as expected, 0 different, 1 not played" in replay(path, tmp_path / "good.yaml").stdout


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_a_missing_file_and_an_empty_folder_are_told(name: str, tmp_path: Path) -> None:
    result = replay(tmp_path / name)

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["x" * 300, "", "a\nb\x1b[31m"])
def test_a_strange_name_is_one_line_on_the_standard_error(name: str) -> None:
    result = replay(name)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert result.stderr.rstrip("\n").isprintable()


def test_a_fault_of_ours_in_one_scenario_is_told_and_the_others_are_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def checked(scenario: Scenario, *rest: Any) -> tuple[()]:
        if scenario.path.name == "a.yaml":
            raise KeyError("oops")
        return ()

    monkeypatch.setattr("sapwood.scenario.running.check", checked)
    for name in ("a.yaml", "b.yaml"):
        written(tmp_path, TALK, name)

    result = replay(tmp_path, "--json")

    value = json.loads(result.stdout)
    assert result.exit_code == 2
    assert [one["ok"] for one in value["scenarios"]] == [True]
    assert "by a fault of sapwood's own: please report it (KeyError: 'oops')" in value["errors"][0]


@pytest.mark.parametrize("line", ["pass: 1e400", "pass: !!bool maybe", 'prompt: "\\ud800"', "pass: " + "9" * 400])
def test_a_value_that_cannot_be_is_told_with_its_line_and_in_the_json(line: str, tmp_path: Path) -> None:
    """Each of these used to be a traceback, and no JSON."""
    path = written(tmp_path, f"title: x\nsteps:\n  - {line}\n")

    result = replay(path, "--json")

    assert result.exit_code == 2
    assert json.loads(result.stdout)["errors"][0].startswith(f"{path}:3: ")


def test_a_difference_is_shown_and_is_exit_code_1(tmp_path: Path) -> None:
    path = written(tmp_path, DIFFERENT)

    result = replay(path)

    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.endswith(
        f"1 difference: 14 events, 2 new entries\n{path}:6: state at the end: not as expected\n"
        '    expected  "run"\n    seen      "idle"\n\n'
    )


@pytest.mark.parametrize(
    ("texts", "code", "sums"),
    [
        ([TALK, TALK], 0, "2 as expected, 0 different, 0 not played"),
        ([DIFFERENT, TALK], 1, "1 as expected, 1 different, 0 not played"),
        ([WRONG, DIFFERENT, TALK], 2, "1 as expected, 1 different, 1 not played"),
        ([TALK, WRONG, DIFFERENT], 2, "1 as expected, 1 different, 1 not played"),
    ],
)
def test_of_several_scenarios_all_are_played_and_the_worst_counts(
    texts: list[str], code: int, sums: str, tmp_path: Path
) -> None:
    paths = [written(tmp_path, text, f"{at}.yaml") for at, text in enumerate(texts)]

    for result in (replay(*paths), replay(tmp_path)):
        assert result.exit_code == code
        assert result.stdout.endswith(f"{sums}\n")
        assert result.stdout.count("1. prompt: How are you?") == sum(text != WRONG for text in texts)


def test_the_json_is_one_document(tmp_path: Path) -> None:
    for name, text in (("a.yaml", TALK), ("b.yaml", DIFFERENT), ("c.yaml", WRONG)):
        written(tmp_path, text, name)

    result = replay(tmp_path, "--json")

    value = json.loads(result.stdout)
    assert result.exit_code == 2
    assert [one["ok"] for one in value["scenarios"]] == [True, False]
    assert value["scenarios"][1]["differences"][0]["expected"] == "run"
    assert value["errors"] == [result.stderr.removeprefix("sapwood: ").rstrip("\n")]


def test_a_story_is_played_on_each_store_that_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, TALK)

    result = replay(path, "--store", "memory", "--store", "jsonl")

    assert (result.exit_code, result.stdout.count("as expected: 14 events")) == (0, 2)
    assert result.stdout.endswith("2 as expected, 0 different, 0 not played\n")


@pytest.mark.slow
def test_a_sweep_is_a_line_a_story_and_its_exit_code_is_the_worst(tmp_path: Path) -> None:
    good, bad, wrong = (
        written(tmp_path, text, name) for text, name in ((TALK, "a.yaml"), (DIFFERENT, "b.yaml"), (WRONG, "c.yaml"))
    )
    report = tmp_path / "report.xml"

    fine = replay(good, "--seeds", "2", "--crash", "--jobs", "1", "--json")
    result = replay(good, bad, wrong, tmp_path / "nowhere.yaml", "--seeds", "2", "--jobs", "1", "--junit", report)

    [swept] = json.loads(fine.stdout)["sweeps"]
    assert (fine.exit_code, swept["ok"], swept["orders"], swept["faults"]) == (0, True, 2, [])
    assert swept["crashes"] > swept["same"] > 0
    assert result.exit_code == 2
    assert f"{good}: as expected: 2 orders" in result.stdout
    assert f"{bad}: 2 faults: 2 orders" in result.stdout
    assert "1 as expected, 1 different, 2 not played" in result.stdout
    assert result.stderr.count("\n") == 2
    assert report.read_text().count("<testcase") == 4


def test_what_was_seen_is_written_into_the_story_that_is_updated(tmp_path: Path) -> None:
    path = written(tmp_path, DIFFERENT)

    result = replay(path, "--update")

    assert result.exit_code == 0
    assert path.read_text() == TALK + "expect: {state: idle}\n"
    path.chmod(0o400)
    assert replay(path, "--update").exit_code == 0, "nothing is written where nothing differs"


@pytest.mark.parametrize("option", ["--crash", "--seeds=3"])
def test_an_update_is_of_one_playing(option: str, tmp_path: Path) -> None:
    result = replay(written(tmp_path, DIFFERENT), "--update", option)

    assert result.exit_code == 2
    assert "leave out --seeds and --crash" in result.stderr


def test_a_report_is_written_beside_the_timeline(tmp_path: Path) -> None:
    result = replay(written(tmp_path, DIFFERENT), "--junit", tmp_path / "report.xml")

    assert result.exit_code == 1
    assert "state at the end: not as expected" in (tmp_path / "report.xml").read_text()
    assert replay(written(tmp_path, TALK), "--junit", tmp_path / "no" / "report.xml").exit_code == 2


def test_a_timeline_in_a_pipe_is_plain(tmp_path: Path) -> None:
    result = replay(written(tmp_path, TALK))

    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "   14     0.000  agent_settled\n   -> delivered\n\nas expected: 14 events, 2 new entries\n" in result.stdout


def test_the_schema_is_printed_and_nothing_is_played() -> None:
    result = replay("--schema")

    assert result.exit_code == 0
    assert json.loads(result.stdout) == schema()


def test_a_session_in_the_place_of_a_story_is_told_with_the_command_that_is_meant(tmp_path: Path) -> None:
    path = written(tmp_path, '{"type":"session","version":3,"id":"a"}\n{"type":"label"}\n', "talk.jsonl")
    result = replay(path)

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "is a session, and no story: sapwood show FILE shows it" in result.stderr
