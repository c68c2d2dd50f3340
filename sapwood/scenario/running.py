"""Playing a scenario: open its session, do its steps, note what is seen, and compare.

1. The world is scripted: the same scenario under the same seed gives the same events and the same entries, byte for byte.
2. A session that comes from a file is played on a copy in a folder of its own, which is gone in the end.
3. What the runtime refuses is an outcome, what it breaks at is a finding; only a scenario that cannot be played raises.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, assert_never

import trio
import trio.testing

from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Tap
from sapwood.actors.model.providers.scripted import Scripted, ScriptedAnswer
from sapwood.events.commands import Delivered, Failed, InputOutcome, Returned, Withdrawn
from sapwood.events.errors import Refused, SapwoodError
from sapwood.events.runtime import Purpose
from sapwood.runtime import Runtime
from sapwood.scenario.beginning import CWD, begin
from sapwood.scenario.checking import check
from sapwood.scenario.language import STEP_LIMIT, Answer, Feed, OutcomeWord, Pass, Prompt, Scenario, Step
from sapwood.scenario.loading import load
from sapwood.scenario.played import Moment, Played, PlayedStep
from sapwood.scenario.watching import Watcher
from sapwood.session import Session

_NOTHING_YET: Final = Moment(entries=(), projection=(), usage="", state="idle")


def play(path: str | os.PathLike[str] | Scenario, *, tap: Tap | None = None, seed: int = 0) -> Played:
    """Load and play a scenario in virtual time. Not to be called from within trio: await `run` there.

    Args:
        path: its file, or what `load` gave.
        tap: sees, orders and breaks what the actors do.
        seed: of the ids that are made.

    Raises `ScenarioError` for a scenario that cannot be played.
    """
    scenario = path if isinstance(path, Scenario) else load(path)

    async def whole() -> Played:
        return await run(scenario, tap=tap, seed=seed)

    return trio.run(whole, clock=trio.testing.MockClock(autojump_threshold=0))


async def run(scenario: Scenario, *, tap: Tap | None = None, seed: int = 0) -> Played:
    """Play a scenario under the clock that trio runs with; an autojump clock makes its time virtual. As `play` otherwise."""
    environment = Environment.scripted(seed)
    player = _Player(scenario)
    broken: str | None = None
    with TemporaryDirectory(prefix="sapwood-scenario-") as folder:
        where = begin(scenario, environment, Path(folder))
        runtime = Runtime(providers=[_provider(scenario)], environment=environment)
        try:
            async with runtime.open_session(where, model=scenario.story.model, cwd=CWD, tap=tap) as session:
                await player.play(session)
        except SapwoodError as error:
            broken = str(error)
    steps = tuple(player.steps)
    return Played(
        scenario=scenario, steps=steps, end=player.end, differences=check(scenario, steps, player.end, broken)
    )


def _provider(scenario: Scenario) -> Scripted:
    answers = scenario.story.answers
    script: dict[Purpose, Sequence[Answer]] = {
        "turn": answers.turn,
        "compaction": answers.compaction,
        "turn_prefix": answers.turn_prefix,
        "branch_summary": answers.branch_summary,
    }
    return Scripted(
        {purpose: map(_scripted, queue) for purpose, queue in script.items()},
        provider_id=scenario.story.model.provider,
    )


def _scripted(answer: Answer) -> ScriptedAnswer:
    return ScriptedAnswer(text=answer.text, usage=answer.usage, error=answer.error, wait=answer.wait)


class _Player:
    """One playing of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self.steps: list[PlayedStep] = []
        self.end = _NOTHING_YET

    async def play(self, session: Session) -> None:
        before = len(session.tree())
        self.end = _moment(session, before)
        async with trio.open_nursery() as nursery:
            watcher = Watcher(session.events(since=0))
            nursery.start_soon(watcher.follow)
            for step in self._scenario.story.steps:
                self.steps.append(await self._step(session, step, watcher))
                self.end = _moment(session, before)
            nursery.cancel_scope.cancel("the story is over")

    async def _step(self, session: Session, step: Step, watcher: Watcher) -> PlayedStep:
        entries, events, at = len(session.tree()), len(watcher.seen), watcher.now
        outcome, why = await _do(session, step)
        await trio.testing.wait_all_tasks_blocked()
        return PlayedStep(
            step=step,
            at=at,
            events=tuple(watcher.seen[events:]),
            outcome=outcome,
            why=why,
            after=_moment(session, entries),
        )


async def _do(session: Session, step: Step) -> tuple[OutcomeWord | None, str]:
    """Do a step to its end; the outcome of an input, and the words of what went wrong with it."""
    match step:
        case Prompt(prompt=text):
            return await _say(session, text)
        case Feed(events=events):
            for event in events:
                session.feed(event)
        case Pass(pass_=seconds):
            await trio.sleep(seconds)
        case _:
            assert_never(step)
    return None, ""


async def _say(session: Session, text: str) -> tuple[OutcomeWord | None, str]:
    with trio.move_on_after(STEP_LIMIT):
        try:
            return _word(await session.prompt(text))
        except Refused as refusal:
            return "refused", str(refusal)
        except SapwoodError as error:
            return "failed", str(error)
    return None, f"it did not settle in {STEP_LIMIT:,.0f} virtual seconds"


def _word(outcome: InputOutcome) -> tuple[OutcomeWord, str]:
    match outcome:
        case Delivered():
            return "delivered", ""
        case Returned():
            return "returned", ""
        case Withdrawn():
            return "cancelled", ""
        case Failed(reason=reason):
            return "failed", reason
        case _:
            assert_never(outcome)


def _moment(session: Session, since: int) -> Moment:
    return Moment(
        entries=session.entries()[since:],
        projection=session.context().items,
        usage=str(session.context_usage()),
        state=session.state,
    )
