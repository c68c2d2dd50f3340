"""The shell of the agent: take the tree, do what the reducer says, give the tree back, say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import attrs
import trio

from sapwood.actors.agent.run import (
    IDLE,
    Answered,
    CallModel,
    End,
    Happened,
    Record,
    Recorded,
    Started,
    Tell,
    Told,
    next_step,
)
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Actor, Ref, Reply, Start, insist
from sapwood.actors.session_log.view import View
from sapwood.events.commands import Abort, Input, Prompt
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import EntryId, new_entry_id
from sapwood.events.messages import AssistantMessage
from sapwood.events.models import Model
from sapwood.events.requests import Accept, Acquire, Append, CallId, Generate, Lease, Project, StopCall
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
    publish: Callable[[Event], int]
    model: Model


@attrs.define(eq=False)
class _Run:
    """A run that was asked for."""

    call: CallId
    """Its model call, the one under way or the next one."""
    ended: trio.Event = attrs.field(factory=trio.Event)


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
        try:
            lease = await self._desk.exclusion.ask(Acquire(newcomer="prompt"))
            await self._hold(lease, taken, run)
        finally:
            del self._runs[taken.entry_id]
            run.ended.set()

    async def _hold(self, lease: Lease, taken: Input, run: _Run) -> None:
        aborted = True
        try:
            await insist(self._desk.inbox, Accept(input=taken))
            aborted = await self._turns(taken, run)
        except Exception as error:
            self._desk.publish(Diagnostic(code="run_failed", message=str(error)))
            raise
        finally:
            lease.release()
            self._desk.publish(AgentSettled(aborted=aborted))

    async def _turns(self, taken: Input, run: _Run) -> bool:
        state = IDLE
        happened: Happened = Started(taken)
        while True:
            state, do = next_step(state, happened)
            match do:
                case Tell(event):
                    self._desk.publish(event)
                    happened = Told()
                case Record():
                    happened = await self._record(do)
                case CallModel(turn_index):
                    run.call = _call_id(taken, turn_index)
                    happened = Answered(await self._answer(run.call))
                case End(aborted):
                    return aborted
                case _:
                    assert_never(do)

    async def _record(self, do: Record) -> Happened:
        desk = self._desk
        entry_id = do.entry_id or new_entry_id(desk.environment.random, desk.view.tree.ids)
        entry = MessageEntry(id=entry_id, parent_id=None, timestamp=desk.environment.timestamp(), message=do.message)
        # wherever the leaf is: the lease keeps it on this branch, and what came since belongs before this message
        await insist(desk.session_log, Append(entries=(entry,)))
        return Recorded(do.message, entry_id)

    async def _answer(self, call_id: CallId) -> AssistantMessage:
        desk = self._desk
        context = await insist(desk.projection, Project())
        return await insist(
            desk.model_actor,
            Generate(
                call_id=call_id,
                model=desk.model,
                purpose="turn",
                messages=context.messages,
                thinking_level=context.thinking_level,
            ),
        )

    async def _abort(self) -> None:
        for run in tuple(self._runs.values()):
            await self._desk.model_actor.ask(StopCall(call_id=run.call))
        for run in tuple(self._runs.values()):
            await run.ended.wait()


def _call_id(taken: Input, turn_index: int) -> CallId:
    """The call of a turn: known before it is made, so that it can be stopped before it is made."""
    return f"{taken.entry_id}/{turn_index}"
