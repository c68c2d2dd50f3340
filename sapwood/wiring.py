"""How a session is put together: its actors, in the order in which they may ask each other, and what they share.

1. Actors are made at their first use; the order in which they are spawned is the order of asking, so the ask graph cannot have a circle.
2. What outlives an actor's crash (shelf, lease, view, counts, what the host chose) is made here, once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping
from typing import TYPE_CHECKING, Final

import attrs

from sapwood.actors.agent.actor import Agent
from sapwood.actors.agent.desk import Chosen, Desk
from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.actors.agent.sections import Sections
from sapwood.actors.asking import Questions
from sapwood.actors.compaction.actor import Compaction, Means
from sapwood.actors.compaction.writing import Author
from sapwood.actors.environment import Environment
from sapwood.actors.exclusion.actor import Exclusion
from sapwood.actors.exclusion.lease import Lease
from sapwood.actors.extensions.actor import Extensions
from sapwood.actors.extensions.attendance import Attendance
from sapwood.actors.extensions.companions import Companions
from sapwood.actors.extensions.context import Life
from sapwood.actors.extensions.extension import Registered
from sapwood.actors.extensions.handling import Handlers
from sapwood.actors.extensions.posts import Post
from sapwood.actors.inbox import Shelf
from sapwood.actors.inbox.actor import HEARS, Inbox
from sapwood.actors.kernel import Ref, Ring, System
from sapwood.actors.model.actor import ModelActor
from sapwood.actors.model.providers.base import Provider
from sapwood.actors.model.watching import Watch
from sapwood.actors.navigation import actor as navigation
from sapwood.actors.navigation import writing as navigating
from sapwood.actors.outgoing.veil import Redactor
from sapwood.actors.projection.actor import Projection
from sapwood.actors.projection.counts import CounterSource, Counts
from sapwood.actors.projection.fold import Fold
from sapwood.actors.redaction import Redaction
from sapwood.actors.session_log.actor import SessionLog
from sapwood.actors.session_log.committing import Committer
from sapwood.actors.session_log.run_log import Pen
from sapwood.actors.session_log.view import View
from sapwood.actors.summarizing import Summarizer
from sapwood.actors.tools.actor import Tools
from sapwood.actors.tools.batch import Bench
from sapwood.actors.tools.hooks import Hooks
from sapwood.actors.tools.tool import AskPerson
from sapwood.actors.tracing import Tracing
from sapwood.events.copies import detached
from sapwood.events.hooks import AgentBeforeSettle, BeforeTurnEnd
from sapwood.events.ids import EntryId, new_entry_id
from sapwood.events.requests import PrepareCounting
from sapwood.events.runtime import DamageFound, EntryAppended, Event, MessageUpdate, name_of
from sapwood.heard import Heard, Unheard
from sapwood.log import Log
from sapwood.settings import Settings
from sapwood.store.port import Durability, Store

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

INSIDE: Final = "steer() and follow_up() say something without waiting; wait for what comes of it outside of tools, handlers and sections"


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


@attrs.frozen(kw_only=True)
class Host:
    """What a host brings to a session."""

    providers: Mapping[str, Provider]
    environment: Environment
    outside: Environment
    """The environment of what is no part of the session, such as a fork of it: nobody records that."""
    counter: CounterSource
    chosen: Chosen
    system_prompt: SystemPrompt | None
    durability: Durability
    settings: Settings
    ask: AskPerson
    registered: Registered
    redactor: Redactor | None
    tracer: Tracer | None
    folder: str
    """The present folder when the session was opened: its path may be from there."""
    heard: Heard = attrs.field(factory=Unheard)


@attrs.frozen(kw_only=True)
class Wiring:
    """What a session is made of."""

    system: System
    ring: Ring
    agent: Ref
    pen: Pen
    inbox: Ref
    shelf: Shelf
    lease: Lease
    view: View
    fold: Callable[[], Fold]
    counts: Counts
    let_go: Callable[[], Awaitable[None]]
    """Closes the store, when nothing is being written."""
    chosen: Chosen
    providers: Mapping[str, Provider]
    companions: Ref
    attendance: Attendance
    extensions: Ref
    registered: Registered
    folder: str
    """Where a path that is relative begins."""
    heard: Heard
    outside: Environment
    """See `Host`."""


def wire(  # noqa: PLR0917 - it is what a session is made of
    system: System, ring: Ring, store: Store, view: View, lease: Lease, host: Host
) -> Wiring:
    """Spawn the actors of a session."""
    environment, shelf, chosen = host.environment, Shelf(), host.chosen
    counts = Counts(host.counter, image_tokens=chosen.model.image_tokens)
    folds = PresentFold(view, counts)
    log = Log().bind(session=store.header.id)
    taken = _Taken(view, shelf)

    def new_id() -> EntryId:
        return new_entry_id(environment.random, taken)

    def publish(event: Event) -> int:
        seq = system.publish(detached(event))  # who reads it is foreign code
        if not isinstance(event, MessageUpdate):
            log.say("debug", name_of(event), seq=seq)
        return seq

    def reporting(code: str, key: str) -> Callable[[str, BaseException], None]:
        """Whoever runs foreign code tells of each fault in it: whose, and what it raised."""

        def report(whose: str, fault: BaseException) -> None:
            log.say("error", code, **{key: whose}, exc_info=fault)

        return report

    if not all(one.is_note for one in store.damage):
        publish(DamageFound(records=tuple(store.damage)))
    committer = Committer(store, view, publish, durability=host.durability, run_sync=environment.run_sync)
    session_log = system.spawn("session_log", lambda: SessionLog(committer))
    exclusion = system.spawn("exclusion", lambda: Exclusion(lease))
    inbox = system.spawn("inbox", lambda: Inbox(shelf, view, lambda: lease.holder == "run", publish), hears=HEARS)
    projection = system.spawn(
        "projection", lambda: Projection(folds.renew, publish, counts, environment.run_sync), hears=(EntryAppended,)
    )
    if not counts.quick:
        projection.tell(PrepareCounting())
    pen = Pen(session_log=session_log, view=view, environment=environment, new_id=new_id, publish=publish)
    life = Life(session_id=store.header.id, cwd=store.header.cwd)
    handlers = system.spawn(
        "handlers", lambda: Handlers(life, reporting("extension_failed", "extension")), asks=(session_log,)
    )
    told_once = set[int]()
    extensions = system.spawn(
        "extensions", lambda: Extensions(host.registered, handlers, publish, told_once), asks=(handlers,)
    )
    questions = Questions(has=host.registered.has, extensions=extensions)
    companions: Ref

    def tell_companions(told: object) -> None:
        companions.tell(told)

    watch = Watch(questions, tell_companions)
    redaction = Redaction(host.redactor, environment.run_foreign, reporting("redactor_failed", "redactor"))
    tracing = Tracing(tracer=host.tracer, conversation=store.header.id, report=reporting("tracer_failed", "tracer"))
    model_actor = system.spawn(
        "model",
        lambda: ModelActor(
            host.providers,
            environment,
            publish,
            reporting("provider_failed", "provider"),
            redaction=redaction,
            tracing=tracing,
            watch=watch,
        ),
        asks=(extensions,),
    )
    bench = Bench(
        tools=chosen.tools,
        environment=environment,
        publish=publish,
        pen=pen,
        ask=host.ask,
        report=reporting("tool_failed", "tool"),
        hooks=Hooks(questions=questions),
        tracing=tracing,
    )
    tools = system.spawn("tools", lambda: Tools(bench), asks=(session_log, extensions))
    author = Author(
        questions=questions,
        summarizer=Summarizer(model_actor, environment, publish),
        counts=counts,
        run_apart=environment.run_foreign,
        redaction=redaction,
        settings=host.settings.compaction,
        retry=host.settings.retry,
        summary_model=host.settings.summary_model,
        paths=chosen.paths,
        pen=pen,
        publish=publish,
    )
    means = Means(
        exclusion=exclusion,
        projection=projection,
        author=author,
        pen=pen,
        lease=lease,
        settings=host.settings.compaction,
        publish=publish,
    )
    compaction = system.spawn(
        "compaction",
        lambda: Compaction(means),
        asks=(exclusion, projection, extensions, model_actor, session_log),
    )
    navigator = navigating.Author(
        questions=questions,
        summarizer=author.summarizer,
        counts=counts,
        run_apart=environment.run_foreign,
        redaction=redaction,
        settings=host.settings.branch_summary,
        retry=host.settings.retry,
        providers=host.providers,
        summary_model=host.settings.summary_model,
        paths=chosen.paths,
        pen=pen,
        publish=publish,
    )
    ways = navigation.Means(
        exclusion=exclusion,
        projection=projection,
        author=navigator,
        pen=pen,
        lease=lease,
        asks=chosen.asks,
        publish=publish,
    )
    mover = system.spawn(
        "navigation",
        lambda: navigation.Navigation(ways),
        asks=(exclusion, projection, extensions, model_actor, session_log),
    )
    desk = Desk(
        exclusion=exclusion,
        inbox=inbox,
        projection=projection,
        model_actor=model_actor,
        tools=tools,
        shelf=shelf,
        pen=pen,
        publish=publish,
        compaction=compaction,
        navigation=mover,
        settings=host.settings.compaction,
        lease=lease,
        chosen=chosen,
        sections=Sections(
            host.system_prompt,
            environment,
            publish,
            reporting("section_failed", "section"),
            contributed=host.registered.sections,
        ),
        rules=attrs.evolve(
            host.settings.rules,
            asks_at_turn_end=questions.has(BeforeTurnEnd),
            asks_before_settle=questions.has(AgentBeforeSettle),
        ),
        questions=questions,
        tracing=tracing,
    )
    asks = (exclusion, inbox, session_log, projection, model_actor, compaction, mover, tools, extensions)
    agent = system.spawn("agent", lambda: Agent(desk), asks=asks, advice=INSIDE)
    posts = {one.name: Post(one.name) for one in host.registered.extensions}
    companions = system.spawn(
        "companions",
        lambda: Companions(
            registered=host.registered,
            posts=posts,
            life=life,
            tell=tell_companions,
            publish=publish,
            report=reporting("extension_failed", "extension"),
        ),
        hears=host.registered.events,
        asks=(agent, inbox, session_log),
    )
    return Wiring(
        system=system,
        ring=ring,
        agent=agent,
        pen=pen,
        inbox=inbox,
        shelf=shelf,
        lease=lease,
        view=view,
        fold=folds.present,
        counts=counts,
        let_go=committer.let_go,
        chosen=chosen,
        providers=host.providers,
        companions=companions,
        attendance=Attendance(registered=host.registered, extensions=extensions, companions=companions, life=life),
        extensions=extensions,
        registered=host.registered,
        folder=host.folder,
        heard=host.heard,
        outside=host.outside,
    )
