"""The shell of the agent: take the tree, do what the reducer says, give the tree back, say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import attrs
import trio
from msgspec import UNSET

from sapwood.actors.agent.prepare import Given, SectionContext, change
from sapwood.actors.agent.run import (
    IDLE,
    Answered,
    Broke,
    CallModel,
    End,
    Happened,
    Prepare,
    Prepared,
    Record,
    Recorded,
    Started,
    Tell,
    Told,
    next_step,
)
from sapwood.actors.agent.sections import Sections
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import CRASHES, Actor, ActorCrashed, OperationCrashed, Ref, Reply, Start, insist, insist_anew
from sapwood.actors.model.assembly import Draft, unfinished
from sapwood.actors.projection.system_prompt import replay
from sapwood.actors.session_log.view import View
from sapwood.events.commands import Abort, Input, Prompt
from sapwood.events.entries import MessageEntry
from sapwood.events.errors import SapwoodError, SessionBroken, StaleLeaf
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.events.models import Model
from sapwood.events.requests import Accept, Acquire, Append, CallId, Generate, Select, StopCall, Withdraw
from sapwood.events.runtime import AgentSettled, Diagnostic, Event


@attrs.frozen(kw_only=True)
class Desk:
    """Whom the agent may ask, and what it works with."""

    exclusion: Ref
    inbox: Ref
    session_log: Ref
    projection: Ref
    model_actor: Ref
    view: View
    environment: Environment
    new_id: Callable[[], EntryId]
    """Makes an entry's id that no entry has, and no input that is on its way."""
    publish: Callable[[Event], int]
    release: Callable[[str], None]
    """Gives the tree back."""
    model: Model
    sections: Sections | None
    """The system prompt that the host asked for; None if it asked for none."""


@attrs.define(eq=False)
class _Run:
    """A run that was asked for."""

    call: CallId
    """Its model call, the one under way or the next one."""
    ended: trio.Event = attrs.field(factory=trio.Event)
    stopped: bool = False
    """Whether nobody waits any more for a disk that refuses."""
    preparing: trio.CancelScope | None = None
    """What asks the sections of the system prompt."""
    recording: EntryId | None = None
    """What is being appended."""
    last: EntryId | None = None
    """What was appended last."""


class Agent(Actor[Prompt | Abort]):
    """Owns the run. Asked for prompts and aborts; announces everything that a run does."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._runs: dict[EntryId, _Run] = {}
        """Those that were asked for and have not ended; all but one of them are about to be refused."""

    def handle(self, message: Prompt | Abort) -> Reply | Start:
        match message:
            case Prompt(input=taken):
                if taken.entry_id in self._desk.view.tree:
                    return Reply()  # asked again after a crash: it was delivered, and its run is over
                run = self._runs[taken.entry_id] = _Run(_call_id(taken, 0))
                return Start(lambda: self._run(taken, run), name=f"run {taken.entry_id}", owner="actor")
            case Abort():
                return Start(self._abort, name="abort", owner="actor")
            case _:
                assert_never(message)

    async def _run(self, taken: Input, run: _Run) -> None:
        desk, key = self._desk, taken.entry_id
        try:
            await desk.exclusion.ask(Acquire(newcomer="prompt", key=key))
            await insist(desk.inbox, Accept(input=taken))
            await self._hold(taken, run)
        finally:
            desk.release(key)
            del self._runs[key]
            run.ended.set()

    async def _hold(self, taken: Input, run: _Run) -> None:
        """The run, and the news that it has settled, whatever becomes of it."""
        settled = AgentSettled(aborted=True)
        try:
            end = await self._turns(taken, run)
            settled = _settled(end.aborted, end.error, end.unrecorded)
        except Exception as fault:
            settled = _settled(True, fault)
            raise
        finally:
            if settled.error_message is not None:
                self._desk.publish(Diagnostic(code="run_failed", message=settled.error_message))
            self._desk.release(taken.entry_id)
            self._desk.publish(settled)
        if end.error is not None:
            raise end.error

    async def _turns(self, taken: Input, run: _Run) -> End:
        state = IDLE
        happened: Happened = Started(taken, prepares=self._desk.sections is not None)
        while True:
            state, do = next_step(state, happened)
            if isinstance(do, End):
                return do
            try:
                happened = await self._effect(do, taken, run)
            except SapwoodError as failure:
                happened = Broke(failure)

    async def _effect(self, do: Tell | Prepare | Record | CallModel, taken: Input, run: _Run) -> Happened:
        match do:
            case Tell(event):
                self._desk.publish(event)
                return Told()
            case Prepare():
                return await self._prepare(run)
            case Record():
                return await self._record(do, run)
            case CallModel(turn_index):
                run.call = _call_id(taken, turn_index)
                try:
                    return Answered(await self._answer(run.call))
                except (ActorCrashed, OperationCrashed) as crash:
                    return Answered(self._no_answer(str(crash)))
            case _:
                assert_never(do)

    async def _prepare(self, run: _Run) -> Happened:
        """Ask first, and compare with the branch as it is then. A run that was stopped meanwhile says nothing of its prompt."""
        desk, sections = self._desk, self._desk.sections
        given = None if sections is None or run.stopped else await self._ask_sections(sections, run)
        if sections is None or given is None:
            return Prepared(None)
        selection = await insist(desk.projection, Select())
        now_ms = desk.environment.now_ms()
        return Prepared(change(given, replay(selection.messages), tools=sections.tools, now_ms=now_ms))

    async def _ask_sections(self, sections: Sections, run: _Run) -> dict[str, Given] | None:
        """What they give; None if an abort came first."""
        header = self._desk.view.header
        context = SectionContext(session_id=header.id, cwd=header.cwd, model=self._desk.model)
        with trio.CancelScope() as run.preparing:
            return await sections.ask(context)
        return None

    async def _record(self, do: Record, run: _Run) -> Happened:
        desk = self._desk
        entry_id = do.entry_id or desk.new_id()
        entry = MessageEntry(id=entry_id, parent_id=None, timestamp=desk.environment.timestamp(), message=do.message)
        run.recording = entry_id
        try:
            await self._append(entry, run)
        finally:
            run.recording = None
        run.last = entry_id
        return Recorded(do.message, entry_id)

    async def _append(self, entry: MessageEntry, run: _Run) -> None:
        """Behind what this run recorded last and what another program wrote behind that; what it wrote elsewhere is a branch (S9)."""
        desk, last = self._desk, UNSET if run.last is None else run.last

        def behind_the_last() -> Append:
            return Append(entries=(entry,), expected_leaf=last, patient=not run.stopped)

        def wherever_the_run_is() -> Append:
            under = UNSET if self._leads_to_the_leaf(run.last) else last
            return Append(entries=(entry,), under=under, patient=not run.stopped)

        try:
            await insist_anew(desk.session_log, behind_the_last)
        except StaleLeaf:
            if not self._leads_to_the_leaf(run.last):
                told = "another program began a branch of this session meanwhile: this run goes on with its own"
                desk.publish(Diagnostic(code="leaf_moved", message=told, entry_id=run.last))
            await insist_anew(desk.session_log, wherever_the_run_is)

    def _leads_to_the_leaf(self, entry_id: EntryId | None) -> bool:
        tree = self._desk.view.tree
        place = None if entry_id is None else tree.index(entry_id)
        return place is not None and tree.leaf is not None and tree.is_ancestor(place, tree.leaf)

    async def _answer(self, call_id: CallId) -> AssistantMessage:
        desk = self._desk
        selection = await insist(desk.projection, Select())
        # asked once: a call that was begun may have been billed, and whether another one is worth it is a decision (M4)
        return await desk.model_actor.ask(
            Generate(
                call_id=call_id,
                model=desk.model,
                purpose="turn",
                messages=selection.messages,
                thinking_level=selection.thinking_level,
            ),
        )

    def _no_answer(self, error: str) -> AssistantMessage:
        """A call that broke is a failed answer like any other: the log shows it, and it is not sent again."""
        now = self._desk.environment.now_ms()
        return unfinished(Draft(), self._desk.model, started_ms=now, reason="error", error=error)

    async def _abort(self) -> None:
        desk, runs = self._desk, tuple(self._runs.values())
        for run in runs:
            run.stopped = True
            if run.preparing is not None:
                run.preparing.cancel(reason="the run was stopped")
        for run in runs:
            if run.recording is not None:
                await insist(desk.session_log, Withdraw(entry_id=run.recording))
            await insist(desk.model_actor, StopCall(call_id=run.call))
        for run in runs:
            await run.ended.wait()


def _settled(aborted: bool, error: Exception | None, unrecorded: AssistantMessage | None = None) -> AgentSettled:
    kind = SessionBroken if isinstance(error, CRASHES) else type(error)
    told = None if error is None else str(error)
    return AgentSettled(
        aborted=aborted, error_message=told, error_type=None if error is None else kind.__name__, unrecorded=unrecorded
    )


def _call_id(taken: Input, turn_index: int) -> CallId:
    """The call of a turn: known before it is made, so that it can be stopped before it is made."""
    return f"{taken.entry_id}/{turn_index}"
