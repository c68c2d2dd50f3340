"""Errors of files that a person wrote: their facts, their sentences, and whose doing they are."""

from __future__ import annotations

import pytest

from sapwood.events.errors import Refused, SapwoodError
from sapwood.events.file_errors import BadSettings, CannotLoadExtension

SAID: list[tuple[SapwoodError, dict[str, object], str]] = [
    (
        BadSettings("a.json", "Invalid steeringMode setting: 5.", key="steeringMode"),
        {
            "reason": "bad-input",
            "path": "a.json",
            "message": "Invalid steeringMode setting: 5.",
            "key": "steeringMode",
            "line": None,
            "column": None,
        },
        "a.json: Invalid steeringMode setting: 5.",
    ),
    (
        BadSettings("a.json", "no text", line=3),
        {"reason": "bad-input", "path": "a.json", "message": "no text", "key": None, "line": 3, "column": None},
        "a.json:3: no text",
    ),
    (
        BadSettings("a.json", "no comma", line=3, column=7),
        {"reason": "bad-input", "path": "a.json", "message": "no comma", "key": None, "line": 3, "column": 7},
        "a.json:3:7: no comma",
    ),
    (
        CannotLoadExtension("a.py", "it is not there"),
        {"where": "a.py", "why": "it is not there"},
        "the extension a.py cannot be loaded: it is not there",
    ),
]


@pytest.mark.parametrize(("error", "facts", "sentence"), SAID, ids=lambda value: type(value).__name__)
def test_an_error_carries_its_facts_and_writes_its_sentence(
    error: SapwoodError, facts: dict[str, object], sentence: str
) -> None:
    assert str(error) == sentence
    assert vars(error) == facts


def test_settings_are_the_askers_doing_and_an_extension_is_nobodys_but_its_own() -> None:
    assert BadSettings.__bases__ == (Refused,)
    assert CannotLoadExtension.__bases__ == (SapwoodError,)
