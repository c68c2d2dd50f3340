"""`sapwood record`, and what `sapwood replay` says of a recording."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from sapwood.cli.main import sapwood
from tests.sapwood.scenario.stories import TALK, written


def command(*words: object) -> Result:
    return CliRunner().invoke(sapwood, list(map(str, words)))


def test_a_story_is_recorded_and_its_recording_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "talk.recording"

    recorded = command("record", written(tmp_path, TALK), path)
    replayed = command("replay", path)

    assert (recorded.exit_code, recorded.output) == (0, "")
    story, again = written(tmp_path, TALK), tmp_path / "again"
    told = command("record", story, again, "--json")
    assert json.loads(told.stdout) == {"scenario": str(story), "recording": str(again), "ok": True}
    assert (replayed.exit_code, replayed.stdout) == (0, f"{path}: the same: 15 events, 2 entries\n")
    assert json.loads(command("replay", path, "--json").stdout)["recordings"][0]["ok"] is True


def test_a_story_that_is_not_as_expected_is_recorded_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "talk.recording"

    assert command("record", written(tmp_path, TALK + "expect: {state: run}\n"), path).exit_code == 1
    assert command("replay", path).exit_code == 0


def test_a_wrong_story_and_a_file_that_is_there_are_told(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("mine")

    wrong = command("record", written(tmp_path, "titel: x\n", "wrong.yaml"), tmp_path / "x")
    taken = command("record", written(tmp_path, TALK), there)

    assert (wrong.exit_code, taken.exit_code) == (2, 2)
    assert "did you mean 'title'?" in wrong.stderr
    assert "EEXIST" in taken.stderr
    assert there.read_text() == "mine"


def test_a_difference_a_cut_and_a_line_that_cannot_be_read_are_told_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "talk.recording"
    command("record", written(tmp_path, TALK), path)
    whole = path.read_text()

    path.write_text(whole.replace('delta\\":\\"thanks', 'delta\\":\\"thanke'))
    different = command("replay", path)
    path.write_text("".join(whole.splitlines(keepends=True)[:20]))
    cut = command("replay", path)
    path.write_text(whole.replace('{"kind":"host"', "{"))
    bad = command("replay", path, "--junit", tmp_path / "report.xml")

    assert (different.exit_code, cut.exit_code, bad.exit_code) == (1, 1, 2)
    assert f"{path}: different, behind " in different.stdout
    assert "recorded  " in different.stdout
    assert "thanke" in different.stdout
    assert f"{path}: cut: it has no end; what there is of it is the same" in cut.stdout
    assert bad.stderr.startswith(f"sapwood: {path}:2: this line cannot be read")
    assert "<error" in (tmp_path / "report.xml").read_text()
