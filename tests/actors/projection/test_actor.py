"""The projection's shell pulls and answers; made anew, it folds from the log."""

from __future__ import annotations

from sapwood.actors.kernel import Reply
from sapwood.actors.projection.actor import Projection
from sapwood.actors.projection.fold import Fold
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.context import Context, Measured
from sapwood.events.entries import Compaction
from sapwood.events.ids import EntryId
from sapwood.events.requests import Measure, Project
from sapwood.events.runtime import Diagnostic, EntryAppended, Event
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, TIME, assistant, message_entry, user
from tests.build import usage as tokens


def compaction(name: str, parent: str | None, kept: str) -> Compaction:
    return Compaction(
        id=EntryId(name),
        parent_id=None if parent is None else EntryId(parent),
        timestamp=TIME,
        summary="s",
        first_kept_entry_id=EntryId(kept),
        tokens_before=1,
    )


def made(store: MemoryStore, told: list[Event] | None = None) -> Projection:
    heard = [] if told is None else told

    def publish(event: Event) -> int:
        heard.append(event)
        return len(heard)

    return Projection(lambda: Fold(View(store)), publish)


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

    assert projection.handle(Measure()) == Reply(Measured(tokens=1, source="none", counted=1))
