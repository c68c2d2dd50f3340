"""Playing a scenario: open its session, do its steps, note what is seen, and compare.

1. The world is scripted: the same scenario under the same seed gives the same events and the same entries, byte for byte.
2. A session that comes from a file is played on a copy in a folder of its own, which is gone in the end.
3. What the runtime refuses is an outcome, what it breaks at is a finding, whatever it raises; only a scenario that cannot be played
   raises.
4. Whoever watches keeps up with what is fed: every event of a step is seen, however many there are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, assert_never, cast

import attrs
import trio
import trio.testing

from sapwood.actors.environment import Environment
from sapwood.actors.inbox import Handle
from sapwood.actors.kernel import Tap
from sapwood.actors.model.providers.scripted import Scripted
from sapwood.events.commands import Delivered, Failed, InputOutcome, Returned, Withdrawn
from sapwood.events.errors import Refused, SapwoodError
from sapwood.events.ids import EntryId
from sapwood.events.runtime import Purpose
from sapwood.runtime import Runtime
from sapwood.scenario import scripting
from sapwood.scenario.beginning import CWD, begin, extensions_of
from sapwood.scenario.checking import check
from sapwood.scenario.language import (
    STEP_LIMIT,
    Abort,
    AnyWord,
    Compact,
    CompactionWord,
    Feed,
    FollowUp,
    Navigate,
    NavigationWord,
    OutcomeWord,
    Pass,
    Prompt,
    Scenario,
    Settle,
    Steer,
    Step,
    Submit,
)
from sapwood.scenario.loading import load
from sapwood.scenario.played import Moment, Played, PlayedStep
from sapwood.scenario.watching import Watcher
from sapwood.session import Session

UNSETTLED: Final = f"it did not settle in {STEP_LIMIT:,.0f} virtual seconds"
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
    provider = scripting.provider(scenario.story)
    player = _Player(scenario, provider)
    story = scenario.story
    broken: str | None = None
    extensions = extensions_of(scenario)
    with TemporaryDirectory(prefix="sapwood-scenario-") as folder:
        where = begin(scenario, environment, Path(folder))
        runtime = Runtime(providers=[provider], environment=environment, counter="heuristic")
        try:
            async with runtime.open_session(
                where,
                model=story.model,
                system_prompt=story.system_prompt,
                tools=scripting.tools(story),
                extensions=extensions,
                settings=story.settings,
                cwd=CWD,
                tap=tap,
            ) as session:
                await player.play(session)
        except Exception as error:  # noqa: BLE001 - what the runtime breaks at is what the story was to find out
            broken = "; ".join(_in_words(error))
    steps = await player.outcomes()
    return Played(
        scenario=scenario,
        steps=steps,
        end=player.end,
        differences=check(scenario, steps, player.end, broken or player.lost),
    )


def _in_words(error: BaseException) -> Iterator[str]:
    """What went wrong: the sentences of our own errors, and of others their kind too."""
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _in_words(one)
    else:
        yield str(error) if isinstance(error, SapwoodError) else f"{type(error).__name__}: {error}"


class _Player:
    """One playing of one scenario."""

    def __init__(self, scenario: Scenario, provider: Scripted) -> None:
        self._scenario = scenario
        self._provider = provider
        self._script: Counter[Purpose] = Counter(
            {purpose: len(queue) for purpose, queue in scripting.script(scenario.story).items()}
        )
        self.lost: str | None = None
        """What to say if not every event was seen."""
        self.steps: list[PlayedStep] = []
        self._handles: dict[int, Handle] = {}
        """What was said without waiting, by step."""
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
        missing, asked = self._missing(), len(self._provider.requests)
        outcome, why = await self._do(session, step)
        await trio.testing.wait_all_tasks_blocked()
        if watcher.lost and self.lost is None:
            self.lost = f"events came faster than they could be read: step {len(self.steps) + 1} shows the rest"
        return PlayedStep(
            step=step,
            at=at,
            events=tuple(watcher.seen[events:]),
            outcome=outcome,
            why=why,
            after=_moment(session, entries),
            calls=tuple(request.purpose for request in self._provider.requests[asked:]),
            unanswered=tuple(self._missing() - missing),
        )

    async def _do(self, session: Session, step: Step) -> tuple[AnyWord | None, str]:
        """Do a step to its end; the outcome of what was waited for, and the words of what went wrong with the step."""
        match step:
            case Prompt(prompt=text):
                return await _say(session, text)
            case Submit(submit=text):
                return self._begin(session.submit, text)
            case Steer(steer=text):
                return self._begin(session.steer, text)
            case FollowUp(follow_up=text):
                return self._begin(session.follow_up, text)
            case Abort() | Settle():
                with trio.move_on_after(STEP_LIMIT) as limit:
                    await (session.abort() if isinstance(step, Abort) else session.wait_idle())
                if limit.cancelled_caught:
                    return None, UNSETTLED
            case Compact(compact=instructions):
                return await _compact(session, None if instructions is True else instructions)
            case Navigate():
                return await _navigate(session, step)
            case Feed(events=events):
                for event in events:
                    session.feed(event)
                    await trio.lowlevel.checkpoint()
            case Pass(pass_=seconds):
                await trio.sleep(seconds)
            case _:
                assert_never(step)
        return None, ""

    def _begin(self, say: Callable[[str], Handle], text: str) -> tuple[OutcomeWord | None, str]:
        """Say something without waiting; what is no input has its outcome at once."""
        try:
            self._handles[len(self.steps)] = say(text)
        except Refused as refusal:
            return "refused", str(refusal)
        return None, ""

    async def outcomes(self) -> tuple[PlayedStep, ...]:
        """The steps, with what came of all that was said; asked when the session is closed, so that everything has an outcome."""
        steps = list(self.steps)
        for at, handle in self._handles.items():
            if at < len(steps):
                word, why = await _came(handle)
                steps[at] = attrs.evolve(steps[at], outcome=word, why=why)
        return tuple(steps)

    def _missing(self) -> Counter[Purpose]:
        """The answers that were asked for beyond those that the script has."""
        asked: Counter[Purpose] = Counter(request.purpose for request in self._provider.requests)
        return asked - self._script


async def _say(session: Session, text: str) -> tuple[OutcomeWord | None, str]:
    with trio.move_on_after(STEP_LIMIT):
        try:
            return await _came(session.submit(text))
        except Refused as refusal:
            return "refused", str(refusal)
    return None, UNSETTLED


async def _compact(session: Session, instructions: str | None) -> tuple[CompactionWord | None, str]:
    with trio.move_on_after(STEP_LIMIT):
        try:
            await session.compact(instructions)
        except Refused as refusal:
            return "refused", str(refusal)
        except SapwoodError as error:
            return "failed", str(error)
        return "compacted", ""
    return None, f"it did not end in {STEP_LIMIT:,.0f} virtual seconds"


async def _navigate(session: Session, step: Navigate) -> tuple[NavigationWord | None, str]:
    target = None if step.navigate is None else EntryId(step.navigate)
    with trio.move_on_after(STEP_LIMIT):
        try:
            await session.navigate(target, summarize=step.summarize, instructions=step.instructions, label=step.label)
        except Refused as refusal:
            return "refused", str(refusal)
        except SapwoodError as error:
            return "failed", str(error)
        return "moved", ""
    return None, f"it did not end in {STEP_LIMIT:,.0f} virtual seconds"


async def _came(handle: Handle) -> tuple[OutcomeWord, str]:
    """What has come of an input, in a word, and why."""
    try:
        return _word(await handle.outcome())
    except Refused as refusal:
        return "refused", str(refusal)
    except SapwoodError as error:
        return "failed", str(error)


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
