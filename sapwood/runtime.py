"""What the sessions of a process share, and how a session is put together.

1. A session lives inside one `async with`; when the block ends, no task and no file of it is left.
2. Nothing here is state of a module: two runtimes in one process know nothing of each other.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, cast

import trio

from sapwood.actors.agent.desk import Chosen
from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.actors.environment import Environment
from sapwood.actors.exclusion.lease import Lease
from sapwood.actors.extensions.attendance import Reason
from sapwood.actors.extensions.extension import Extension, Registered
from sapwood.actors.kernel import ActorFailed, Ring, Tap, open_system
from sapwood.actors.model.providers.base import Provider
from sapwood.actors.outgoing.veil import Redactor
from sapwood.actors.projection.tokenizer import counter_source
from sapwood.actors.session_log.view import View
from sapwood.actors.tools.tool import AskPerson, Tool
from sapwood.events.catalog import ScannedSession
from sapwood.events.commands import Snapshot
from sapwood.events.context import DEFAULT_COUNTER, CounterName
from sapwood.events.entries import FORK_MARKER, Custom
from sapwood.events.errors import Refused, SessionBroken
from sapwood.events.models import Model
from sapwood.events.runtime import Event, merged
from sapwood.lending import Lending
from sapwood.listing import listing, looked_for, scanned
from sapwood.log import Log
from sapwood.opening import open_store_beside
from sapwood.recording.line import Line
from sapwood.session import Session
from sapwood.sessions import Sessions
from sapwood.settings import Settings
from sapwood.store.port import Durability, Store
from sapwood.taking import (
    take_ask,
    take_counter,
    take_durability,
    take_environment,
    take_flag,
    take_folder,
    take_model,
    take_path,
    take_providers,
    take_redactor,
    take_session_id,
    take_settings,
    take_system_prompt,
    take_tap,
    take_tools,
    take_tracer,
)

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer
from sapwood.wiring import Host, wire

RING_EVENTS: Final = 4096
"""Events that a reader may lag behind before it gets a snapshot instead: some forty turns with tools, a megabyte or so."""


class Runtime:
    """What a process shares among its sessions: providers, the environment, and what counts tokens. `Refused` for what is none of these.

    Args:
        providers: each by the `id` under which models speak of it.
        environment: the outside world: the real one if None.
        counter: what counts tokens (T1): `o200k_base`, exactly; `heuristic`, Pi's rule of thumb, four characters a token; `cl100k_base`
            where tiktoken already has it on this machine. One that cannot be had is the heuristic, and a `Diagnostic` of the code
            `counter_unavailable` says why. It is loaded once a process, beside what the first session does.
        tracer: OpenTelemetry's, such as `opentelemetry.trace.get_tracer("my-app")`: runs, model calls and calls of tools are spans,
            without what was said (E5).
    """

    def __init__(
        self,
        *,
        providers: Iterable[Provider] = (),
        environment: Environment | None = None,
        counter: CounterName = DEFAULT_COUNTER,
        tracer: Tracer | None = None,
    ) -> None:
        self._providers = take_providers(providers)
        self._environment = take_environment(environment)
        self._counter_name: CounterName = take_counter(counter)
        self._counter = counter_source(self._counter_name)
        self._tracer = take_tracer(tracer)

    @property
    def environment(self) -> Environment:
        return self._environment

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections of the providers that have some: sessions are over by then."""
        for provider in self._providers.values():
            close: Callable[[], Awaitable[None]] | None = getattr(provider, "aclose", None)
            if close is not None:
                await close()

    @asynccontextmanager
    async def open_session(
        self,
        where: str | os.PathLike[str] | Store | None = None,
        *,
        model: Model,
        system_prompt: str | SystemPrompt | None = None,
        cwd: str | os.PathLike[str] | None = None,
        session_id: str | None = None,
        read_only: bool = False,
        durability: Durability = "os",
        tools: Iterable[Tool | Callable[..., object]] | None = None,
        ask: AskPerson | None = None,
        extensions: Iterable[Extension] = (),
        settings: Settings | None = None,
        redactor: Redactor | None = None,
        tap: Tap | None = None,
        record: str | os.PathLike[str] | None = None,
    ) -> AsyncGenerator[Session, None]:
        """Open a session: a file (made at its first entry if it is missing), one in memory (None), or a store of the host's.

        Args:
            where: the session. One writer at a time: a second one gets `SessionInUse` (S10).
            model: what is prompted.
            system_prompt: what the model is told before anything else: its preamble, or a `SystemPrompt` of sections, asked before each
                turn; what differs from what the branch has is recorded (P6, P7). None leaves it as the branch has it.
            cwd: the working folder that a new session notes, absolute; the present one if None. It need not be there.
            session_id: of a new session; a UUIDv7 if None.
            read_only: whether nothing is to be appended: then the file must exist, and may be in use.
            durability: what an acknowledged entry survives: a killed process (`os`) or a power cut (`disk`, S5).
            tools: what the model may call: plain or async functions with typed arguments, or what `sapwood.tool` makes of one. None leaves
                what the branch tells the model of tools as it is; a call is then answered with an error.
            ask: how a tool asks the person (`ToolContext.ask`).
            extensions: whose handlers are asked, in this order, whose sections and tools the model is told of, and which are told of the
                session's beginning before this returns. One whose question this release does not ask is told by a `diagnostic`.
            settings: how the session behaves.
            redactor: what of a text no provider is to see, and the name that it goes by there: `{secret: name}`. Names that come back are
                the secrets again before tools, extensions, the log and whoever reads along (E6).
            tap: sees, orders and strikes what actors receive: for scenarios and tests.
            record: a new file for a recording of all that comes into the session, which `sapwood replay` plays again (Z3).

        Opening writes nothing (S4). Damage of the file is in `Session.damage`, and told by one `DamageFound`. Raises `NotASession`,
        `SessionInUse` and `CannotOpen` (the file, or a place where nothing may be written), `Refused` (the asker): `bad-input`, such as
        `InvalidSessionId`, and `no-model` for a model whose provider was not given. What the block raises comes out as it is; and
        `SessionBroken` does, where a part of the session crashes again and again.

        A version 1 file, or one of no version, is never written: the first prompt makes a version 3 session beside it and goes on there
        (S3), anew each time that the old path is opened. The event `session_moved` tells the new path: keep `session.path` from then on.
        """
        _check_trio()
        model, tap, session_id = take_model(model), take_tap(tap), take_session_id(session_id)
        durability, read_only = take_durability(durability), take_flag(read_only, "read_only")
        system_prompt, known = take_system_prompt(system_prompt), take_tools(tools)
        settings, ask, registered = take_settings(settings), take_ask(ask), Registered(extensions)
        redactor = take_redactor(redactor)
        known, cwd = registered.tools(known), take_folder(cwd)
        self._check_provider(model)
        environment = self._environment
        store = await open_store_beside(where, environment, cwd=cwd, session_id=session_id, read_only=read_only)
        chosen = Chosen(model=model, known=known or {}, active=None if known is None else tuple(known))
        host = Host(
            providers=self._providers,
            environment=environment,
            outside=environment,
            counter=self._counter,
            chosen=chosen,
            system_prompt=system_prompt,
            durability=durability,
            settings=settings,
            ask=ask,
            registered=registered,
            redactor=redactor,
            tracer=self._tracer,
            folder=_present_folder(),
        )
        recorder = None
        if record is not None:
            from sapwood.recording.recorder import begin_recording  # noqa: PLC0415 - who records nothing does not pay for it

            recorder = begin_recording(record, store, host, self._counter_name)
        async with open_wired(store, host, tap=tap, line=recorder) as session:
            yield session

    def sessions(
        self,
        *folders: str | os.PathLike[str],
        cwd: str | os.PathLike[str] | None = None,
        search: str | None = None,
    ) -> Sessions:
        """The sessions that there are in these folders and in the folders in them, the last active first (S14): a channel.

        Two bounded parts of each file are read, however large it is, and the first session comes at once; `Sessions.unlisted` has what
        could not be listed. Pi's and omp's folders may be named.

        Args:
            folders: where to look; without one, in the platform's data folder, which is the only time that HOME is looked up (E3).
            cwd: only those of one working folder, absolute.
            search: only those in which this is said; files are read whole for it, a megabyte at a time, until it is found.

        Raises `Refused` for what is none of these.
        """
        return Sessions(listing(looked_for(folders, cwd, search), self._environment), self._environment)

    async def scan(self, path: str | os.PathLike[str]) -> ScannedSession:
        """What only the whole of a session's file tells: how much is in it, what it has cost, and what is wrong with it (S14).

        Raises `NotASession`, `CannotOpen` and `Refused`, as `read` does.
        """
        name = take_path(path)
        return await self._environment.run_sync(lambda: scanned(name, self._environment))

    def _check_provider(self, model: Model) -> None:
        if model.provider not in self._providers:
            known = ", ".join(sorted(self._providers)) or "none"
            raise Refused(
                "no-model", f"no provider is called {model.provider!r} (there are: {known}): give it in providers=[…]"
            )


def _reason(view: View) -> Reason:
    """How the session begins, as extensions are told it."""
    leaf = None if view.leaf is None else view.find(view.leaf)
    if isinstance(leaf, Custom) and leaf.custom_type == FORK_MARKER:
        return "fork"
    return "new" if leaf is None else "resume"


def _present_folder() -> str:
    """Where we are; the root, where that is gone: a path from there leads nowhere any more."""
    try:
        return os.getcwd()  # noqa: PTH109 - it holds text
    except FileNotFoundError:
        return "/"


@asynccontextmanager
async def open_wired(store: Store, host: Host, *, tap: Tap | None, line: Line | None) -> AsyncGenerator[Session]:
    """A session on a store that is open, with what a host brings: for `Runtime.open_session`, and for who replays a recording.

    `line`: what stands between it and the world, if something does. The store is closed in the end. Raises what the block raises, and
    `SessionBroken`.
    """
    ring_type = Ring
    if line is not None:
        from sapwood.recording.wrapping import lined  # noqa: PLC0415 - who records nothing does not pay for it

        store, host, tap, ring_type = lined(line, store, host, tap)
    lease, view = Lease(), View(store)

    def snapshot() -> Snapshot:
        return Snapshot(state=lease.holder, leaf=view.leaf, entries=len(view))

    def late(operations: tuple[str, ...]) -> None:
        Log().bind(session=store.header.id).say("error", "still_running", operations=operations)

    ring = ring_type(RING_EVENTS, merge=_merge, snapshot=snapshot)
    try:
        async with open_system(f"session {store.header.id}", ring=ring, tap=tap, late=late) as system:
            reason = _reason(view)
            wiring = wire(system, ring, store, view, lease, host)
            session = Session(wiring)
            try:
                lending = Lending(session, wiring)
                if line is not None:
                    line.opened(session, lending)
                await wiring.attendance.begins(lending, reason)
                yield session
            finally:
                try:
                    await session.close()
                finally:
                    wiring.heard.host({"type": "leave"})  # from here on nothing that goes on has its time
    except ActorFailed as error:
        raise SessionBroken(str(error)) from error
    finally:
        ring.close()
        store.close()
        if line is not None:
            line.close()


def _check_trio() -> None:
    if not trio.lowlevel.in_trio_task():
        raise Refused(
            "bad-input", "a session is opened under trio: inside trio.run(…), not asyncio's loop or another one"
        )


def _merge(first: object, second: object) -> object | None:
    """Whatever is published into the ring is an event."""
    return merged(cast("Event", first), cast("Event", second))


@asynccontextmanager
async def open_session(
    where: str | os.PathLike[str] | Store | None = None,
    *,
    model: Model,
    providers: Iterable[Provider] = (),
    environment: Environment | None = None,
    system_prompt: str | SystemPrompt | None = None,
    cwd: str | os.PathLike[str] | None = None,
    session_id: str | None = None,
    read_only: bool = False,
    durability: Durability = "os",
    counter: CounterName = DEFAULT_COUNTER,
    tools: Iterable[Tool | Callable[..., object]] | None = None,
    ask: AskPerson | None = None,
    extensions: Iterable[Extension] = (),
    settings: Settings | None = None,
    redactor: Redactor | None = None,
    tracer: Tracer | None = None,
    record: str | os.PathLike[str] | None = None,
) -> AsyncGenerator[Session, None]:
    """`Runtime.open_session` with a runtime of its own: for a program that has one session."""
    async with (
        Runtime(providers=providers, environment=environment, counter=counter, tracer=tracer) as runtime,
        runtime.open_session(
            where,
            model=model,
            system_prompt=system_prompt,
            cwd=cwd,
            session_id=session_id,
            read_only=read_only,
            durability=durability,
            tools=tools,
            ask=ask,
            extensions=extensions,
            settings=settings,
            redactor=redactor,
            record=record,
        ) as session,
    ):
        yield session
