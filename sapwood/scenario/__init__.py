"""Scenarios: whole stories as data, played in virtual time without a network (Z1, Z2).

`load` reads one, `run` plays it inside trio, `play` does both from outside. `language` is what a file may say, `matching` what an
expectation means, `timeline` how a playing looks. What is named here is loaded at its first use: whoever only wants `wording` pays
neither for YAML nor for trio's testing tools.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sapwood.scenario.errors import ScenarioError
    from sapwood.scenario.language import Scenario
    from sapwood.scenario.loading import load
    from sapwood.scenario.played import Finding, Played, PlayedStep, Seen
    from sapwood.scenario.running import play, run

__all__ = ["Finding", "Played", "PlayedStep", "Scenario", "ScenarioError", "Seen", "load", "play", "run"]

_HOMES: Final = {
    "Finding": "played",
    "Played": "played",
    "PlayedStep": "played",
    "Scenario": "language",
    "ScenarioError": "errors",
    "Seen": "played",
    "load": "loading",
    "play": "running",
    "run": "running",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"sapwood.scenario.{_HOMES[name]}"), name)
