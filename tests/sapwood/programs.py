"""Programs of what a host may ask of a session. The seed is all of one: what is asked and when, what the model answers, what it calls,
which actor or operation breaks, and in which order things come.
"""

from __future__ import annotations

from random import Random
from typing import Final, Literal

import attrs

from sapwood import RetryPolicy, ScriptedAnswer, Settings
from sapwood.actors.kernel import Tap
from sapwood.actors.kernel.testing import CrashAt, Seeded, StrikeAt
from sapwood.events.content import ToolCall
from tests.build import call
from tests.sapwood.striking import CrashFrom

How = Literal["submit", "steer", "follow_up"]
ACTORS: Final = ("agent", "exclusion", "inbox", "session_log", "projection", "model", "tools", "extensions", "handlers")
OPERATING: Final = ("agent", "model", "tools", "extensions", "handlers")
HOWS: Final[tuple[How, ...]] = ("submit", "steer", "steer", "follow_up", "follow_up")
TOOLS: Final = ("fast", "fast", "slow", "slow", "raising", "stubborn", "blocked", "unknown", "steering")
PASSES: Final = (0.0, 0.0, 0.05, 0.3, 1.0, 5.0)


@attrs.frozen
class Say:
    """Submit, steer or follow up."""

    how: How
    text: str
    images: int


@attrs.frozen
class TakeBack:
    """Cancel a handle: the nth of those that there are by then, counted round."""

    nth: int
    behind: bool


@attrs.frozen
class Stop:
    """Abort."""

    behind: bool
    """Whether what comes next does not wait for it."""


@attrs.frozen
class Shut:
    """Close."""

    behind: bool


@attrs.frozen
class Pass:
    """Let time go by; or only let the others have their turn."""

    seconds: float


@attrs.frozen
class Mark:
    """Append an entry of the host's."""


Step = Say | TakeBack | Stop | Shut | Pass | Mark


@attrs.frozen(kw_only=True)
class Program:
    """See the module."""

    seed: int
    steps: tuple[Step, ...]
    answers: tuple[ScriptedAnswer, ...]
    settings: Settings
    taps: tuple[Tap, ...]
    guarded: bool
    goes_on: bool
    """Whether it prompts once more in the end, instead of leaving."""

    @property
    def strikes(self) -> int:
        return sum(not isinstance(tap, Seeded) for tap in self.taps)

    @property
    def may_break(self) -> bool:
        """Whether an actor goes down for good."""
        return any(isinstance(tap, CrashFrom) for tap in self.taps)


def program(seed: int) -> Program:
    """The program of a seed."""
    random = Random(seed)  # noqa: S311 - a program, not a secret
    steps = tuple(_step(random, number) for number in range(random.randint(2, 10)))
    taps: list[Tap] = [Seeded(seed)] if random.random() < 0.75 else []
    taps += [CrashAt(random.choice(ACTORS), random.randint(1, 12)) for _ in range(random.choice((0, 0, 1, 1, 2, 3)))]
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        taps.append(StrikeAt(random.choice(OPERATING), random.randint(1, 4), random.choice(("start", "end"))))
    if random.random() < 0.04:
        taps.append(CrashFrom(random.choice(ACTORS), random.randint(1, 8)))
    return Program(
        seed=seed,
        steps=(Say("submit", "p-first", 0), *steps) if random.random() < 0.7 else steps,
        answers=tuple(_answer(random, number) for number in range(random.randint(1, 8))),
        settings=Settings(
            steering_mode=random.choice(("one-at-a-time", "all")),
            follow_up_mode=random.choice(("one-at-a-time", "all")),
            retry=RetryPolicy(max_retries=random.randint(0, 2), base_delay_ms=500),
        ),
        taps=tuple(taps),
        guarded=random.random() < 0.4,
        goes_on=random.random() < 0.6,
    )


def _step(random: Random, number: int) -> Step:
    match random.choices(("say", "back", "stop", "shut", "pass", "mark"), weights=(50, 12, 7, 2, 35, 4))[0]:
        case "say":
            how = random.choice(HOWS)
            return Say(how, f"{how[0]}-{number}", random.choice((0, 0, 0, 1, 2)))
        case "back":
            return TakeBack(random.randrange(8), behind=random.random() < 0.3)
        case "stop":
            return Stop(behind=random.random() < 0.4)
        case "shut":
            return Shut(behind=random.random() < 0.4)
        case "pass":
            return Pass(random.choice(PASSES))
        case _:
            return Mark()


def _answer(random: Random, number: int) -> ScriptedAnswer:
    wait = random.choice((0.0, 0.0, 0.2, 1.0))
    text = f"answer {number}" if random.random() < 0.7 else ""
    match random.choices(("text", "calls", "cut", "passing", "lasting", "whole"), weights=(30, 40, 4, 12, 6, 8))[0]:
        case "calls":
            return ScriptedAnswer(text=text, calls=_calls(random, number), wait=wait)
        case "cut":
            return ScriptedAnswer(text=text, calls=_calls(random, number), stop_reason="length", wait=wait)
        case "passing":
            return ScriptedAnswer(text=text, error="overloaded", wait=wait)
        case "lasting":
            return ScriptedAnswer(text=text, error="invalid request", wait=wait)
        case _:
            return ScriptedAnswer(text=text or "so be it", wait=wait)


def _calls(random: Random, number: int) -> tuple[ToolCall, ...]:
    return tuple(
        call(f"c{number}-{n}", random.choice(TOOLS), text=f"x-{number}-{n}") for n in range(random.randint(1, 3))
    )
