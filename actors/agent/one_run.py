"""A run that was asked for: what it appends, whom it waits for, and how it is stopped."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

import attrs
import trio

from sapwood.actors.kernel import CRASHES, Ref, insist
from sapwood.actors.session_log.run_log import Pen, RunLog
from sapwood.events.asking import Ask
from sapwood.events.commands import Input
from sapwood.events.hooks import DraftMessage
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.events.requests import StopCall, StopCompaction, StopTools

STOPPED: Final = "the run was stopped"
Stop = StopCall | StopTools | StopCompaction
T = TypeVar("T")


@attrs.define(eq=False)
class Run:
    """See the module."""

    key: EntryId
    """Names it: its first input, if it is asked for with one."""
    log: RunLog
    begun: bool = False
    """Whether its operation has come to it; one that broke before that ends nothing."""
    ended: trio.Event = attrs.field(factory=trio.Event)
    stopped: bool = False
    said: Input | None = None
    """What it began with."""
    asked: bool = False
    """Whether extensions were asked how it is to begin, and what they said: a prompt of theirs, and what is to be added."""
    forced: str | None = None
    answer: AssistantMessage | None = None
    """The last one that its model gave."""
    notes: tuple[DraftMessage, ...] = ()
    _holds: int = 0
    """How many decide right now whether it is to be stopped."""
    _free: trio.Event = attrs.field(factory=trio.Event)
    _idling: trio.CancelScope | None = None
    _under_way: tuple[Ref, Stop] | None = None
    """Who works for it, and how that is stopped."""

    async def stop(self) -> None:
        """It is to end soon. What it waits for is told so."""
        self.stopped = True
        self._free.set()
        if self._idling is not None:
            self._idling.cancel(reason=STOPPED)
        await self.log.stop()
        if self._under_way is not None:
            who, stop = self._under_way
            with suppress(*CRASHES):  # who was asked has heard it: whatever broke behind that, the run is waited for
                await insist(who, stop)

    def hold(self) -> None:
        """Somebody decides whether it is to be stopped: it begins nothing that would be for nothing then."""
        if not self._holds:
            self._free = trio.Event()
        self._holds += 1

    def release(self) -> None:
        """That is decided."""
        self._holds -= 1
        if not self._holds:
            self._free.set()

    async def clear(self) -> None:
        """Wait while somebody holds it. At once, and without a checkpoint, where nobody does or it was stopped."""
        while self._holds and not self.stopped:
            await self._free.wait()

    def idle(self) -> trio.CancelScope:
        """Around what nobody waits for once it is stopped: sections that are asked, time that goes by. Left at once if it was before."""
        scope = self._idling = trio.CancelScope()
        if self.stopped:
            scope.cancel(reason=STOPPED)
        return scope

    async def ask(self, who: Ref, asked: Ask[T], stop: Stop) -> T:
        """Ask for work that ends early when the run is stopped, before it begins or while it is under way."""
        self._under_way = (who, stop)
        try:
            if self.stopped:
                await insist(who, stop)
            return await who.ask(asked)
        finally:
            self._under_way = None


class Runs:
    """Those that were asked for and have not ended; all but one of them are about to be refused."""

    def __init__(self, pen: Pen) -> None:
        self._pen = pen
        self._runs: dict[EntryId, Run] = {}

    def new(self, key: EntryId) -> Run:
        """One that is asked for now."""
        run = self._runs[key] = Run(key, RunLog(self._pen))
        return run

    def end(self, run: Run) -> None:
        """It is over."""
        del self._runs[run.key]
        run.ended.set()

    @contextmanager
    def held(self) -> Generator[None]:
        """None of them takes up an input, asks a model or begins to run tools meanwhile."""
        runs = tuple(self._runs.values())
        for run in runs:
            run.hold()
        try:
            yield
        finally:
            for run in runs:
                run.release()

    async def abort(self) -> None:
        """Stop all of them; returns when those that had begun have ended."""
        runs = tuple(self._runs.values())
        for run in runs:
            await run.stop()
        for run in runs:
            if run.begun:  # another one is stopped when it begins
                await run.ended.wait()
