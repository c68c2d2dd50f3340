"""Plays programs, and sees to it that each input has exactly one outcome, that the log agrees, and that nothing is left (R3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, assert_never

import attrs
import trio

from sapwood import (
    Delivered,
    Extension,
    Failed,
    Handle,
    ImageContent,
    InputOutcome,
    SapwoodError,
    Session,
    SessionBroken,
    SessionClosed,
    ToolContext,
)
from sapwood.actors.kernel import CRASHES, Closed
from sapwood.actors.kernel.testing import StrikeAt, Together
from sapwood.events.codec import decode_entry
from sapwood.events.commands import QueuedInputs, Returned, Withdrawn
from sapwood.events.content import TextContent, ToolCall
from sapwood.events.entries import Entry, MessageEntry
from sapwood.events.hooks import Block, ToolCallQuestion
from sapwood.events.messages import FAILED, AssistantMessage, Message, ToolResultMessage, UserMessage
from sapwood.events.runtime import AgentSettled, AgentStart, EntryAppended, Event, MessageEnd, QueueUpdate
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, words
from tests.sapwood.programs import How, Mark, Pass, Program, Say, Shut, Step, Stop, TakeBack, program
from tests.talking import drain, talking

LIMIT: Final = 3_000
"""Virtual seconds that a program may take: far more than all its waits together."""


@attrs.define
class Said:
    """An input, and what whoever waits for it was told."""

    how: How
    text: str
    images: tuple[ImageContent, ...]
    handle: Handle
    told: list[InputOutcome | SapwoodError] = attrs.field(factory=list["InputOutcome | SapwoodError"])


class Player:
    """One playing of one program."""

    def __init__(self, nursery: trio.Nursery, *, struck: bool) -> None:
        self._nursery = nursery
        self.struck = struck
        """Whether something breaks, or not."""
        self._to_watch, self._watched = trio.open_memory_channel[Said](math.inf)
        nursery.start_soon(self._watch_all)
        self._session: Session | None = None
        self.said: list[Said] = []

    @property
    def session(self) -> Session:
        assert self._session is not None
        return self._session

    def tools(self) -> list[Callable[..., object]]:
        async def fast(text: str) -> str:
            return text

        async def slow(text: str) -> str:
            await trio.sleep(0.7)
            return text

        async def raising(text: str) -> str:
            raise KeyError(text)

        async def stubborn(text: str) -> str:
            with trio.CancelScope(shield=True):
                await trio.sleep(1.5)
            return text

        async def blocked(text: str) -> str:
            return text

        async def steering(context: ToolContext, text: str) -> str:
            self.say("steer", f"s-{context.call_id}")
            said = self.say("follow_up", f"f-{context.call_id}")
            if said is not None and text.endswith("-0"):
                await said.handle.cancel()
            return text

        return [fast, slow, raising, stubborn, blocked, steering]

    async def play(self, played: Program, session: Session) -> None:
        self._session = session
        for step in played.steps:
            await self._step(step)

    def say(self, how: How, text: str, images: int = 0) -> Said | None:
        """Somebody of the host's waits for what comes of it."""
        pictures = tuple(ImageContent(data=f"aGk{n}", mime_type="image/png") for n in range(images))
        session = self.session
        says = {"submit": session.submit, "steer": session.steer, "follow_up": session.follow_up}[how]
        try:
            handle = says(text, images=pictures)
        except SessionClosed:
            return None
        said = Said(how, text, pictures, handle)
        self.said.append(said)
        self._to_watch.send_nowait(said)
        return said

    def is_over(self) -> None:
        """Nothing more will be said."""
        self._to_watch.close()

    async def _watch_all(self) -> None:
        """In the host's name, also for what a tool said: that itself must not wait."""
        async with trio.open_nursery() as nursery:
            async for said in self._watched:
                nursery.start_soon(self._watch, said)

    async def _watch(self, said: Said) -> None:
        try:
            said.told.append(await said.handle.outcome())
        except SapwoodError as error:
            said.told.append(error)

    async def _step(self, step: Step) -> None:
        session = self.session
        match step:
            case Say(how, text, images):
                self.say(how, text, images)
            case TakeBack(nth, behind):
                if self.said:
                    await self._do(self.said[nth % len(self.said)].handle.cancel, behind=behind)
            case Stop(behind):
                began = trio.current_time()
                await self._do(session.abort, behind=behind)
                assert self.struck or trio.current_time() - began <= 0.2, "an abort settles (R4)"
            case Shut(behind):
                await self._do(session.close, behind=behind)
            case Pass(0.0):
                await trio.lowlevel.checkpoint()
            case Pass(seconds):
                await trio.sleep(seconds)
            case Mark():
                await self._do(lambda: session.append_custom("mark"), behind=False)
            case _:
                assert_never(step)

    async def _do(self, ask: Callable[[], Awaitable[object]], *, behind: bool) -> None:
        async def asked() -> None:
            with suppress(SessionBroken, SessionClosed):  # what a host may be told where an actor crashes
                await ask()

        if behind:
            self._nursery.start_soon(asked)
        else:
            await asked()


def guard() -> Extension:
    extension = Extension("guard")

    @extension.on(ToolCallQuestion)
    async def allow(question: ToolCallQuestion, _: object) -> Block | None:
        await trio.lowlevel.checkpoint()
        return Block(reason="no") if question.tool_name == "blocked" else None

    return extension


@attrs.frozen(kw_only=True)
class Seen:
    """What a program came to."""

    said: tuple[Said, ...]
    entries: tuple[Entry, ...]
    events: tuple[Event, ...]


async def play(played: Program, *, where: str | None = None) -> Seen:
    """Play it, in memory or in this file, and see that nothing is left but what the log has."""
    tasks = trio.lowlevel.current_statistics().tasks_living
    store = MemoryStore(HEADER)
    events: list[Event] = []
    with trio.fail_after(LIMIT):
        async with trio.open_nursery() as nursery:
            player = Player(nursery, struck=bool(played.strikes))
            try:
                async with talking(
                    *played.answers,
                    where=where or store,
                    tap=Together(*played.taps) if played.taps else None,
                    seed=played.seed,
                    tools=player.tools(),
                    extensions=[guard()] if played.guarded else [],
                    settings=played.settings,
                ) as session:
                    reader = session.events()
                    await player.play(played, session)
                    if played.goes_on and not session._closed:
                        await _go_on(player, played, session)
                    if session.state == "idle" and not (played.may_break or session._closed):
                        events += drain(reader)
                        assert last_told(events) == waiting(session), (last_told(events), waiting(session))
                    await session.close()
                    assert session.queue() == QueuedInputs()
                    events += drain(reader)
            except SessionBroken:
                if not played.may_break:
                    raise
            player.is_over()
        assert player.session.state == "idle"
        assert player.session._wiring.system.stragglers == ()
    assert trio.lowlevel.current_statistics().tasks_living == tasks, "no task is left"
    lines = store._lines if where is None else Path(where).read_bytes().splitlines()[1:]
    entries = tuple(decode_entry(line) for line in lines)
    seen = Seen(said=tuple(player.said), entries=entries, events=tuple(events))
    check(played, seen)
    return seen


async def _go_on(player: Player, played: Program, session: Session) -> None:
    """Whatever has broken, the session is free and answers; and what waited is said then."""
    for n in range(played.strikes + 4):
        await session.wait_idle()
        waited = session.queue()
        said = player.say("submit", f"p-last-{n}")
        if said is None:
            return
        await said.handle.done()
        outcome = said.handle.outcome_nowait
        if isinstance(outcome, Delivered) and outcome.error is None and not outcome.aborted:
            left = {one.entry_id for one in (*session.queue().steering, *session.queue().follow_up)}
            if any(isinstance(step, Stop) and step.behind for step in played.steps):
                return  # a stop that comes behind the answer leaves the queue for the next run
            assert not left & {one.entry_id for one in (*waited.steering, *waited.follow_up)}, "what waited is said"
            return
    assert played.may_break, "the session does not answer"


def waiting(session: Session) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What waits, as it is to be told."""
    queue = session.queue()
    return tuple(one.text for one in queue.steering), tuple(one.text for one in queue.follow_up)


def last_told(events: Iterable[Event]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What waits, as it was told last."""
    told: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
    for event in events:
        if isinstance(event, QueueUpdate):
            told = event.steering, event.follow_up
    return told


def check(played: Program, seen: Seen) -> None:
    """See the module."""
    order = [entry.id for entry in seen.entries]
    assert len(set(order)) == len(order), "nothing is in the log twice"
    assert [entry.parent_id for entry in seen.entries] == [None, *order][: len(order)], "one branch"
    messages = {entry.id: entry.message for entry in seen.entries if isinstance(entry, MessageEntry)}
    users = {entry_id: message for entry_id, message in messages.items() if isinstance(message, UserMessage)}
    assert users.keys() <= {one.handle.entry_id for one in seen.said}, "nothing is made up"
    for one in seen.said:
        _check_outcome(one, users.get(one.handle.entry_id))
    for how in ("steer", "follow_up"):
        places = [
            order.index(one.handle.entry_id) for one in seen.said if one.how == how and one.handle.entry_id in users
        ]
        assert places == sorted(places), f"the order of {how}"
    _check_calls(messages.values(), whole=not played.strikes)
    appended = [event.entry_id for event in seen.events if isinstance(event, EntryAppended)]
    assert appended == order[: len(appended)], "what is in the log is told once, in its order"
    assert played.may_break or len(appended) == len(order)
    ended = [event.entry_id for event in seen.events if isinstance(event, MessageEnd)]
    assert len(set(ended)) == len(ended), "nothing is said twice"
    runs = [event for event in seen.events if isinstance(event, AgentStart | AgentSettled)]
    unstopped = played.may_break or any(isinstance(tap, StrikeAt) and tap.actor == "agent" for tap in played.taps)
    assert unstopped or not runs or isinstance(runs[-1], AgentSettled), "each run settles"


def _check_outcome(one: Said, message: UserMessage | None) -> None:
    """Exactly one, and the log agrees."""
    outcome = one.handle.outcome_nowait
    assert len(one.told) == 1, f"{one}: an outcome, once"
    [told] = one.told
    match outcome:
        case Delivered(entry_id=entry_id):
            assert told is outcome, (told, outcome)
            assert entry_id == one.handle.entry_id
            assert message is not None, f"{one} is told to be in the log"
            assert words(message) == one.text
            pictures = () if isinstance(message.content, str) else tuple(message.content)
            assert not pictures or pictures == (TextContent(text=one.text), *one.images)
            assert len(pictures) == (len(one.images) + 1 if one.images else 0)
        case Returned(text=text, images=images) | Withdrawn(text=text, images=images):
            assert told is outcome, (told, outcome)
            assert (text, images) == (one.text, one.images)
            assert message is None, f"{one} is in the log all the same"
        case Failed(text=text, images=images):
            assert isinstance(told, SapwoodError)
            assert not isinstance(told, (*CRASHES, Closed)), "a host knows of no actors"
            assert (text, images) == (one.text, one.images)
            assert message is None, f"{one} is in the log all the same"
        case None:
            raise AssertionError(f"{one} has no outcome")
        case _:
            assert_never(outcome)


def _check_calls(messages: Iterable[Message], *, whole: bool) -> None:
    """Each call has a result at most; exactly one, where nothing broke."""
    calls: Counter[str] = Counter()
    results: Counter[str] = Counter()
    for message in messages:
        match message:
            case AssistantMessage(content=content, stop_reason=reason) if reason not in FAILED:
                calls.update(block.id for block in content if isinstance(block, ToolCall))
            case ToolResultMessage(tool_call_id=call_id):
                assert calls[call_id] == 1, "a result comes behind its call"
                results[call_id] += 1
            case _:
                pass
    assert all(count == 1 for count in results.values()), "a call has one result"
    assert not whole or results == calls, "each call has its result"


async def play_all(seeds: Sequence[int]) -> Counter[str]:
    """The programs of these seeds; how often each outcome came. What fails names its seed."""
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        try:
            seen = await play(program(seed))
        except BaseException as fault:
            fault.add_note(f"it was the program of seed {seed}: trio.run(play, program({seed}), clock=…)")
            raise
        outcomes.update(type(one.handle.outcome_nowait).__name__ for one in seen.said)
    return outcomes
