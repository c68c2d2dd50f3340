"""Stories for crashes: programs that are written down, each about one thing that a run may be at when something breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from sapwood import RetryPolicy, ScriptedAnswer, Settings
from sapwood.actors.kernel import Tap
from tests.build import call
from tests.sapwood.programs import Pass, Program, Say, Step, Stop

LONG: Final = 10.0
"""Virtual seconds in which each of them comes to its end."""


def _calling(*names: str, turn: int = 0) -> ScriptedAnswer:
    calls = tuple(call(f"c{turn}-{n}", name, text=f"x-{turn}-{n}") for n, name in enumerate(names, 1))
    return ScriptedAnswer(text=f"calling {turn}", calls=calls)


def _story(steps: tuple[Step, ...], *answers: ScriptedAnswer | str, guarded: bool = False) -> Program:
    script = [ScriptedAnswer(text=answer) if isinstance(answer, str) else answer for answer in answers]
    spare = [ScriptedAnswer(text="so be it")] * 12
    return Program(
        seed=0,
        steps=(Say("submit", "hello", 0), *steps, Pass(LONG)),
        answers=(*script, *spare),
        settings=Settings(retry=RetryPolicy(base_delay_ms=500)),
        taps=(),
        guarded=guarded,
        goes_on=True,
    )


STORIES: Final[Mapping[str, Program]] = {
    "plain": _story((), "hi"),
    "tool": _story((), _calling("slow"), "done"),
    "parallel": _story((), _calling("slow", "fast", "raising"), "done"),
    "steering": _story(
        (Pass(0.3), Say("steer", "only tests", 1), Say("steer", "and docs", 0)),
        *(_calling("slow", "fast", "slow"), "seen", "done"),
    ),
    "follow-ups": _story(
        (Say("follow_up", "then", 0), Say("follow_up", "at last", 2)),
        ScriptedAnswer(text="one", wait=1),
        "two",
        "three",
    ),
    "retry": _story((), ScriptedAnswer(text="ha", error="overloaded"), ScriptedAnswer(error="503 busy"), "done"),
    "blocked": _story((), _calling("blocked", "fast"), "done", guarded=True),
    "meddling": _story((), _calling("steering", "fast"), "seen", "done"),
    "abort": _story((Pass(0.3), Say("follow_up", "then", 0), Stop(behind=False)), _calling("slow", "stubborn"), "done"),
}


def under(story: Program, *taps: Tap) -> Program:
    """The story, under these."""
    return attrs.evolve(story, taps=taps)
