"""The shell of the agent: take the tree, do what the reducer says, give the tree back, say so."""

from __future__ import annotations

from typing import Final, TypeVar, assert_never

import attrs
import trio

from sapwood.actors.agent.desk import Desk
from sapwood.actors.agent.prepare import SectionContext, change
from sapwood.actors.agent.run import IDLE, next_step
from sapwood.actors.agent.setting import Setter
from sapwood.actors.agent.steps import (
    Answered,
    Broke,
    CallModel,
    CallTools,
    Do,
    End,
    Happened,
    Prepare,
    Prepared,
    Record,
    Recorded,
    Started,
    TakeNext,
    Tell,
    TellQueue,
    Told,
    Took,
    ToolsDone,
    Wait,
    Waited,
)
from sapwood.actors.kernel import (
    CRASHES,
    Actor,
    ActorCrashed,
    Inquiry,
    OperationCrashed,
    Ref,
    Refuse,
    Reply,
    Start,
    insist,
)
from sapwood.actors.model.assembly import Draft, unfinished
from sapwood.actors.projection.system_prompt import replay
from sapwood.actors.session_log.run_log import RunLog
from sapwood.actors.tools.recorded import results_behind
from sapwood.events.asking import Ask
from sapwood.events.commands import (
    Abort,
    AppendCustom,
    Edit,
    FollowUp,
    Input,
    Prompt,
    QueueName,
    SetLabel,
    SetModel,
    SetThinkingLevel,
    SetTools,
    Steer,
)
from sapwood.events.errors import SapwoodError, SessionBroken
from sapwood.events.ids import EntryId
from sapwood.events.messages import AssistantMessage
from sapwood.events.requests import Accept, Acquire, CatchUp, Generate, RunTools, Select, StopCall, StopTools, ToolsRan
from sapwood.events.runtime import AgentSettled, Diagnostic

Asked = Prompt | Steer | FollowUp | Abort | SetModel | SetThinkingLevel | SetTools | Edit | SetLabel | AppendCustom
STOPPED: Final = "the run was stopped"
T = TypeVar("T")


@attrs.define(eq=False)
class _Run:
    """A run that was asked for."""

    key: EntryId
    """Its first input."""
    log: RunLog
    begun: bool = False
    """Whether its operation has come to it; one that broke before that ends nothing."""
    ended: trio.Event = attrs.field(factory=trio.Event)
    stopped: bool = False
    idling: trio.CancelScope | None = None
    """What nobody waits for once it is stopped: sections that are asked, time that goes by."""
    under_way: tuple[Ref, StopCall | StopTools] | None = None
    """Who works for it, and how that is stopped."""

    async def stop(self) -> None:
        self.stopped = True
        if self.idling is not None:
            self.idling.cancel(reason=STOPPED)
        await self.log.stop()
        if self.under_way is not None:
            who, stop = self.under_way
            try:
                await insist(who, stop)
            except SapwoodError as error:
                if not isinstance(error, CRASHES):
                    raise
                # who was asked to stop has heard it: whatever broke behind that, the run is waited for

    async def ask(self, who: Ref, asked: Ask[T], stop: StopCall | StopTools) -> T:
        """Ask for work that ends early when the run is stopped, before it begins or while it is under way."""
        self.under_way = (who, stop)
        try:
            if self.stopped:
                await insist(who, stop)
            return await who.ask(asked)
        finally:
            self.under_way = None


class Agent(Actor[Asked]):
    """Owns the run. Asked for whatever a host may ask; announces everything that a run does."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._setter = Setter(desk)
        self._runs: dict[EntryId, _Run] = {}
        """Those that were asked for and have not ended; all but one of them are about to be refused."""

    def handle(self, message: Asked) -> Reply | Refuse | Start:
        match message:
            case Prompt(input=taken):
                if taken.entry_id in self._desk.pen.view.tree:
                    return Reply()  # asked again after a crash: it was delivered, and its run is over
                log = RunLog(self._desk.pen)
                run = self._runs[taken.entry_id] = _Run(taken.entry_id, log)
                return Start(lambda: self._run(taken, run), name=f"run {taken.entry_id}", owner="actor")
            case Steer(input=taken):
                return self._queue(taken, "steering")
            case FollowUp(input=taken):
                return self._queue(taken, "follow_up")
            case Abort():
                return Start(self._abort, name="abort", owner="actor")
            case _:
                return self._setter.handle(message)

    def _queue(self, taken: Input, queue: QueueName) -> Start:
        """Asked here and now: operations begin in any order, and inputs are queued in that in which they were said (R3)."""
        asked = Inquiry(self._desk.inbox, Accept(input=taken, queue=queue))
        return Start(asked.come, name=f"queue {taken.entry_id}", owner="actor")

    async def _run(self, taken: Input, run: _Run) -> None:
        desk, run.begun = self._desk, True
        try:
            await desk.exclusion.ask(Acquire(newcomer="prompt", key=run.key))
            await insist(desk.inbox, Accept(input=taken))
            await self._hold(taken, run)
        finally:
            desk.release(run.key)
            del self._runs[run.key]
            run.ended.set()

    async def _hold(self, taken: Input, run: _Run) -> None:
        """The run, and the news that it has settled, whatever becomes of it."""
        desk = self._desk
        settled = AgentSettled(aborted=True)
        try:
            end = await self._turns(taken, run)
            settled = _settled(end.aborted, end.error, end.unrecorded)
        except Exception as fault:
            settled = _settled(True, fault)
            raise
        finally:
            if settled.error_message is not None:
                desk.publish(Diagnostic(code="run_failed", message=settled.error_message))
            if desk.shelf.queues.put_back(desk.pen.view.tree.ids):  # what was taken and not recorded waits again (R3)
                desk.publish(desk.shelf.news())
            desk.release(run.key)
            desk.publish(settled)
        if end.error is not None:
            raise end.error

    async def _turns(self, taken: Input, run: _Run) -> End:
        state = attrs.evolve(IDLE, rules=self._desk.rules)
        happened: Happened = Started(taken)
        while True:
            state, do = next_step(state, happened)
            if isinstance(do, End):
                return do
            try:
                happened = await self._effect(do, run)
            except SapwoodError as failure:
                happened = Broke(failure)

    async def _effect(self, do: Do, run: _Run) -> Happened:
        match do:
            case Tell(event):
                self._desk.publish(event)
                return Told()
            case TellQueue():
                self._desk.publish(self._desk.shelf.news())
                return Told()
            case TakeNext():
                return self._take(do, run)
            case Prepare():
                return await self._prepare(run)
            case Record(message=message, entry_id=entry_id):
                return Recorded(message, await run.log.append(message, entry_id))
            case CallModel(number):
                return await self._answer(number, run)
            case CallTools():
                return await self._tools(do, run)
            case Wait(delay_ms):
                return await self._wait(delay_ms, run)
            case End():
                raise AssertionError("the end is no effect")
            case _:
                assert_never(do)

    def _take(self, do: TakeNext, run: _Run) -> Took:
        """Without a checkpoint: between the last look and the end of the run nothing can come in."""
        for queue in () if run.stopped else do.queues:
            taken = self._desk.shelf.queues.take(queue)
            if taken is not None:
                return Took(do, taken, queue)
        return Took(do)

    async def _prepare(self, run: _Run) -> Prepared:
        """Ask first, and compare with the branch as it is then. A run that was stopped meanwhile says nothing of its prompt."""
        desk = self._desk
        tools = desk.chosen.definitions()
        if tools is None and desk.sections.asked_for:
            tools = ()  # who asks for a prompt asks for the whole of it
        if run.stopped or (tools is None and not desk.sections.asked_for):
            return Prepared(None)
        await insist(desk.pen.session_log, CatchUp())  # a session that cannot be written asks no section
        header = desk.pen.view.header
        context = SectionContext(session_id=header.id, cwd=header.cwd, model=desk.chosen.model)
        with trio.CancelScope() as run.idling:
            given = await desk.sections.ask(context, tools or ())
            if desk.sections.asked_for:  # that took its time; what is compared with is what the message comes behind
                await insist(desk.pen.session_log, CatchUp())
            selection = await insist(desk.projection, Select())
            now_ms = desk.pen.environment.now_ms()
            return Prepared(change(given, replay(selection.messages), tools=tools, now_ms=now_ms))
        return Prepared(None)

    async def _answer(self, number: int, run: _Run) -> Answered:
        desk = self._desk
        selection = await insist(desk.projection, Select())
        asked = Generate(
            call_id=f"{run.key}/{number}",
            model=desk.chosen.model,
            purpose="turn",
            messages=selection.messages,
            thinking_level=selection.thinking_level,
        )
        try:
            # asked once: a call that was begun may have been billed, and whether another one is worth it is a decision (M4)
            answer = await run.ask(desk.model_actor, asked, StopCall(call_id=asked.call_id))
        except (ActorCrashed, OperationCrashed) as crash:
            answer = self._no_answer(str(crash))
        return Answered(answer, self._jitter() if answer.stop_reason == "error" else 0.0)

    def _jitter(self) -> float:
        return int.from_bytes(self._desk.pen.environment.random(2), "big") / 2**16

    def _no_answer(self, error: str) -> AssistantMessage:
        """A call that broke is a failed answer like any other: the log shows it, and it is not sent again."""
        now = self._desk.pen.environment.now_ms()
        return unfinished(Draft(), self._desk.chosen.model, started_ms=now, reason="error", error=error)

    async def _tools(self, do: CallTools, run: _Run) -> ToolsDone:
        if run.log.last is None:
            raise AssertionError("calls are run of an answer that is in the log")
        asked = RunTools(
            batch_id=f"{run.key}/{do.number}",
            calls=do.calls,
            behind=run.log.last,
            unrun="truncated" if do.truncated else None,
        )
        try:
            ran = await run.ask(self._desk.tools, asked, StopTools(batch_id=asked.batch_id))
        except (ActorCrashed, OperationCrashed):
            ran = await self._broken(asked)
        run.log.last = ran.last
        return ToolsDone(ran.results, run.stopped)

    async def _broken(self, asked: RunTools) -> ToolsRan:
        """What ran the calls broke: results that are in the log stand, the other calls are told so, and none is run again."""
        there, last = results_behind(self._desk.pen.view, asked.behind)
        lacking = tuple(call for call in asked.calls if call.id not in there)
        if lacking:
            rest = RunTools(batch_id=f"{asked.batch_id}/rest", calls=lacking, behind=last, unrun="broken")
            ran = await insist(self._desk.tools, rest)
            there |= {one.message.tool_call_id: one for one in ran.results}
            last = ran.last
        return ToolsRan(results=tuple(there[call.id] for call in asked.calls), last=last)

    async def _wait(self, delay_ms: float, run: _Run) -> Waited:
        with trio.CancelScope() as run.idling:
            if not run.stopped:
                await trio.sleep(delay_ms / 1000)
        run.idling = None
        return Waited(run.stopped)

    async def _abort(self) -> None:
        runs = tuple(self._runs.values())
        for run in runs:
            await run.stop()
        for run in runs:
            if run.begun:  # another one is stopped when it begins
                await run.ended.wait()


def _settled(aborted: bool, error: Exception | None, unrecorded: AssistantMessage | None = None) -> AgentSettled:
    kind = SessionBroken if isinstance(error, CRASHES) else type(error)
    told = None if error is None else str(error)
    return AgentSettled(
        aborted=aborted, error_message=told, error_type=None if error is None else kind.__name__, unrecorded=unrecorded
    )
