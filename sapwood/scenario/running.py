"""Playing a scenario: open its session, do its steps, note what is seen, and compare.

1. The world is scripted: the same scenario under the same seed gives the same events and the same entries, byte for byte.
2. A session that comes from a file is played on a copy in a folder of its own, which is gone in the end.
3. What the runtime refuses is an outcome, what it breaks at is a finding, whatever it raises; only a scenario that cannot be played
   raises.
4. Whoever watches keeps up with what is fed: every event of a step is seen, however many there are.
5. A `kill` and a `reopen` begin another session on what is left of the one before: what the killed one does on its way out is nobody's.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

import attrs
import trio
import trio.testing

from sapwood.actors.environment import Environment
from sapwood.actors.extensions.extension import Extension
from sapwood.actors.inbox import Handle
from sapwood.actors.kernel import Tap
from sapwood.events.errors import SapwoodError
from sapwood.events.runtime import Purpose
from sapwood.recording.recorder import Recorder
from sapwood.runtime import Runtime
from sapwood.scenario import scripting
from sapwood.scenario.acting import act, came
from sapwood.scenario.beginning import CWD, Kept, begin, extensions_of, leave
from sapwood.scenario.checking import check
from sapwood.scenario.language import AnyWord, CrashNext, Kill, Reopen, Said, Scenario, Step
from sapwood.scenario.loading import load
from sapwood.scenario.passing import Gate
from sapwood.scenario.played import Moment, Played, PlayedStep, Seen
from sapwood.scenario.scripting import Script
from sapwood.scenario.watching import Watcher
from sapwood.session import Session

DEAD: Final = "the process was killed before anything had come of it"
_NOTHING_YET: Final = Moment(entries=(), projection=(), usage="", state="idle")

Then = Callable[[Session, Script], Awaitable[None]]
"""What is done with the session behind the last step, while it is open."""


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

    return in_virtual_time(whole)


def in_virtual_time(work: Callable[[], Awaitable[Played]]) -> Played:
    """Do this where a wait takes no time."""
    return trio.run(work, clock=trio.testing.MockClock(autojump_threshold=0))


async def run(
    scenario: Scenario,
    *,
    tap: Tap | None = None,
    seed: int = 0,
    then: Then | None = None,
    where: Callable[[Path], Kept] | None = None,
    record: str | None = None,
) -> Played:
    """Play a scenario under the clock that trio runs with; an autojump clock makes its time virtual. As `play` otherwise.

    Args:
        scenario: what `load` gave.
        tap: sees, orders and breaks what the actors do.
        seed: of the ids that are made.
        then: is done with the session behind the last step.
        where: lays out another session than the story begins with, in a folder of its own.
        record: a new file for a recording; of a story with several sessions each has its own, `.2` and so on behind the first.
    """
    environment = Environment.scripted(seed)
    script = scripting.provider(scenario.story)
    player = _Player(scenario, script, tap, extensions=extensions_of(scenario), record=record)
    broken: str | None = None
    with TemporaryDirectory(prefix="sapwood-scenario-") as folder:
        place = begin(scenario, environment, Path(folder)) if where is None else where(Path(folder))
        runtime = Runtime(providers=[script], environment=environment, counter="heuristic")
        try:
            await player.play(runtime, place, then)
        except Exception as error:  # noqa: BLE001 - what the runtime breaks at is what the story was to find out
            broken = "; ".join(_in_words(error))
    steps = await player.outcomes()
    return Played(
        scenario=scenario,
        steps=steps,
        end=player.end,
        differences=check(scenario, steps, player.end, broken or player.lost),
        broken=broken,
    )


def _in_words(error: BaseException) -> Iterator[str]:
    """What went wrong: the sentences of our own errors, and of others their kind too."""
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _in_words(one)
    else:
        yield str(error) if isinstance(error, SapwoodError) else f"{type(error).__name__}: {error}"


def _parts(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps of each session: every one but the first begins with what ended the one before."""
    parts: list[list[Step]] = [[]]
    for step in steps:
        if isinstance(step, Kill | Reopen):
            parts.append([])
        parts[-1].append(step)
    return parts


class _Player:
    """One playing of one scenario."""

    def __init__(
        self, scenario: Scenario, script: Script, tap: Tap | None, *, extensions: list[Extension], record: str | None
    ) -> None:
        self._scenario = scenario
        self._script = script
        self._extensions = extensions
        """For the first session that is opened; another process loads its own."""
        self._record = record
        self._opened = 0
        self._gate = Gate(tap)
        crashes = any(isinstance(step, CrashNext) for step in scenario.story.steps)
        self._tap = self._gate if crashes or tap is not None else None
        self._answers: Counter[Purpose] = Counter(
            {purpose: len(queue) for purpose, queue in scripting.script(scenario.story).items()}
        )
        self.lost: str | None = None
        """What to say if not every event was seen."""
        self.steps: list[PlayedStep] = []
        self._handles: dict[int, Handle] = {}
        """What was said, by step."""
        self._unknown: set[int] = set()
        """What was said in a process that was killed before anything had come of it, by step."""
        self._seen: list[Seen] = []
        self._entries = 0
        """How many there were behind the last step."""
        self._before: int | None = None
        """How many entries there were when the story began."""
        self.end = _NOTHING_YET

    async def play(self, runtime: Runtime, place: Kept, then: Then | None) -> None:
        start = trio.current_time()
        parts = _parts(self._scenario.story.steps)
        for part, following in zip(parts, [*parts[1:], None], strict=True):
            async with self._open(runtime, place) as session, trio.open_nursery() as nursery:
                heard = session._wiring.heard  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - who records it is asked whether it is at rest
                self._gate.recorder = heard if isinstance(heard, Recorder) else None
                watcher = Watcher(session.events(since=0), seen=self._seen, start=start)
                nursery.start_soon(watcher.follow)
                await self._play_part(session, part, watcher)
                if then is not None and following is None:
                    await then(session, self._script)
                lay_out = leave(place, session)
                if following is not None and isinstance(following[0], Reopen):
                    await session.close()
                    await self._gate.quiet()
                    lay_out = leave(place, session)
                elif following is not None:
                    self._unknown |= {n for n, handle in self._handles.items() if handle.outcome_nowait is None}
                nursery.cancel_scope.cancel("this part of the story is over")
            place = lay_out() if following is not None else place

    def _open(self, runtime: Runtime, place: Kept) -> AbstractAsyncContextManager[Session]:
        story = self._scenario.story
        extensions, self._extensions = self._extensions or extensions_of(self._scenario), []
        self._opened += 1
        part = f".{self._opened}" if self._opened > 1 else ""
        return runtime.open_session(
            place,
            model=story.model,
            system_prompt=story.system_prompt,
            tools=scripting.tools(story),
            extensions=extensions,
            settings=story.settings,
            cwd=CWD,
            tap=self._tap,
            record=None if self._record is None else f"{self._record}{part}",
        )

    async def _play_part(self, session: Session, steps: Sequence[Step], watcher: Watcher) -> None:
        if self._before is None:
            self._before = len(session.tree())
            self._entries = self._before
            self.end = _moment(session, self._before)
        for step in steps:
            self.steps.append(await self._step(session, step, watcher))
            self.end = _moment(session, self._before)

    async def _step(self, session: Session, step: Step, watcher: Watcher) -> PlayedStep:
        entries, at = len(session.tree()), watcher.now
        if isinstance(step, Kill | Reopen):  # what the closing wrote is of this step
            entries = self._entries
        events = self.steps[-1].until if self.steps else 0
        missing, asked = self._missing(), len(self._script.requests)
        outcome, why = None, ""
        if not isinstance(step, Kill | Reopen):
            outcome, why = await act(
                session, step, self._gate, begun=partial(self._handles.__setitem__, len(self.steps))
            )
        await self._gate.quiet()
        self._entries = len(session.tree())
        if watcher.lost and self.lost is None:
            self.lost = f"events came faster than they could be read: step {len(self.steps) + 1} shows the rest"
        return PlayedStep(
            step=step,
            at=at,
            events=tuple(watcher.seen[events:]),
            until=len(watcher.seen),
            outcome=outcome,
            why=why,
            after=_moment(session, entries),
            calls=tuple(request.purpose for request in self._script.requests[asked:]),
            unanswered=tuple(self._missing() - missing),
        )

    async def outcomes(self) -> tuple[PlayedStep, ...]:
        """The steps, with what came of all that was said; asked when the session is closed, so that everything has an outcome."""
        steps = list(self.steps)
        for at, handle in self._handles.items():
            if at >= len(steps):
                continue
            step = attrs.evolve(steps[at], entry_id=handle.entry_id)
            if isinstance(step.step, Said):
                outcome: tuple[AnyWord, str] = ("lost", DEAD) if at in self._unknown else await came(handle)
                step = attrs.evolve(step, outcome=outcome[0], why=outcome[1])
            steps[at] = step
        return tuple(steps)

    def _missing(self) -> Counter[Purpose]:
        """The answers that were asked for beyond those that the script has."""
        asked: Counter[Purpose] = Counter(request.purpose for request in self._script.requests)
        return asked - self._answers


def _moment(session: Session, since: int) -> Moment:
    return Moment(
        entries=session.entries()[since:],
        projection=session.context().items,
        usage=str(session.context_usage()),
        state=session.state,
    )
