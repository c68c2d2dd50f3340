"""What the sessions of a process share, and how a session is put together.

1. A session lives inside one `async with`; when the block ends, no task and no file of it is left.
2. Actors are made at their first use, in the order in which they may ask each other: the ask graph cannot have a circle.
3. Nothing here is state of a module: two runtimes in one process know nothing of each other.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Container, Iterable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, Self, cast

import attrs
import trio

from sapwood.actors.agent.actor import Agent, Desk
from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.actors.agent.sections import Sections
from sapwood.actors.environment import Environment
from sapwood.actors.exclusion.actor import Exclusion
from sapwood.actors.exclusion.lease import Lease
from sapwood.actors.inbox import Shelf
from sapwood.actors.inbox.actor import HEARS, Inbox
from sapwood.actors.kernel import ActorFailed, Ring, System, Tap, open_system
from sapwood.actors.model.actor import ModelActor
from sapwood.actors.model.providers.base import Provider
from sapwood.actors.projection.actor import Projection
from sapwood.actors.projection.counts import Counts
from sapwood.actors.projection.fold import Fold
from sapwood.actors.projection.tokenizer import DEFAULT_COUNTER, counter_source
from sapwood.actors.session_log.actor import SessionLog
from sapwood.actors.session_log.committing import Committer
from sapwood.actors.session_log.view import View
from sapwood.events.commands import Snapshot
from sapwood.events.context import CounterName
from sapwood.events.errors import Refused, SessionBroken
from sapwood.events.ids import EntryId, new_entry_id
from sapwood.events.models import Model
from sapwood.events.requests import PrepareCounting
from sapwood.events.runtime import (
    DamageFound,
    EntryAppended,
    Event,
    MessageUpdate,
    merged,
    name_of,
)
from sapwood.log import Log
from sapwood.opening import open_store
from sapwood.session import Session, Wiring
from sapwood.store.port import Durability, Store
from sapwood.taking import (
    take_counter,
    take_durability,
    take_environment,
    take_model,
    take_path,
    take_providers,
    take_read_only,
    take_session_id,
    take_system_prompt,
    take_tap,
)

RING_EVENTS: Final = 4096
"""Events that a reader may lag behind before it gets a snapshot instead: some forty turns with tools, a megabyte or so."""


class PresentFold:
    """The projection's present fold, for whoever reads the session. The projection renews it when it is made anew."""

    def __init__(self, view: View, counts: Counts) -> None:
        self._view = view
        self._counts = counts
        self._fold = Fold(view, counts)

    def renew(self) -> Fold:
        """A fold from nothing, which is the present one from now on."""
        self._fold = Fold(self._view, self._counts)
        return self._fold

    def present(self) -> Fold:
        return self._fold


@attrs.frozen
class _Taken(Container[str]):
    """The ids of all entries and of the inputs that are on their way."""

    view: View
    shelf: Shelf

    def __contains__(self, entry_id: object) -> bool:
        return isinstance(entry_id, str) and (entry_id in self.shelf or entry_id in self.view.tree.ids)


class Runtime:
    """What a process shares among its sessions: providers, the environment, and what counts tokens. `Refused` for what is none of these.

    Args:
        providers: each by the `id` under which models speak of it.
        environment: the outside world: the real one if None.
        counter: what counts tokens (T1): `o200k_base`, exactly; `heuristic`, Pi's rule of thumb, four characters a token; `cl100k_base`
            where tiktoken already has it on this machine. One that cannot be had is the heuristic, and a `Diagnostic` of the code
            `counter_unavailable` says why. It is loaded once a process, beside what the first session does.
    """

    def __init__(
        self,
        *,
        providers: Iterable[Provider] = (),
        environment: Environment | None = None,
        counter: CounterName = DEFAULT_COUNTER,
    ) -> None:
        self._providers = take_providers(providers)
        self._environment = take_environment(environment)
        self._counter = counter_source(take_counter(counter))

    @property
    def environment(self) -> Environment:
        return self._environment

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

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
        tap: Tap | None = None,
    ) -> AsyncGenerator[Session, None]:
        """Open a session: a file (made at its first entry if it is missing), one in memory (None), or a store of the host's.

        Args:
            where: the session. One writer at a time: a second one gets `SessionInUse` (S10).
            model: what is prompted.
            system_prompt: what the model is told before anything else: its preamble, or a `SystemPrompt` of sections, asked before each
                turn; what differs from what the branch has is recorded (P6, P7). None leaves it as the branch has it.
            cwd: the working folder that a new session notes; the present one if None.
            session_id: of a new session; a UUIDv7 if None.
            read_only: whether nothing is to be appended: then the file must exist, and may be in use.
            durability: what an acknowledged entry survives: a killed process (`os`) or a power cut (`disk`, S5).
            tap: sees, orders and strikes what actors receive: for scenarios and tests.

        Opening writes nothing (S4). Damage of the file is in `Session.damage`, and told by one `DamageFound`. Raises `NotASession`,
        `SessionInUse` and `CannotOpen` (the file, or a place where nothing may be written), `Refused` (the asker): `bad-input`, such as
        `InvalidSessionId`, and `no-model` for a model whose provider was not given. What the block raises comes out as it is; and
        `SessionBroken` does, where a part of the session crashes again and again.

        A version 1 file, or one of no version, is never written: the first prompt makes a version 3 session beside it and goes on there
        (S3), anew each time that the old path is opened. The event `session_moved` tells the new path: keep `session.path` from then on.
        """
        _check_trio()
        model, tap, session_id = take_model(model), take_tap(tap), take_session_id(session_id)
        durability, read_only = take_durability(durability), take_read_only(read_only)
        system_prompt = take_system_prompt(system_prompt)
        cwd = None if cwd is None else take_path(cwd, "the folder of a session")
        self._check_provider(model)
        store = open_store(where, self._environment, cwd=cwd, session_id=session_id, read_only=read_only)
        lease, view = Lease(), View(store)

        def snapshot() -> Snapshot:
            return Snapshot(state=lease.holder, leaf=view.leaf, entries=len(view))

        ring = Ring(RING_EVENTS, merge=_merge, snapshot=snapshot)
        try:
            async with open_system(f"session {store.header.id}", ring=ring, tap=tap) as system:
                session = Session(self._wire(system, store, view, lease, model, durability, system_prompt))
                try:
                    yield session
                finally:
                    await session.close()
        except ActorFailed as error:
            raise SessionBroken(str(error)) from error
        finally:
            ring.close()
            store.close()

    def _check_provider(self, model: Model) -> None:
        if model.provider not in self._providers:
            known = ", ".join(sorted(self._providers)) or "none"
            raise Refused(
                "no-model", f"no provider is called {model.provider!r} (there are: {known}): give it in providers=[…]"
            )

    def _wire(  # noqa: PLR0917 - it is what a session is made of
        self,
        system: System,
        store: Store,
        view: View,
        lease: Lease,
        model: Model,
        durability: Durability,
        system_prompt: SystemPrompt | None,
    ) -> Wiring:
        environment, shelf = self._environment, Shelf()
        counts = Counts(self._counter, image_tokens=model.image_tokens)
        folds = PresentFold(view, counts)
        log = Log().bind(session=store.header.id)
        taken = _Taken(view, shelf)

        def new_id() -> EntryId:
            return new_entry_id(environment.random, taken)

        def publish(event: Event) -> int:
            seq = system.publish(event)
            if not isinstance(event, MessageUpdate):
                log.say("debug", name_of(event), seq=seq)
            return seq

        if not all(one.is_note for one in store.damage):
            publish(DamageFound(records=tuple(store.damage)))
        committer = Committer(store, view, publish, durability=durability, run_sync=environment.run_sync)

        def report(provider: str, fault: BaseException) -> None:
            log.say("error", "provider_failed", provider=provider, exc_info=fault)

        def report_section(section: str, fault: BaseException) -> None:
            log.say("error", "section_failed", section=section, exc_info=fault)

        session_log = system.spawn("session_log", lambda: SessionLog(committer))
        exclusion = system.spawn("exclusion", lambda: Exclusion(lease))
        inbox = system.spawn("inbox", lambda: Inbox(shelf, view, lambda: lease.holder == "run"), hears=HEARS)
        projection = system.spawn(
            "projection",
            lambda: Projection(folds.renew, publish, counts, environment.run_sync),
            hears=(EntryAppended,),
        )
        if not counts.quick:
            projection.tell(PrepareCounting())
        model_actor = system.spawn("model", lambda: ModelActor(self._providers, environment, publish, report))
        desk = Desk(
            exclusion=exclusion,
            inbox=inbox,
            session_log=session_log,
            projection=projection,
            model_actor=model_actor,
            view=view,
            environment=environment,
            new_id=new_id,
            publish=publish,
            release=lease.release,
            model=model,
            sections=None if system_prompt is None else Sections(system_prompt, environment, publish, report_section),
        )
        asks = (exclusion, inbox, session_log, projection, model_actor)
        agent = system.spawn("agent", lambda: Agent(desk), asks=asks)
        return Wiring(
            system=system,
            agent=agent,
            session_log=session_log,
            inbox=inbox,
            shelf=shelf,
            lease=lease,
            view=view,
            fold=folds.present,
            environment=environment,
            let_go=committer.let_go,
            new_id=new_id,
            model=model,
        )


def _check_trio() -> None:
    if not trio.lowlevel.in_trio_task():
        raise Refused(
            "bad-input", "a session is opened under trio: inside trio.run(…), not asyncio's loop or another one"
        )


def _merge(first: object, second: object) -> object | None:
    """Only `_wire` publishes into the ring, and it publishes events."""
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
) -> AsyncGenerator[Session, None]:
    """`Runtime.open_session` with a runtime of its own: for a program that has one session."""
    async with (
        Runtime(providers=providers, environment=environment, counter=counter) as runtime,
        runtime.open_session(
            where,
            model=model,
            system_prompt=system_prompt,
            cwd=cwd,
            session_id=session_id,
            read_only=read_only,
            durability=durability,
        ) as session,
    ):
        yield session
