"""Running the calls of one answer.

1. They are prepared in the order of the calls and run together; if one of them is of a sequential tool, one after the other (R2).
2. A result is recorded as soon as it is there: a crash keeps what has finished.
3. A stop reaches what runs by its scope, and nothing begins behind it. What does not end then within `LEAVE_AFTER` is left behind,
   named, and its result is nobody's (R4).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
import msgspec
import trio

from sapwood.actors.environment import Environment
from sapwood.actors.foreign import LEAVE_AFTER, Fault, in_thread, outcome_of
from sapwood.actors.kernel import Apart, Loop, OperationCrashed
from sapwood.actors.session_log.run_log import Pen, RunLog
from sapwood.actors.tools.hooks import Hooks
from sapwood.actors.tools.results import (
    BROKEN,
    INTERRUPTED,
    LEFT_BEHIND,
    TRUNCATED,
    UNSTARTED,
    CallOutcome,
    failed,
    message_of,
    of_returned,
    plain_json,
    unknown_tool,
)
from sapwood.actors.tools.tool import AskPerson, BadArguments, Tool, ToolContext
from sapwood.actors.tracing import ABANDONED, CANCELLED, NO_SUCCESS, Traced, Tracing
from sapwood.events.base import Json
from sapwood.events.content import ToolCall
from sapwood.events.errors import SapwoodError
from sapwood.events.requests import Ran, RunTools, ToolsRan
from sapwood.events.runtime import Event, ToolAbandoned, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate

STOPPED: Final = "the run was stopped"
UNRUN: Final = {"truncated": TRUNCATED, "broken": BROKEN}


@attrs.frozen(kw_only=True)
class Bench:
    """What calls are run with."""

    tools: Callable[[], Mapping[str, Tool]]
    """Those that are active now, by name."""
    environment: Environment
    publish: Callable[[Event], int]
    pen: Pen
    ask: AskPerson
    report: Callable[[str, BaseException], None]
    """Told of each fault in the code of a tool: whose, and what it raised."""
    hooks: Hooks
    tracing: Tracing


@attrs.frozen
class _Ready:
    """A call that may run."""

    index: int
    call: ToolCall
    tool: Tool
    arguments: dict[str, Any]


class Batch:
    """The calls of one answer, once."""

    def __init__(self, asked: RunTools, bench: Bench) -> None:
        self._asked = asked
        self._bench = bench
        self._tools = bench.tools()
        self._log = RunLog(bench.pen, last=asked.behind)
        self._stopped = False
        self._scopes: list[trio.CancelScope] = []
        self._ran: dict[int, Ran] = {}
        self._fault: SapwoodError | None = None
        """What kept a result out of the log."""

    def cancel(self) -> None:
        """See rule 3."""
        self._stopped = True
        for scope in self._scopes:
            scope.cancel(reason=STOPPED)

    async def stop(self) -> None:
        """The same, and wait for no disk that refuses."""
        self.cancel()
        await self._log.stop()

    async def run(self) -> ToolsRan:
        calls = self._asked.calls
        tools = [self._tools.get(call.name) for call in calls]
        if any(tool is not None and tool.mode == "sequential" for tool in tools):
            for index, call in enumerate(calls):
                ready = await self._prepare(index, call)
                if ready is not None:
                    await self._carry_out(ready)
        else:
            prepared = [await self._prepare(index, call) for index, call in enumerate(calls)]
            async with trio.open_nursery() as nursery:
                for ready in prepared:
                    if ready is not None:
                        nursery.start_soon(self._carry_out, ready)
        if self._fault is not None:
            raise self._fault
        return ToolsRan(
            results=tuple(self._ran[index] for index in range(len(calls))), last=self._log.last or self._asked.behind
        )

    async def _prepare(self, index: int, call: ToolCall) -> _Ready | None:
        """Announce it, and see whether it can run; one that cannot has its result at once."""
        self._bench.publish(ToolExecutionStart(tool_call_id=call.id, tool_name=call.name, args=call.arguments))
        outcome: CallOutcome
        tool = self._tools.get(call.name)
        if self._asked.unrun is not None:
            outcome = failed(UNRUN[self._asked.unrun])
        elif self._stopped:
            outcome = failed(UNSTARTED)
        elif tool is None:
            outcome = unknown_tool(call.name, tuple(self._tools))
        else:
            ready = await self._allowed(index, call, tool)
            if isinstance(ready, _Ready):
                return ready
            outcome = ready
        await self._finish(index, call, outcome)
        return None

    async def _allowed(self, index: int, call: ToolCall, tool: Tool) -> _Ready | CallOutcome:
        """The call as it may run: its arguments fit, and whoever guards calls lets it through, as it is or changed."""
        try:
            arguments = tool.read(call)
            with self._stoppable():
                allowed = await self._bench.hooks.allow(call)
                if isinstance(allowed, CallOutcome):
                    return allowed
                return _Ready(index, call, tool, arguments if allowed is call else tool.read(allowed))
        except BadArguments as fault:
            cause = fault.__cause__
            if cause is not None and not isinstance(
                cause, msgspec.ValidationError
            ):  # the code of a type that the tool takes
                self._bench.report(tool.name, cause)
            return failed(str(fault))
        return failed(UNSTARTED)

    def _stoppable(self) -> trio.CancelScope:
        """A stop ends what is awaited in it."""
        scope = trio.CancelScope()
        if self._stopped:
            scope.cancel(reason=STOPPED)
        self._scopes.append(scope)  # one that is left is cancelled for nobody
        return scope

    async def _carry_out(self, ready: _Ready) -> None:
        if self._stopped:
            await self._finish(ready.index, ready.call, failed(UNSTARTED))
            return
        started = self._bench.environment.now_ms()
        with self._bench.tracing.tool(ready.call.name, ready.call.id) as traced:
            outcome = await self._called(ready, started, traced)
            if outcome.is_error:
                traced.failed(NO_SUCCESS)
        duration = self._bench.environment.now_ms() - started
        with self._stoppable():  # a result that a stop keeps from being looked at stands as it is
            outcome = await self._bench.hooks.changed(ready.call, outcome)
        await self._finish(ready.index, ready.call, outcome, duration)

    async def _called(self, ready: _Ready, started: int, traced: Traced) -> CallOutcome:
        """What the tool gave, or what stopped it."""
        call = ready.call
        running = _Running(self._bench, call)
        part = Apart(lambda: self._call(ready, running, traced), name=f"tool {call.name} {call.id}", grace=LEAVE_AFTER)
        try:
            with self._stoppable():
                return await part.run()
        except OperationCrashed as crash:
            self._bench.report(call.name, crash)
            traced.raised(crash)
            return failed(BROKEN)
        finally:
            running.over = True
        if not part.running:
            traced.failed(CANCELLED)
            return failed(INTERRUPTED)
        traced.failed(ABANDONED)
        after = self._bench.environment.now_ms() - started
        self._bench.publish(ToolAbandoned(tool_call_id=call.id, tool_name=call.name, after_ms=after))
        return failed(LEFT_BEHIND)

    async def _call(self, ready: _Ready, running: _Running, traced: Traced) -> CallOutcome:
        """The foreign code, and whatever comes of it."""
        tool, arguments = ready.tool, dict(ready.arguments)
        if tool.context is not None:
            header = self._bench.pen.view.header
            arguments[tool.context] = ToolContext(
                session_id=header.id,
                cwd=header.cwd,
                call_id=ready.call.id,
                progress=running.progress,
                ask=self._bench.ask,
            )
        came = await outcome_of(
            lambda: self._outcome(tool.function, arguments), lambda fault: self._bench.report(tool.name, fault)
        )
        if not isinstance(came, Fault):
            return came
        traced.raised(came.error)
        return failed(f"The tool failed: {came.words()}")

    async def _outcome(self, function: Callable[..., object], arguments: dict[str, Any]) -> CallOutcome:
        """A plain function is run where it may block; what it gives may still have to be waited for."""
        if inspect.iscoroutinefunction(function):
            given: object = function(**arguments)
        else:
            given = await in_thread(self._bench.environment.run_foreign, lambda: function(**arguments))
        return of_returned(await given if inspect.isawaitable(given) else given)

    async def _finish(self, index: int, call: ToolCall, outcome: CallOutcome, duration_ms: int | None = None) -> None:
        """Tell of the result, and record it."""
        bench = self._bench
        message = message_of(call, outcome, timestamp=bench.environment.now_ms(), duration_ms=duration_ms)
        bench.publish(
            ToolExecutionEnd(
                tool_call_id=call.id,
                tool_name=call.name,
                result=message.content,
                is_error=message.is_error,
                duration_ms=duration_ms,
            )
        )
        if self._fault is not None:
            return
        with self._stoppable():  # one that a stop keeps from being looked at stands as it is
            message = await bench.hooks.kept(message)
        try:
            entry_id = await self._log.append(message)
        except SapwoodError as fault:
            self._fault = fault
            self.cancel()  # what is still to come could not be recorded either
        else:
            self._ran[index] = Ran(message=message, entry_id=entry_id, terminate=outcome.terminate)


class _Running:
    """A call that runs, as far as its own code may speak of it."""

    def __init__(self, bench: Bench, call: ToolCall) -> None:
        self._bench = bench
        self._call = call
        self._loop = Loop()
        self.over = False

    def progress(self, partial: Json) -> None:
        """From the loop or from a thread, whoever began it. Raises what msgspec raises for what is no JSON, and WrongThread."""
        copy = plain_json(partial)  # the tool may go on with what it told
        self._loop.call(lambda: self._tell(copy))

    def _tell(self, partial: Json) -> None:
        if not self.over:
            told = ToolExecutionUpdate(tool_call_id=self._call.id, tool_name=self._call.name, partial_result=partial)
            self._bench.publish(told)
