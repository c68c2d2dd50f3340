"""Puts a `Line` between a session and the world: its environment, providers, tools, sections, handlers, store, ring and tap.

Both who records and who replays stand there, so that what the one lets through is what the other gives.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from hashlib import sha256
from itertools import count
from typing import Any, Final, TypeVar, cast

import attrs

from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.actors.environment import Environment
from sapwood.actors.extensions.context import ExtensionContext
from sapwood.actors.extensions.extension import Handler, Registered
from sapwood.actors.foreign import in_thread
from sapwood.actors.kernel import Receipt, Ring, Tap, Verdict
from sapwood.actors.kernel.tap import Phase
from sapwood.actors.outgoing.veil import Redactor
from sapwood.actors.projection.counter import TokenCounter
from sapwood.actors.projection.counts import CounterSource
from sapwood.actors.projection.section import Section, SectionContext
from sapwood.actors.tools.tool import AskPerson, BadArguments, Tool, ToolContext
from sapwood.events.base import Json, is_object
from sapwood.events.codec import encode_event
from sapwood.events.content import ToolCall
from sapwood.events.runtime import Event
from sapwood.recording.line import CLOCK, Line, as_it_is
from sapwood.recording.providing import lined_provider
from sapwood.recording.values import (
    answer_in,
    answer_out,
    disk_in,
    disk_out,
    error_in,
    error_out,
    redacted_in,
    redacted_out,
    result_in,
    result_out,
)
from sapwood.store.disk import Disk
from sapwood.store.port import Store
from sapwood.wiring import Host

T = TypeVar("T")


def _verdict(value: Json) -> Verdict:
    """What is on no tape is handled: a replay is over there."""
    return "drop" if value == "drop" else "handle"


class LinedTap:
    """Every message and operation has its turn. `Tap`."""

    def __init__(self, line: Line, inner: Tap | None) -> None:
        self._line = line
        self._inner = inner

    async def receipt(self, receipt: Receipt) -> Verdict:
        async def work() -> Verdict:
            return "handle" if self._inner is None else await self._inner.receipt(receipt)

        return await self._line.through(f"{receipt.actor}<{receipt.n}", work, as_it_is, _verdict)

    async def operation(self, actor: str, operation: str, phase: Phase) -> None:
        async def work() -> None:
            if self._inner is not None:
                await self._inner.operation(actor, operation, phase)

        await self._line.through(f"{actor}/{operation} {phase}", work, as_it_is, as_it_is)


class LinedRing(Ring):
    """Every event is witnessed."""

    line: Line

    def publish(self, event: Event) -> int:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] - a session's ring has events alone
        self.line.witness("event", encode_event(event))
        return super().publish(event)


class LinedStore:
    """Every entry is witnessed, when it is acknowledged. `Store`."""

    def __init__(self, line: Line, inner: Store) -> None:
        self._line = line
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def append(self, lines: Sequence[bytes]) -> None:
        self.stage(lines)
        self.commit()

    def commit(self) -> None:
        before = len(self._inner.tree)
        self._inner.commit()
        for at in range(before, len(self._inner.tree)):
            self._line.witness("entry", self._inner.line(at))


class LinedDisk:
    """Every call of the disk goes through. `Disk`."""

    def __init__(self, line: Line, inner: Disk) -> None:
        self._line = line
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        call: Callable[..., Any] = getattr(self._inner, name)

        def called(*given: object) -> object:
            def make() -> Json:
                try:
                    return disk_out(call(*given))
                except OSError as error:
                    return {"errno": error.errno, "said": error.strerror}

            value = self._line.drawn(f"disk {name}", make)
            if is_object(value) and "errno" in value:
                raise OSError(value["errno"], value["said"])
            return disk_in(value)

        return called


_BEHIND: Final = ContextVar[list[Callable[[], None]] | None]("behind", default=None)
"""What work in a thread would have the session see: it does once that work has had its turn."""


def lined_environment(line: Line, real: Environment) -> Environment:
    """The clock, chance, the disk that is read for sections, and when it is that a thread is done."""
    numbers = count(1)

    def running(run: Any) -> Any:
        async def run_sync(function: Callable[[], Any], /) -> Any:
            done: list[Any] = []
            behind: list[Callable[[], None]] = []

            async def work() -> None:
                before = _BEHIND.set(behind)
                try:
                    done.append(await run(function))
                finally:
                    _BEHIND.reset(before)

            await line.through(f"ran {next(numbers)}", work, as_it_is, as_it_is)
            if not done:  # it is done again, where it takes no time
                done.append(function())
            for then in behind:
                then()
            return done[0]

        return run_sync

    def now_ms() -> int:
        return int(line.drawn(CLOCK, real.now_ms))

    def random(size: int) -> bytes:
        return bytes.fromhex(str(line.drawn("random", lambda: real.random(size).hex())))

    return attrs.evolve(
        real,
        now_ms=now_ms,
        random=random,
        run_sync=running(real.run_sync),
        run_foreign=running(real.run_foreign),
        disk=LinedDisk(line, real.disk),
    )


@attrs.frozen(kw_only=True)
class LinedTool(Tool):
    """A tool whose arguments are read, and whose code is run, on the other side."""

    line: Line

    def read(self, call: ToolCall) -> dict[str, Any]:
        read: list[dict[str, Any]] = []

        def make() -> Json:
            try:
                read.append(super(LinedTool, self).read(call))
            except BadArguments as fault:
                return str(fault)
            return None

        bad = self.line.drawn(f"read {self.name}", make)
        if bad is not None:
            raise BadArguments(bad)
        return read[0] if read else {}


def lined_tool(line: Line, tool: Tool, real: Environment) -> Tool:
    """`real`: where a plain function is run."""

    async def run(context_: ToolContext, **given: Any) -> object:
        key = f"tool {context_.call_id}"
        context = attrs.evolve(context_, progress=line.progress(key, context_.progress))
        arguments = given if tool.context is None else {**given, tool.context: context}

        async def work() -> object:
            return await _called(tool.function, arguments, real)

        return await line.through(key, work, result_out, result_in, deaf=True)

    fields: dict[str, Any] = {field.name: getattr(tool, field.name) for field in attrs.fields(Tool)}
    fields["function"], fields["context"] = run, "context_"
    return LinedTool(**fields, line=line)


async def _called(function: Callable[..., object], arguments: dict[str, Any], real: Environment) -> object:
    if inspect.iscoroutinefunction(function):
        given: object = function(**arguments)
    else:
        given = await in_thread(real.run_foreign, lambda: function(**arguments))
    return await given if inspect.isawaitable(given) else given


def lined_ask(line: Line, ask: AskPerson) -> AskPerson:
    async def asked(question: str, /) -> str:
        async def work() -> str:
            return await ask(question)

        return await line.through("ask", work, as_it_is, as_it_is, deaf=True)

    return asked


def lined_prompt(line: Line, prompt: SystemPrompt | None) -> SystemPrompt | None:
    """Sections that are asked for are asked for on the other side."""
    if prompt is None:
        return None
    sections = {name: _lined_section(line, name, one) for name, one in prompt.sections.items()}
    return attrs.evolve(prompt, preamble=_lined_section(line, "", prompt.preamble), sections=sections)


def _lined_section(line: Line, name: str, section: Section) -> Section:
    if isinstance(section, str):
        return section
    function = section

    async def asked(context: SectionContext) -> Any:
        async def work() -> Any:
            answer: Any = function(context)
            return await answer if inspect.isawaitable(answer) else answer

        return await line.through(f"section {name}", work, as_it_is, as_it_is, deaf=True)

    return asked


def lined_handler(line: Line, handler: Handler, at: int) -> Handler:
    """A handler that answers on the other side."""

    async def asked(question: Any, context: ExtensionContext) -> object:
        async def work() -> object:
            answer = handler.function(question, context)
            return await answer if inspect.isawaitable(answer) else answer

        return await line.through(f"handler {at}", work, answer_out, answer_in, deaf=True)

    return attrs.evolve(handler, function=asked)


def lined_extensions(line: Line, registered: Registered) -> Registered:
    """All of a session's, their handlers numbered in their order."""
    numbers = count(1)
    return registered.changed(
        lambda handler: lined_handler(line, handler, next(numbers)),
        lambda name, section: _lined_section(line, name, section),
    )


def lined_redactor(line: Line, redactor: Redactor | None) -> Redactor | None:
    """It is asked on the other side. What it gives is on the tape, as the log's own text is."""
    if redactor is None:
        return None

    def redacted(text: str) -> Any:
        def make() -> Json:
            try:
                return redacted_out(redactor(text))
            except Exception as fault:  # noqa: BLE001 - foreign code: it is raised below
                return {"error": error_out(fault)}

        told = line.drawn(f"redactor {sha256(text.encode(errors='replace')).hexdigest()}", make)
        if "error" in told:
            raise error_in(told["error"])
        return redacted_in(told)

    return redacted


class LinedCounter:
    """A counter that is ready where this session has made it so, whoever else of the process has. `CounterSource`.

    One that a thread has loaded is ready when that thread's work has had its turn, and no sooner: what is done meanwhile goes by it.
    """

    def __init__(self, inner: CounterSource) -> None:
        self._inner = inner
        self.ready = inner.ready

    @property
    def trouble(self) -> str | None:
        return self._inner.trouble

    def counter(self) -> TokenCounter:
        counter, behind = self._inner.counter(), _BEHIND.get()
        if behind is None:
            self._is_ready()
        else:
            behind.append(self._is_ready)
        return counter

    def _is_ready(self) -> None:
        self.ready = True


def lined(line: Line, store: Store, host: Host, tap: Tap | None) -> tuple[Store, Host, Tap, type[Ring]]:
    """The same, with the line between them and the session."""
    real, chosen = host.environment, host.chosen
    tools = {name: lined_tool(line, one, real) for name, one in chosen.known.items()}
    providers = {name: lined_provider(line, one) for name, one in host.providers.items()}
    changed = attrs.evolve(
        host,
        providers=providers,
        environment=lined_environment(line, real),
        counter=LinedCounter(host.counter),
        chosen=attrs.evolve(chosen, known=tools),
        system_prompt=lined_prompt(line, host.system_prompt),
        ask=lined_ask(line, host.ask),
        registered=lined_extensions(line, host.registered),
        redactor=lined_redactor(line, host.redactor),
        heard=line,
    )
    ring = type("LinedRing", (LinedRing,), {"line": line})
    return cast("Store", LinedStore(line, store)), changed, LinedTap(line, tap), ring
