"""The projection's shell pulls and answers; made anew, it folds from the log."""

from __future__ import annotations

from sapwood.actors.kernel import Reply
from sapwood.actors.projection.actor import Projection
from sapwood.actors.projection.fold import Fold
from sapwood.actors.session_log.view import View
from sapwood.events.codec import encode_entry
from sapwood.events.context import Context, ContextUsage
from sapwood.events.entries import Compaction
from sapwood.events.ids import EntryId
from sapwood.events.requests import Measure, Project
from sapwood.events.runtime import EntryAppended
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, MODEL, TIME, assistant, message_entry, user
from tests.build import usage as tokens


def test_a_question_is_answered_with_what_is_committed_now() -> None:
    store = MemoryStore(HEADER)
    projection = Projection(lambda: Fold(View(store)))
    store.append([encode_entry(message_entry("u1", user("hi")))])

    reply = projection.handle(Project())

    assert isinstance(reply, Reply)
    assert isinstance(reply.value, Context)
    assert reply.value.messages == (user("hi"),)


def test_the_hint_to_pull_is_not_answered() -> None:
    projection = Projection(lambda: Fold(View(MemoryStore(HEADER))))

    assert projection.handle(EntryAppended(entry_id=EntryId("u1"), kind="message")) is None


def test_usage_is_of_the_window_and_unknown_after_a_compaction() -> None:
    store = MemoryStore(HEADER)
    store.append([encode_entry(message_entry("a1", assistant("x", usage=tokens(1000))))])
    projection = Projection(lambda: Fold(View(store)))

    assert projection.handle(Measure(model=MODEL)) == Reply(ContextUsage(tokens=1000, window=200_000))

    compaction = Compaction(
        id=EntryId("c1"),
        parent_id=EntryId("a1"),
        timestamp=TIME,
        summary="s",
        first_kept_entry_id=EntryId("c1"),
        tokens_before=1,
    )
    store.append([encode_entry(compaction)])

    reply = projection.handle(Measure(model=MODEL))
    assert isinstance(reply, Reply)
    assert str(reply.value) == "?/200000"
