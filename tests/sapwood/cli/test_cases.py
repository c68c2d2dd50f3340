"""The report in JUnit's XML."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sapwood.cli.cases import Case, on_store, write_junit
from sapwood.scenario import load
from tests.sapwood.scenario.stories import TALK, written


def test_a_report_has_each_story_with_what_came_of_it(tmp_path: Path) -> None:
    cases = [
        Case(name="a.yaml", seconds=0.5),
        Case(name="b\x1b.yaml", seconds=0.25, failures=("one < two\x00", "three")),
        Case(name="c.yaml", seconds=0, error="c.yaml:1: no title"),
    ]

    write_junit(tmp_path / "report.xml", cases)

    [suite] = ET.parse(tmp_path / "report.xml").getroot()  # noqa: S314 - we have just written it
    assert suite.attrib == {"name": "sapwood replay", "tests": "3", "failures": "1", "errors": "1", "time": "0.750"}
    good, bad, wrong = suite
    assert (good.get("name"), len(good)) == ("a.yaml", 0)
    assert (bad[0].tag, bad[0].get("message"), bad[0].text) == ("failure", "one < two�", "one < two�\nthree")
    assert (wrong[0].tag, wrong[0].get("message")) == ("error", "c.yaml:1: no title")


def test_a_report_that_cannot_be_written_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_junit(tmp_path / "nowhere" / "report.xml", [])


def test_a_story_is_put_on_the_store_that_is_named(tmp_path: Path) -> None:
    scenario = load(written(tmp_path, TALK))

    assert on_store(scenario, "jsonl").story.store == "jsonl"
    assert on_store(scenario, None) is scenario
