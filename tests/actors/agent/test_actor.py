"""The agent's shell: takes the tree, gives it back, and tells what it does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from sapwood import Delivered, Finish, Refused, Request, SapwoodError, ScriptedAnswer, Session, open_session
from sapwood.actors.kernel import WouldDeadlock
from sapwood.actors.model.providers.base import Piece
from sapwood.events.commands import Abort, Input, Prompt
from sapwood.events.ids import EntryId
from tests.build import MODEL, MS
from tests.talking import drain, names, talking


async def test_a_prompt_that_is_asked_twice_is_run_once() -> None:
    async with talking("one") as session:
        agent = session._wiring.agent
        prompt = Prompt(input=Input(entry_id=EntryId("u1"), text="hi", timestamp=MS))
        session._wiring.shelf.put(prompt.input)

        await agent.ask(prompt)
        await agent.ask(prompt)

        assert len(session.entries()) == 2


async def test_a_prompt_while_somebody_else_has_the_tree_is_refused_and_changes_nothing() -> None:
    async with talking("one") as session:
        reader = session.events()
        session._wiring.lease.grant("compaction", "k")

        with pytest.raises(Refused, match="compaction is in progress"):
            await session.prompt("hi")

        assert (session.entries(), names(drain(reader)), session.state) == ((), [], "compaction")
        session._wiring.lease.release("k")
        assert isinstance(await session.prompt("hi"), Delivered)


async def test_an_abort_ends_the_run_with_an_aborted_answer(autojump_clock: trio.testing.MockClock) -> None:
    async with talking(ScriptedAnswer(text="never", wait=1000)) as session:
        handle = session.submit("hi")
        await trio.sleep(1)
        before = trio.current_time()

        await session._wiring.agent.ask(Abort())

        assert trio.current_time() - before < 0.2
        outcome = await handle.outcome()
        assert isinstance(outcome, Delivered)
        assert outcome.aborted
        assert outcome.answer is not None
        assert outcome.answer.stop_reason == "aborted"


async def test_an_abort_that_comes_before_the_model_is_called_stops_the_call() -> None:
    async with talking("never") as session:
        handle = session.submit("hi")
        await session._wiring.agent.ask(Abort())

        outcome = await handle.outcome()
        assert isinstance(outcome, Delivered)
        assert outcome.answer is not None
        assert (outcome.answer.stop_reason, outcome.answer.content) == ("aborted", ())
        assert session.state == "idle"


async def test_an_abort_of_nothing_returns_at_once() -> None:
    async with talking() as session:
        await session._wiring.agent.ask(Abort())

        assert session.state == "idle"


class Meddling:
    """A provider that prompts its own session while it answers."""

    id = "scripted"
    session: Session
    caught: BaseException | None = None

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Piece]]:
        try:
            await self.session.prompt("from inside")
        except SapwoodError as error:
            self.caught = error
        yield aiter_of(Finish(stop_reason="stop"))


async def aiter_of(piece: Piece) -> AsyncIterator[Piece]:
    yield piece


async def test_what_a_run_waits_for_cannot_wait_for_a_prompt() -> None:
    provider = Meddling()
    async with open_session(None, model=MODEL, providers=[provider], counter="heuristic") as session:
        provider.session = session
        with trio.fail_after(5):
            outcome = await session.prompt("hi")

        assert isinstance(provider.caught, WouldDeadlock)
        assert isinstance(outcome, Delivered)
        assert len(session.entries()) == 2
