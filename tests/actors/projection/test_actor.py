"""The projection's shell pulls and answers; made anew, it folds from the log."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar, cast

import attrs
import pytest
import trio

from sapwood.actors.kernel import Refuse, Reply, Start
from sapwood.actors.projection.actor import AT_A_TIME, Projection
from sapwood.actors.projection.counts import AT_ONCE, CounterSource, Counts
from sapwood.actors.projection.encoding import EncodingUnavailable
from sapwood.actors.projection.fold import Fold
from sapwood.actors.projection.tokenizer import Tokenizer
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.context import Context, Measured, Selection
from sapwood.events.entries import Compaction
from sapwood.events.errors import CannotOpen
from sapwood.events.ids import EntryId
from sapwood.events.requests import Measure, PrepareCounting, Project, Select
from sapwood.events.runtime import Diagnostic, EntryAppended, Event
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, TIME, assistant, message_entry, user, words
from tests.build import usage as tokens

if TYPE_CHECKING:
    from tiktoken import Encoding

T = TypeVar("T")


def compaction(name: str, parent: str | None, kept: str) -> Compaction:
    return Compaction(
        id=EntryId(name),
        parent_id=None if parent is None else EntryId(parent),
        timestamp=TIME,
        summary="s",
        first_kept_entry_id=EntryId(kept),
        tokens_before=1,
    )


@attrs.define
class World:
    """Where blocking work goes: it is done at once, and noted."""

    done: int = 0

    async def run_sync(self, function: Callable[[], T], /) -> T:
        self.done += 1
        await trio.lowlevel.checkpoint()
        return function()


def made(
    store: MemoryStore,
    told: list[Event] | None = None,
    *,
    source: CounterSource | None = None,
    world: World | None = None,
) -> Projection:
    heard = [] if told is None else told

    def publish(event: Event) -> int:
        heard.append(event)
        return len(heard)

    counts = Counts(source)
    return Projection(lambda: Fold(View(store), counts), publish, counts, (world or World()).run_sync)


def exact(counted: list[str] | None = None) -> Tokenizer:
    """A counter of characters that has to be loaded first, and notes what it counted."""

    def encode(text: str) -> str:
        (counted if counted is not None else []).append(text)
        return text

    return Tokenizer("o200k_base", lambda _: cast("Encoding", SimpleNamespace(encode_ordinary=encode)))


def held(*sizes: int) -> MemoryStore:
    """A session whose messages have so many characters each."""
    store = MemoryStore(HEADER)
    for at, size in enumerate(sizes):
        store.append([encode_entry(message_entry(f"u{at}", user("x" * size), f"u{at - 1}" if at else None))])
    return store


def test_what_it_could_not_follow_is_told_once() -> None:
    store, told = MemoryStore(HEADER), list[Event]()
    lost = compaction("c1", None, "nowhere")
    store.append([encode_entry(lost)])
    projection = made(store, told)

    projection.handle(Project())
    projection.handle(Project())

    assert [(event.code, event.entry_id) for event in told if isinstance(event, Diagnostic)] == [
        ("first_kept_missing", "c1")
    ]


def test_a_question_is_answered_with_what_is_committed_now() -> None:
    store = MemoryStore(HEADER)
    projection = made(store)
    store.append([encode_entry(message_entry("u1", user("hi")))])

    reply = projection.handle(Project())

    assert isinstance(reply, Reply)
    assert isinstance(reply.value, Context)
    assert reply.value.messages == (user("hi"),)


def test_the_hint_to_pull_is_not_answered() -> None:
    projection = made(MemoryStore(HEADER))

    assert projection.handle(EntryAppended(entry_id=EntryId("u1"), kind="message")) is None


def test_how_full_it_is_is_an_estimate_after_a_compaction() -> None:
    store = MemoryStore(HEADER)
    store.append([encode_entry(message_entry("a1", assistant("x", usage=tokens(1000))))])
    projection = made(store)

    assert projection.handle(Measure()) == Reply(Measured(tokens=1000, source="reported", counted=0))

    store.append([encode_entry(compaction("c1", "a1", "c1"))])

    assert projection.handle(Measure()) == Reply(Measured(tokens=1, source="none", counted=1, counter="heuristic"))


async def test_a_counter_that_is_not_there_is_loaded_elsewhere_and_the_question_answered_then() -> None:
    world, tokenizer = World(), exact()
    projection = made(held(5), source=tokenizer, world=world)

    started = projection.handle(Measure())

    assert isinstance(started, Start)
    assert not tokenizer.ready
    assert await started.operation() == Measured(tokens=5, source="estimated", counted=5, counter="o200k_base")
    assert world.done == 1


def test_nothing_is_loaded_where_there_is_nothing_to_count() -> None:
    store, tokenizer = MemoryStore(HEADER), exact()
    store.append([encode_entry(message_entry("a1", assistant("x", usage=tokens(1000))))])
    projection = made(store, source=tokenizer)

    assert projection.handle(Measure()) == Reply(Measured(tokens=1000, source="reported", counted=0))
    assert not tokenizer.ready


async def test_little_is_counted_in_place_and_much_elsewhere_a_part_at_a_time() -> None:
    world, counted = World(), list[str]()
    tokenizer = exact(counted)
    tokenizer.counter()
    assert isinstance(made(held(AT_ONCE), source=tokenizer).handle(Project()), Reply)

    counted.clear()
    projection = made(held(AT_A_TIME, AT_A_TIME, AT_ONCE + 1, 7), source=tokenizer, world=world)
    started = projection.handle(Project())

    assert isinstance(started, Start)
    context = await started.operation()
    assert isinstance(context, Context)
    assert [item.tokens for item in context.items] == [AT_A_TIME, AT_A_TIME, AT_ONCE + 1, 7]
    assert (context.counter, world.done) == ("o200k_base", 3)
    assert isinstance(projection.handle(Project()), Reply)
    assert sum(map(len, counted)) == 2 * AT_A_TIME + AT_ONCE + 8  # each once


@pytest.mark.parametrize("question", [Measure(), EntryAppended(entry_id=EntryId("u0"), kind="message")])
async def test_a_stop_can_come_between_the_parts_of_one_large_text(question: Measure | EntryAppended) -> None:
    """A text used to be counted in one go, whatever its size: leaving a session waited for it."""
    counted: list[str] = []

    class Stopping(World):
        async def run_sync(self, function: Callable[[], T], /) -> T:
            if self.done == 2:
                scope.cancel()
            return await super().run_sync(function)

    source = exact(counted)
    source.counter()
    started = made(held(5 * AT_A_TIME), source=source, world=Stopping()).handle(question)
    assert isinstance(started, Start)
    with trio.CancelScope() as scope:
        await started.operation()

    assert scope.cancelled_caught
    assert list(map(len, counted)) == [AT_A_TIME] * 2


async def test_what_comes_while_it_is_counted_is_in_the_answer() -> None:
    store = held(AT_ONCE + 1)

    class Meanwhile(World):
        async def run_sync(self, function: Callable[[], T], /) -> T:
            store.append([encode_entry(message_entry("late", user("12345"), "u0"))])
            return await super().run_sync(function)

    started = made(store, source=exact(), world=Meanwhile()).handle(Measure())

    assert isinstance(started, Start)
    assert await started.operation() == Measured(
        tokens=AT_ONCE + 6, source="estimated", counted=AT_ONCE + 6, counter="o200k_base"
    )


async def test_a_counter_is_loaded_when_that_is_told_and_what_is_wrong_with_it_told_once() -> None:
    told: list[Event] = []

    def missing(_: str) -> Encoding:
        raise EncodingUnavailable("gone")

    projection = made(held(5), told, source=Tokenizer("o200k_base", missing))

    started = projection.handle(PrepareCounting())
    assert isinstance(started, Start)
    await started.operation()
    assert projection.handle(Measure()) == Reply(Measured(tokens=2, source="estimated", counted=2, counter="heuristic"))
    await started.operation()

    assert [(event.code, event.entry_id) for event in told if isinstance(event, Diagnostic)] == [
        ("counter_unavailable", None)
    ]


def test_what_goes_to_the_model_waits_for_no_count() -> None:
    """The first prompt used to wait until a counter was loaded."""
    counted: list[str] = []
    projection = made(held(AT_ONCE + 1, 3), source=exact(counted))

    reply = projection.handle(Select())

    assert isinstance(reply, Reply)
    selection = reply.value
    assert isinstance(selection, Selection)
    assert [len(words(message)) for message in selection.messages] == [AT_ONCE + 1, 3]
    assert (selection.thinking_level, counted) == ("off", [])


async def test_what_is_large_is_counted_as_it_comes_and_what_is_small_when_it_is_asked_for() -> None:
    counted: list[str] = []
    source = exact(counted)
    source.counter()
    projection = made(held(3, AT_ONCE + 1), source=source)

    assert projection.handle(EntryAppended(entry_id=EntryId("u0"), kind="message")) is None
    assert projection.handle(EntryAppended(entry_id=EntryId("gone"), kind="message")) is None
    ahead = projection.handle(EntryAppended(entry_id=EntryId("u1"), kind="message"))
    assert isinstance(ahead, Start)
    assert counted == []
    await ahead.operation()
    assert [len(text) for text in counted] == [AT_ONCE + 1]


def test_the_heuristic_counts_any_amount_in_place_and_nothing_ahead() -> None:
    projection = made(held(AT_A_TIME, AT_A_TIME))

    assert projection.handle(EntryAppended(entry_id=EntryId("u1"), kind="message")) is None
    assert projection.handle(Measure()) == Reply(
        Measured(tokens=AT_A_TIME // 2, source="estimated", counted=AT_A_TIME // 2, counter="heuristic")
    )
    assert isinstance(projection.handle(Project()), Reply)


class Unreadable(MemoryStore):
    """A session whose disk fails for a while."""

    fails: bool = False

    def line(self, index: int) -> bytes:
        if self.fails:
            raise CannotOpen("s.jsonl", OSError(5, "Input/output error"))
        return super().line(index)


def unreadable() -> Unreadable:
    store = Unreadable(HEADER)
    store.append([encode_entry(message_entry("u1", user("hi")))])
    store.fails = True
    return store


@pytest.mark.parametrize("question", [Select(), Project(), Measure()])
def test_a_question_is_refused_while_the_log_cannot_be_read_and_answered_when_it_can(
    question: Select | Project | Measure,
) -> None:
    """This used to crash the projection, and three prompts broke the session for good."""
    store = unreadable()
    projection = made(store)

    refused = projection.handle(question)
    assert isinstance(refused, Refuse)
    assert isinstance(refused.error, CannotOpen)

    store.fails = False
    assert projection.handle(question) == made(store).handle(question)
    assert isinstance(projection.handle(question), Reply)


def test_news_that_cannot_be_read_is_passed_over() -> None:
    store, counted = unreadable(), list[str]()
    source = exact(counted)
    source.counter()
    projection = made(store, source=source)

    assert projection.handle(EntryAppended(entry_id=EntryId("u1"), kind="message")) is None
    assert isinstance(projection.handle(PrepareCounting()), Start)
    assert counted == []


async def test_a_disk_that_fails_while_it_is_counted_refuses_the_question() -> None:
    store = Unreadable(HEADER)
    store.append([encode_entry(message_entry("u1", user("hi")))])

    class Meanwhile(World):
        async def run_sync(self, function: Callable[[], T], /) -> T:
            store.append([encode_entry(message_entry("u2", user("ho"), "u1"))])
            store.fails = True
            return await super().run_sync(function)

    started = made(store, source=exact(), world=Meanwhile()).handle(Project())

    assert isinstance(started, Start)
    with pytest.raises(CannotOpen):
        await started.operation()
