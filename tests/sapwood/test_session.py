"""A session as its host sees it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import attrs
import pytest
import trio
import trio.testing

from sapwood import (
    CannotWrite,
    Delivered,
    Finish,
    ImageContent,
    Model,
    Published,
    Refused,
    Request,
    Returned,
    ScriptedAnswer,
    SessionClosed,
    TextContent,
    WouldDeadlock,
    open_session,
    read,
)
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Closed
from sapwood.actors.model.providers.base import Piece
from sapwood.events.commands import Input
from sapwood.events.content import text_of
from sapwood.events.entries import MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import UserMessage
from sapwood.events.runtime import AgentSettled, Diagnostic, MessageUpdate, TurnEnd
from sapwood.store.disk import RealDisk
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, assistant, usage, words
from tests.talking import drain, names, talking

T = TypeVar("T")

ONE_RUN = [
    "agent_start",
    "turn_start",
    "message_start",
    "entry_appended",
    "message_end",
    "message_start",
    "entry_appended",
    "message_end",
    "turn_end",
    "agent_end",
    "agent_settled",
]


async def test_a_prompt_is_answered_recorded_and_told_in_pis_order() -> None:
    async with talking("Hello there") as session:
        reader = session.events()

        outcome = await session.prompt("hi")

        assert isinstance(outcome, Delivered)
        assert outcome.answer is not None
        assert text_of(outcome.answer.content) == "Hello there"
        assert (outcome.turns, outcome.aborted) == (1, False)
        assert names(drain(reader)) == ONE_RUN
        said = [words(entry.message) for entry in session.entries() if isinstance(entry, MessageEntry)]
        assert said == ["hi", "Hello there"]


async def test_the_users_message_is_on_disk_before_the_model_is_called(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = tmp_path / "s.jsonl"
    async with talking(ScriptedAnswer(text="late", wait=60), where=str(path)) as session:
        session.submit("do not lose me")
        await trio.sleep(1)

        assert b"do not lose me" in path.read_bytes()
        assert path.read_bytes().count(b"\n") == 2


async def test_opening_reading_and_closing_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    async with talking(where=str(path)) as session:
        session.context()
        session.entries()
        session.context_usage()

    assert not path.exists()


async def test_a_session_goes_on_where_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "s.jsonl")
    async with talking("one", where=path) as session:
        await session.prompt("first")
    before = Path(path).read_bytes()

    async with talking("two", where=path, seed=1) as session:
        await session.prompt("second")
        said = [words(item.message) for item in session.context().items]

    assert said == ["first", "one", "second", "two"]
    assert Path(path).read_bytes().startswith(before)


async def test_two_prompts_at_once_run_one_and_refuse_the_other_without_disturbing_it() -> None:
    async with talking("Hello there") as session:
        reader = session.events()
        first, second = session.submit("one"), session.submit("two")

        with pytest.raises(Refused, match=r"steer\(\) reaches it.*follow_up\(\)"):
            await second.outcome()
        assert isinstance(await first.outcome(), Delivered)

        assert names(drain(reader)) == ONE_RUN
        assert len(session.entries()) == 2


async def test_the_tree_is_free_again_when_agent_settled_is_told() -> None:
    async with talking("one", "two") as session:
        reader = session.events()
        session.submit("first")
        async for item in reader:
            if isinstance(item, Published) and isinstance(item.event, AgentSettled):
                break

        assert session.state == "idle"
        assert isinstance(await session.prompt("second"), Delivered)


async def test_a_failed_answer_is_returned_recorded_and_not_sent_again() -> None:
    async with talking(ScriptedAnswer(text="half", error="no such model"), "whole") as session:
        outcome = await session.prompt("hi")
        assert isinstance(outcome, Delivered)
        assert outcome.answer is not None
        assert (outcome.answer.stop_reason, outcome.answer.error_message) == ("error", "no such model")
        assert text_of(outcome.answer.content) == "half"

        await session.prompt("again")

        assert [item.unsent for item in session.context().items] == [None, "failed", None, None]


async def test_whoever_waits_may_leave_and_the_answer_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    async with talking(ScriptedAnswer(text="late", wait=10)) as session:
        with trio.move_on_after(1):
            await session.prompt("hi")
        assert session.state == "run"

        await trio.sleep(20)

        assert (session.state, len(session.entries())) == ("idle", 2)


async def test_closing_in_mid_answer_records_what_came_as_aborted(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = str(tmp_path / "s.jsonl")
    async with talking(ScriptedAnswer(text="never", wait=1000), where=path) as session:
        handle = session.submit("hi")
        await trio.sleep(1)

    outcome = handle.outcome_nowait
    assert isinstance(outcome, Delivered)
    assert outcome.aborted
    async with talking(where=path) as session:
        assert [item.unsent for item in session.context().items] == [None, "aborted"]


async def test_leaving_right_after_submitting_records_the_input_and_stops_its_call(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = str(tmp_path / "s.jsonl")
    async with talking(ScriptedAnswer(text="never", wait=1000), where=path) as session:
        handle = session.submit("hi")

    assert trio.current_time() < 0.2
    assert isinstance(handle.outcome_nowait, Delivered)
    async with talking(where=path) as session:
        assert [item.unsent for item in session.context().items] == [None, "aborted"]


async def test_a_cancelled_host_leaves_a_whole_log_and_no_task(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = str(tmp_path / "s.jsonl")
    with trio.move_on_after(1):
        async with talking(ScriptedAnswer(text="never", wait=1000), where=path) as session:
            await session.prompt("hi")

    assert trio.current_time() < 5
    async with talking("more", where=path, seed=1) as session:
        assert [item.unsent for item in session.context().items] == [None, "aborted"]
        assert isinstance(await session.prompt("go on"), Delivered)


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with talking():
            raise KeyError("mine")


async def test_a_closed_session_refuses_and_its_readers_end() -> None:
    async with talking("one") as session:
        reader = session.events()
        await session.close()
        await session.close()

        with pytest.raises(SessionClosed):
            await session.prompt("too late")
        with pytest.raises(SessionClosed):
            session.feed(AgentSettled(aborted=False))
    assert [item async for item in reader] == []
    with pytest.raises(Closed):
        session._wiring.system.publish(AgentSettled(aborted=False))


async def test_images_reach_the_log_and_the_request() -> None:
    image = ImageContent(data="aGk=", mime_type="image/png")
    async with talking("a cat") as session:
        await session.prompt("what is it?", images=[image])

        message = session.context().items[0].message
        assert isinstance(message, UserMessage)
        assert message.content == (TextContent(text="what is it?"), image)


async def test_usage_is_what_the_provider_reported_and_what_followed() -> None:
    async with talking(ScriptedAnswer(text="ok", usage=usage(1000))) as session:
        assert str(session.context_usage()) == "0.0%/200000"
        await session.prompt("hi")

        assert (session.context_usage().tokens, str(session.context_usage())) == (1000, "0.5%/200000")


async def test_a_reader_may_lag_break_or_leave_and_nobody_waits_for_it() -> None:
    async with talking("a " * 50) as session:
        left, slow = session.events(), session.events()
        left.close()

        await session.prompt("hi")

        pieces = [event for event in drain(slow) if isinstance(event, MessageUpdate)]
        assert len(pieces) == 3, "the fifty pieces of a lagging reader are merged into one between start and end"


class ReadOnlyDisk(RealDisk):
    """No file can be made on it."""

    def create(self, path: str) -> int:
        raise OSError(errno.EROFS, "Read-only file system")


async def test_a_disk_that_refuses_the_input_raises_and_the_session_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking(where=str(path), environment=Environment.scripted(disk=ReadOnlyDisk())) as session:
        reader = session.events()
        with pytest.raises(CannotWrite, match="EROFS"):
            await session.prompt("hi")

        assert (session.state, session.entries(), path.exists()) == ("idle", (), False)
        assert "run_failed" in [event.code for event in drain(reader) if isinstance(event, Diagnostic)]


async def test_an_event_that_is_fed_reaches_readers_and_actors() -> None:
    async with talking() as session:
        reader = session.events()

        session.feed(TurnEnd(message=assistant("x"), tool_results=()))

        assert names(drain(reader)) == ["turn_end"]


async def test_a_session_of_the_hosts_own_store_is_used_as_it_is(tmp_path: Path) -> None:
    path = str(tmp_path / "s.jsonl")
    async with talking("one", where=path) as session:
        await session.prompt("hi")
        header = session.header
    async with talking(where=path) as again:
        assert again.header == header


class SecondWriteFails(RealDisk):
    """The disk becomes read-only once the first append is on it."""

    def __init__(self) -> None:
        self.appends = 0

    def write(self, descriptor: int, data: bytes) -> int:
        self.appends += b'"parentId"' in data
        if self.appends > 1:
            raise OSError(errno.EROFS, "Read-only file system")
        return super().write(descriptor, data)


async def test_an_answer_that_cannot_be_written_is_told_with_the_outcome_and_the_run_is_closed(tmp_path: Path) -> None:
    environment = Environment.scripted(disk=SecondWriteFails())
    async with talking("lost", where=str(tmp_path / "s.jsonl"), environment=environment) as session:
        reader = session.events()

        outcome = await session.prompt("hi")

        assert isinstance(outcome, Delivered)
        assert (outcome.aborted, outcome.answer) == (False, None)
        assert "EROFS" in (outcome.error or "")
        assert outcome.error_type == "CannotWrite"
        assert outcome.unrecorded is not None
        assert words(outcome.unrecorded) == "lost"
        assert names(drain(reader))[-3:] == ["agent_end", "diagnostic", "agent_settled"]


async def test_a_file_that_is_deleted_in_mid_answer_costs_no_answer(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = tmp_path / "s.jsonl"
    async with talking(ScriptedAnswer(text="paid for", wait=1), "next", where=str(path)) as session:
        handle = session.submit("hi")
        await trio.sleep(0.5)
        path.unlink()
        outcome = await handle.outcome()

        assert isinstance(outcome, Delivered)
        assert (outcome.failed, outcome.error_type) == (True, "StoreConflict")
        assert outcome.unrecorded is not None
        assert words(outcome.unrecorded) == "paid for"
        assert await session.restore() is None
        assert not (await session.prompt("again")).failed
    with read(path) as again:
        assert [words(message) for message in again.context().messages] == ["hi", "again", "next"]


async def test_a_closed_session_has_let_go_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    async with talking("one", where=str(path)) as session:
        await session.prompt("hi")
        await session.close()
        async with talking("two", where=str(path)) as other:
            await other.prompt("and on")
    with read(path) as again:
        assert [words(message) for message in again.context().messages] == ["hi", "one", "and on", "two"]


async def test_what_is_being_hardened_when_a_session_is_closed_is_told_as_it_comes_out(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """It used to be told as refused after two seconds, and then it was written."""

    async def slowly(function: Callable[[], T], /) -> T:
        await trio.sleep(5)
        return function()

    environment = attrs.evolve(Environment.scripted(), run_sync=slowly)
    path = str(tmp_path / "s.jsonl")
    async with talking("unsaid", where=path, environment=environment, durability="disk") as session:
        handle = session.submit("hi")
        await trio.sleep(1)
        await session.close()
        outcome = handle.outcome_nowait

        assert isinstance(outcome, Delivered)
        assert outcome.aborted
    with read(path) as again:
        assert handle.entry_id in again.tree()


class Sticking(MemoryStore):
    """A host's store that does not close the first time."""

    tries = 0

    def close(self) -> None:
        self.tries += 1
        if self.tries == 1:
            raise CannotWrite("x", OSError(errno.EIO, os.strerror(errno.EIO)))
        super().close()


async def test_a_store_that_cannot_be_closed_holds_nobody_up() -> None:
    """Every later close used to wait for ever, and the end of the block with it."""
    store = Sticking(HEADER)
    with trio.fail_after(5):
        async with talking("one", where=store) as session:
            with pytest.raises(CannotWrite):
                await session.close()
    assert store.tries == 2


@pytest.mark.parametrize(("version", "read_only"), [(3, False), (4, True)])
async def test_a_session_says_whether_it_can_be_written(tmp_path: Path, version: int, read_only: bool) -> None:
    path = tmp_path / "s.jsonl"
    header = {"type": "session", "version": version, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
    path.write_text(json.dumps(header) + "\n", encoding="utf-8")
    async with talking(where=str(path)) as session:
        assert session.read_only is read_only


async def test_a_second_close_waits_for_the_first(autojump_clock: trio.testing.MockClock) -> None:
    async with talking(ScriptedAnswer(text="never", wait=1000)) as session:
        handle = session.submit("hi")
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.close)
            nursery.start_soon(session.close)

        assert session.state == "idle"
        assert isinstance(handle.outcome_nowait, Delivered)


async def test_an_abort_stops_what_runs_and_leaves_the_session_open(autojump_clock: trio.testing.MockClock) -> None:
    async with talking(ScriptedAnswer(text="never", wait=1000), "next") as session:
        handle = session.submit("hi")
        await trio.sleep(1)

        await session.abort()

        outcome = handle.outcome_nowait
        assert isinstance(outcome, Delivered)
        assert outcome.aborted
        assert isinstance(await session.prompt("again"), Delivered)


async def test_half_a_character_of_a_model_does_not_cost_its_answer() -> None:
    async with talking("so \ud83d it goes") as session:
        outcome = await session.prompt("hi")

        assert isinstance(outcome, Delivered)
        assert outcome.answer is not None
        assert text_of(outcome.answer.content) == "so \ufffd it goes"


UNTYPED: Any = ImageContent
NO_INPUTS: list[tuple[Any, Any]] = [
    (5, ()),
    ("", ()),
    (" \n", ()),
    ("hi", 5),
    ("hi", None),
    ("hi", (5,)),
    ("hi", (UNTYPED(data=None, mime_type="x"),)),
    ("hi", (UNTYPED(data="\ud800", mime_type="x"),)),
]


@pytest.mark.parametrize(("text", "images"), NO_INPUTS)
async def test_what_is_no_input_is_refused_before_anything_happens(text: Any, images: Any) -> None:
    async with talking("one") as session:
        reader = session.events()
        with pytest.raises(Refused, match="an input is a text and images") as refusal:
            await session.prompt(text, images=images)
        with pytest.raises(Refused, match="an input is a text and images"):
            session.submit(text, images=images)

        assert refusal.value.reason == "bad-input"
        assert (session.entries(), session.state, drain(reader)) == ((), "idle", [])
        assert isinstance(await session.prompt("hi"), Delivered)


async def test_what_is_no_event_is_not_published() -> None:
    async with talking() as session:
        reader, feed, events = session.events(), cast("Any", session.feed), cast("Any", session.events)
        with pytest.raises(Refused, match="an event is one of those"):
            feed("x")
        with pytest.raises(Refused, match="the number of an event"):
            events(since="x")

        assert drain(reader) == []


@pytest.mark.parametrize("model", ["x", ""])
async def test_usage_is_of_a_model(model: Any) -> None:
    async with talking() as session:
        with pytest.raises(Refused, match="a model is a"):
            session.context_usage(model)


class Waiting:
    """A provider that waits for the end of the very run that waits for it."""

    id = "waiting"

    def __init__(self, wait: Callable[[], Awaitable[None]]) -> None:
        self.wait = wait
        self.raised: BaseException | None = None

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece], None]:
        yield self.pieces()

    async def pieces(self) -> AsyncGenerator[Piece, None]:
        with pytest.raises(WouldDeadlock) as caught:
            await self.wait()
        self.raised = caught.value
        yield Finish(stop_reason="stop", content=(TextContent(text="told at once"),))


@pytest.mark.parametrize("what", ["done", "outcome", "prompt", "abort", "restore", "close"])
async def test_code_that_the_run_waits_for_cannot_wait_for_the_run(
    what: str, autojump_clock: trio.testing.MockClock
) -> None:
    async def wait() -> None:
        match what:
            case "done":
                await handle.done()
            case "outcome":
                await handle.outcome()
            case "prompt":
                await session.prompt("me too")
            case "abort":
                await session.abort()
            case "restore":
                await session.restore()
            case _:
                await session.close()

    provider = Waiting(wait)
    model = Model(provider="waiting", id="w")
    with trio.fail_after(5):  # `done` used to wait for ever
        async with open_session(None, model=model, providers=[provider], counter="heuristic") as session:
            handle = session.submit("hi")
            outcome = await handle.outcome()

    assert isinstance(provider.raised, WouldDeadlock)
    assert isinstance(outcome, Delivered)
    assert not outcome.failed


class Stuttering:
    """A source of chance that says everything twice."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, length: int) -> bytes:
        self.calls += 1
        return ((self.calls + 1) // 2).to_bytes(length, "big")


async def test_two_inputs_on_their_way_have_two_ids_whatever_chance_says() -> None:
    async with talking("one", environment=Environment(random=Stuttering())) as session:
        first, second = session.submit("one"), session.submit("two")

        assert first.entry_id != second.entry_id  # the first handle used to be lost, and waited for ever
        with pytest.raises(Refused):
            await second.outcome()
        assert isinstance(await first.outcome(), Delivered)


async def test_an_answer_does_not_take_the_id_of_an_input_that_is_on_its_way() -> None:
    async with talking("one", environment=Environment(random=Stuttering())) as session:
        coming, shelf = EntryId("00000002"), session._wiring.shelf
        shelf.put(Input(entry_id=coming, text="two", timestamp=0))

        outcome = await session.prompt("one")

        assert isinstance(outcome, Delivered)
        assert [entry.id for entry in session.entries()] == ["00000001", "00000003"]
        shelf.resolve(coming, Returned(text="two"))
