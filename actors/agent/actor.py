"""The shell of the agent: take the tree, do what the reducer says, give the tree back, say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import trio
from msgspec.structs import replace

from sapwood.actors.agent.checkpoints import Checkpoints
from sapwood.actors.agent.compacting import Compacting
from sapwood.actors.agent.desk import Desk
from sapwood.actors.agent.hearing import Hearing
from sapwood.actors.agent.hooks import RunHooks
from sapwood.actors.agent.navigating import Navigating
from sapwood.actors.agent.one_run import Run, Runs
from sapwood.actors.agent.prepare import change
from sapwood.actors.agent.run import next_step
from sapwood.actors.agent.setting import Setter
from sapwood.actors.agent.state import IDLE
from sapwood.actors.agent.steps import (
    Answered,
    AtBoundary,
    Broke,
    CallModel,
    CallTools,
    Check,
    Do,
    End,
    Happened,
    Hide,
    Prepare,
    Prepared,
    Record,
    Recorded,
    Recover,
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
from sapwood.actors.compaction.recovery import recovery, was_tried
from sapwood.actors.kernel import (
    CRASHES,
    Actor,
    ActorCrashed,
    Ended,
    Inquiry,
    OperationCrashed,
    Refuse,
    Reply,
    Start,
    insist,
)
from sapwood.actors.model.assembly import Draft, unfinished
from sapwood.actors.projection.section import Given, SectionContext
from sapwood.actors.projection.system_prompt import replay
from sapwood.actors.tools.recorded import results_behind
from sapwood.events.commands import (
    Abort,
    AppendCustom,
    Compact,
    Edit,
    FollowUp,
    Input,
    Navigate,
    Prompt,
    QueueName,
    SetLabel,
    SetModel,
    SetThinkingLevel,
    SetTools,
    Steer,
)
from sapwood.events.errors import SapwoodError, SessionBroken
from sapwood.events.messages import AssistantMessage
from sapwood.events.requests import (
    Accept,
    Acquire,
    CatchUp,
    Generate,
    RunTools,
    Select,
    StopCall,
    StopTools,
    ToolsRan,
)
from sapwood.events.runtime import AgentSettled, Diagnostic

Setting = SetModel | SetThinkingLevel | SetTools | Edit | SetLabel | AppendCustom
Asked = Prompt | Steer | FollowUp | Abort | Compact | Navigate | Setting | Ended


class Agent(Actor[Asked]):
    """Owns the run. Asked for whatever a host may ask; announces everything that a run does."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._setter = Setter(desk)
        self._checkpoints = Checkpoints(desk)
        self._runs = Runs(desk.pen)
        self._compacting = Compacting(desk, self._runs)
        self._navigating = Navigating(desk)
        self._hooks = RunHooks(desk.questions, desk.projection, desk.pen, desk.publish)
        self._hearing = Hearing(self._hooks, desk.inbox)

    def handle(self, message: Asked) -> Reply | Refuse | Start | None:
        match message:
            case Prompt(input=taken):
                if taken.entry_id in self._desk.pen.view.tree:
                    return Reply()  # asked again after a crash: it was delivered, and its run is over
                run = self._runs.new(taken.entry_id)
                return Start(lambda: self._run(taken, run), name=f"run {taken.entry_id}", owner="actor")
            case Steer(input=taken):
                return self._queue(taken, "steering")
            case FollowUp(input=taken):
                return self._queue(taken, "follow_up")
            case Abort():
                return Start(self._abort, name="abort", owner="actor")
            case Compact():
                name = self._compacting.under_way.begin(f"compact {message.entry_id}")
                return Start(lambda: self._compacting.compact(message), name=name, tells=True)
            case Navigate():
                name, navigate = self._navigating.begin(message)
                return Start(navigate, name=name, tells=True)
            case Ended(name=name):
                return self._go_on(name)
            case _:
                return self._setter.handle(message)

    def _queue(self, taken: Input, queue: QueueName) -> Start:
        """Asked here and now: operations begin in any order, and inputs are queued in that in which they were said (R3)."""
        if self._hearing.is_due:
            return self._hearing.begin(taken, queue)
        asked = Inquiry(self._desk.inbox, Accept(input=taken, queue=queue))
        return Start(asked.come, name=f"queue {taken.entry_id}", owner="actor")

    def _go_on(self, ended: str) -> Start | None:
        """What was said while somebody else had the tree starts a run now."""
        if self._hearing.ended(ended) or not (
            self._compacting.under_way.has_news(ended) or self._navigating.under_way.has_news(ended)
        ):
            return None
        run = self._runs.new(self._desk.pen.new_id())
        return Start(lambda: self._run(None, run), name=f"run {run.key}")

    async def _run(self, taken: Input | None, run: Run) -> None:
        """A run with this input; None: with the oldest one that waits, unless somebody came before it."""
        desk, run.begun = self._desk, True
        try:
            await desk.exclusion.ask(Acquire(newcomer="prompt", key=run.key))
            if taken is None:
                taken = desk.shelf.queues.take("steering") or desk.shelf.queues.take("follow_up")
                if taken is not None:
                    desk.publish(desk.shelf.news())
            else:
                taken = await self._hooks.heard(taken, run)
                await insist(desk.inbox, Accept(input=taken))
            if taken is not None:
                await self._hold(taken, run)
        finally:
            desk.lease.release(run.key)
            self._runs.end(run)

    async def _hold(self, taken: Input, run: Run) -> None:
        """The run, and the news that it has settled, whatever becomes of it."""
        with self._desk.tracing.run(self._desk.chosen.model) as traced:
            end = await self._settle(taken, run)
            traced.settled(run.answer, aborted=end.aborted)

    async def _settle(self, taken: Input, run: Run) -> End:
        desk, run.said, settled = self._desk, taken, AgentSettled(aborted=True)
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
            desk.lease.release(run.key)
            desk.publish(settled)
        if end.error is not None:
            raise end.error
        return end

    async def _turns(self, taken: Input, run: Run) -> End:
        state = replace(IDLE, rules=self._desk.rules)
        happened: Happened = Started(taken)
        while True:
            state, do = next_step(state, happened)
            if isinstance(do, End):
                return do
            try:
                happened = await self._effect(do, run)
            except SapwoodError as failure:
                happened = Broke(failure)

    async def _effect(self, do: Do, run: Run) -> Happened:
        match do:
            case Tell(event):
                self._desk.publish(event)
                return Told()
            case TellQueue():
                self._desk.publish(self._desk.shelf.news())
                return Told()
            case TakeNext():
                await run.clear()
                return self._take(do, run)
            case Prepare():
                return await self._prepare(run)
            case Record(message=message, entry_id=entry_id):
                kept = await self._hooks.kept(message, run)
                return Recorded(kept, await run.log.append(kept, entry_id))
            case CallModel(number):
                await run.clear()
                return await self._answer(number, run)
            case CallTools():
                await run.clear()
                return await self._tools(do, run)
            case Check():
                return await self._checkpoints.check(do, run)
            case Hide():
                return await self._checkpoints.hide(do, run)
            case Recover():
                return await self._checkpoints.recover(do, run)
            case Wait(delay_ms):
                return await self._wait(delay_ms, run)
            case AtBoundary():
                return await self._hooks.cross(do, run)
            case End():
                raise AssertionError("the end is no effect")
            case _:
                assert_never(do)

    def _take(self, do: TakeNext, run: Run) -> Took:
        """Without a checkpoint: between the last look and the end of the run nothing can come in."""
        for queue in () if run.stopped else do.queues:
            taken = self._desk.shelf.queues.take(queue)
            if taken is not None:
                return Took(do, taken, queue)
        return Took(do, stopped=run.stopped)

    async def _prepare(self, run: Run) -> Prepared:
        """Ask first, and compare with the branch as it is then. A run that was stopped meanwhile says nothing of its prompt."""
        desk = self._desk
        tools = desk.chosen.definitions()
        if tools is None and desk.sections.whole:
            tools = ()  # who asks for a prompt asks for the whole of it
        prepared = Prepared(None)
        given: Mapping[str, Given] | None = None
        if not run.stopped and (tools is not None or desk.sections.asked_for):
            with run.idle():
                await insist(desk.pen.session_log, CatchUp())  # a session that cannot be written asks no section
                header = desk.pen.view.header
                context = SectionContext(session_id=header.id, cwd=header.cwd, model=desk.chosen.model)
                given = await desk.sections.ask(context, tools or ())
                # that took its time; what is compared with is what the message comes behind
                if desk.sections.asked_for:
                    await insist(desk.pen.session_log, CatchUp())
                selection = await insist(desk.projection, Select())
                now_ms = desk.pen.environment.now_ms()
                there, whole = replay(selection.messages), desk.sections.whole
                prepared = Prepared(change(given, there, tools=tools, now_ms=now_ms, whole=whole))
        await self._hooks.starting(run.said, given, run)
        return prepared

    async def _answer(self, number: int, run: Run) -> Answered:
        desk = self._desk
        await self._hooks.keep_notes(run)
        selection = await insist(desk.projection, Select())
        messages = await self._hooks.sent(selection.messages, run)
        asked = Generate(
            call_id=f"{run.key}/{number}",
            model=desk.chosen.model,
            purpose="turn",
            messages=messages,
            thinking_level=selection.thinking_level,
            changed=messages is not selection.messages,
        )
        try:
            # asked once: a call that was begun may have been billed, and whether another one is worth it is a decision (M4)
            answer = run.answer = await run.ask(desk.model_actor, asked, StopCall(call_id=asked.call_id))
        except (ActorCrashed, OperationCrashed) as crash:
            answer = run.answer = self._no_answer(str(crash))
        called_for = recovery(answer, asked.model) if desk.settings.enabled else None
        return Answered(
            answer,
            jitter=desk.pen.environment.fraction() if answer.stop_reason == "error" else 0.0,
            recovery=called_for,
            tried=called_for is not None and was_tried(desk.pen.view),
        )

    def _no_answer(self, error: str) -> AssistantMessage:
        """A call that broke is a failed answer like any other: the log shows it, and it is not sent again."""
        now = self._desk.pen.environment.now_ms()
        return unfinished(Draft(), self._desk.chosen.model, started_ms=now, reason="error", error=error)

    async def _tools(self, do: CallTools, run: Run) -> ToolsDone:
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
            ran = await self._broken(asked, run)
        run.log.follow(ran.last)
        return ToolsDone(ran.results, run.stopped)

    async def _broken(self, asked: RunTools, run: Run) -> ToolsRan:
        """What ran the calls broke: results that are in the log stand, the other calls are told so, and none is run again."""
        there, last = results_behind(self._desk.pen.view, asked.behind)
        lacking = tuple(call for call in asked.calls if call.id not in there)
        if lacking:
            rest = RunTools(batch_id=f"{asked.batch_id}/rest", calls=lacking, behind=last, unrun="broken")
            ran = await run.ask(self._desk.tools, rest, StopTools(batch_id=rest.batch_id))
            there |= {one.message.tool_call_id: one for one in ran.results}
            last = ran.last
        return ToolsRan(results=tuple(there[call.id] for call in asked.calls), last=last)

    async def _wait(self, delay_ms: float, run: Run) -> Waited:
        with run.idle():
            await trio.sleep(delay_ms / 1000)
        return Waited(run.stopped)

    async def _abort(self) -> None:
        async with self._compacting.under_way.stopped(), self._navigating.under_way.stopped():
            await self._runs.abort()


def _settled(aborted: bool, error: Exception | None, unrecorded: AssistantMessage | None = None) -> AgentSettled:
    kind = SessionBroken if isinstance(error, CRASHES) else type(error)
    told = None if error is None else str(error)
    return AgentSettled(
        aborted=aborted, error_message=told, error_type=None if error is None else kind.__name__, unrecorded=unrecorded
    )
