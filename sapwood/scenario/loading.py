"""From a scenario's file to a `Scenario`. Reads; writes nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from sapwood.scenario.errors import Misfit, ScenarioError
from sapwood.scenario.language import FromFile, Scenario
from sapwood.scenario.structuring import fit
from sapwood.scenario.text import BadText, parse

SUFFIXES: Final = (".yaml", ".yml")


def load(path: str | os.PathLike[str]) -> Scenario:
    """The scenario in a file. Raises `ScenarioError`, with file and line: unreadable, no YAML, or not what the language says."""
    where = Path(path)
    try:
        document = parse(_read(where))
    except BadText as error:
        raise ScenarioError(str(path), error.line, error.message) from error
    try:
        story = fit(document.value, document.line_of)
    except Misfit as misfit:
        raise ScenarioError(str(path), document.line_of(misfit.place), _spoken(misfit)) from misfit
    scenario = Scenario(path=where, story=story, line_of=document.line_of)
    if isinstance(story.session, FromFile) and not session_path(scenario, story.session).is_file():
        line = document.line_of(("session", "file"))
        found = session_path(scenario, story.session)
        raise ScenarioError(str(path), line, f"there is no session file {found} (looked for beside the scenario)")
    return scenario


def session_path(scenario: Scenario, beginning: FromFile) -> Path:
    """Where the session of a scenario lies."""
    return scenario.path.parent / beginning.file


def find(path: str | os.PathLike[str]) -> list[Path]:
    """The scenarios that a path names: itself, or all in a folder and below it, by name. `ScenarioError` if there are none."""
    where = Path(path)
    if not where.is_dir():
        return [where]
    found = sorted(file for file in where.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not found:
        raise ScenarioError(str(path), None, f"no scenario in this folder: put a file there that ends in {SUFFIXES[0]}")
    return found


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        why = "is a folder, not a file" if path.is_dir() else (error.strerror or str(error)).lower()
        raise ScenarioError(str(path), None, f"cannot be read: {why}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(str(path), line, "this is not UTF-8 text") from error


def _spoken(misfit: Misfit) -> str:
    """What is wrong, and at which key."""
    place = ".".join(str(step) if isinstance(step, str) else str(step + 1) for step in misfit.place)
    return f"{place}: {misfit.message}" if place else misfit.message
