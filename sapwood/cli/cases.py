"""What was played, as a report in JUnit's XML: a case a story, for the pages that a CI shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import attrs

from sapwood.scenario import Scenario
from sapwood.scenario.language import StoreWord
from sapwood.words.wording import visible


@attrs.frozen(kw_only=True)
class Case:
    """One story, played on one store."""

    name: str
    seconds: float
    failures: tuple[str, ...] = ()
    error: str | None = None
    """Why it was not played."""


def on_store(scenario: Scenario, store: StoreWord | None) -> Scenario:
    """The same story on this store; None leaves it where it is."""
    return scenario if store is None else attrs.evolve(scenario, story=attrs.evolve(scenario.story, store=store))


def write_junit(path: Path, cases: Sequence[Case]) -> None:
    """Write the report. Raises `OSError`."""
    suite = ET.Element(
        "testsuite",
        name="sapwood replay",
        tests=str(len(cases)),
        failures=str(sum(bool(case.failures) for case in cases)),
        errors=str(sum(case.error is not None for case in cases)),
        time=f"{sum(case.seconds for case in cases):.3f}",
    )
    for case in cases:
        one = ET.SubElement(suite, "testcase", classname="sapwood", name=visible(case.name), time=f"{case.seconds:.3f}")
        if case.failures:
            failure = ET.SubElement(one, "failure", message=visible(case.failures[0]))
            failure.text = visible("\n".join(case.failures))
        if case.error is not None:
            ET.SubElement(one, "error", message=visible(case.error))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)
