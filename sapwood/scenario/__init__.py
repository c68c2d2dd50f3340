"""Scenarios: whole stories as data, played in virtual time without a network (Z1, Z2).

`load` reads one, `run` plays it inside trio, `play` does both from outside. `language` is what a file may say, `matching` what an
expectation means, `timeline` how a playing looks.
"""

from sapwood.scenario.errors import ScenarioError
from sapwood.scenario.language import Scenario
from sapwood.scenario.loading import load
from sapwood.scenario.played import Finding, Played, PlayedStep, Seen
from sapwood.scenario.running import play, run

__all__ = ["Finding", "Played", "PlayedStep", "Scenario", "ScenarioError", "Seen", "load", "play", "run"]
