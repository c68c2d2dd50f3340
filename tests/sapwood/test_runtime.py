"""What the sessions of a process share: nothing but what they were given."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import trio

from sapwood import (
    Delivered,
    InputOutcome,
    Model,
    Refused,
    Resync,
    Runtime,
    Scripted,
    ScriptedAnswer,
    Session,
    SessionBroken,
    Snapshot,
    open_session,
)
from sapwood.actors.environment import Environment
from sapwood.actors.kernel import Receipt, Verdict
from sapwood.events.content import text_of
from sapwood.events.runtime import AgentSettled
from sapwood.runtime import RING_EVENTS
from sapwood.store.disk import RealDisk
from tests.build import MODEL, words
from tests.talking import talking


async def test_eight_sessions_at_once_do_not_mix() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="yes")] * 8})
    outcomes: dict[str, InputOutcome] = {}

    async def talk(runtime: Runtime, canary: str) -> None:
        async with runtime.open_session(None, model=MODEL) as session:
            outcomes[canary] = await session.prompt(canary)
            assert words(session.context().items[0].message) == canary

    async with Runtime(providers=[provider]) as runtime, trio.open_nursery() as nursery:
        for n in range(8):
            nursery.start_soon(talk, runtime, f"canary {n}")

    assert len(outcomes) == 8
    for request in provider.requests:
        assert len(request.messages) == 1
    assert {text_of(request.messages[0].content) for request in provider.requests} == set(outcomes)


async def test_a_session_of_its_own_needs_no_runtime(tmp_path: Path) -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="yes")]})
    path = tmp_path / "deep" / "s.jsonl"

    async with open_session(path, model=MODEL, providers=[provider]) as session:
        assert isinstance(await session.prompt("hi"), Delivered)

    assert path.exists()


def test_what_is_no_provider_and_no_environment_is_refused() -> None:
    make: Any = Runtime
    with pytest.raises(Refused, match="two providers are called 'scripted'"):
        make(providers=[Scripted(), Scripted()])
    with pytest.raises(Refused, match="an object with an id"):
        make(providers=[Scripted])
    with pytest.raises(Refused, match="an environment is"):
        make(environment="x")


class Untouched(RealDisk):
    """A disk that nobody may so much as look at."""

    def open_read(self, path: str) -> int:
        raise AssertionError(path)

    def open_append(self, path: str) -> int:
        raise AssertionError(path)

    def create(self, path: str) -> int:
        raise AssertionError(path)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (5, {}, "not from 5"),
    (b"s.jsonl", {}, "os.fsdecode"),
    ([], {}, "from a path, from None or from a Store"),
    ("s.jsonl", {"model": "x"}, "a model is a"),
    ("s.jsonl", {"model": None}, "a model is a"),
    ("s.jsonl", {"cwd": 5}, "the folder of a session is named by"),
    ("s.jsonl", {"session_id": 5}, "a session id is text"),
    ("s.jsonl", {"tap": 5}, "a tap is an object"),
]


@pytest.mark.parametrize(("where", "more", "words"), REFUSED)
async def test_what_no_session_can_be_opened_with_is_refused_at_once(
    where: Any, more: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    open_one: Any = Runtime(providers=[Scripted()], environment=Environment.scripted(disk=Untouched())).open_session
    with pytest.raises(Refused, match=re.escape(words)) as refusal:
        async with open_one(where, **{"model": MODEL, **more}):
            raise AssertionError("it was opened")

    assert refusal.value.reason == "bad-input"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("providers", [[], [Scripted()]])
async def test_a_model_whose_provider_nobody_gave_is_refused_before_the_session_is_opened(
    providers: list[Scripted], tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    with pytest.raises(Refused, match=r"no provider is called 'elsewhere' .*providers=") as refusal:
        async with open_session(path, model=Model(provider="elsewhere", id="x"), providers=providers):
            raise AssertionError("it was opened")

    assert refusal.value.reason == "no-model"
    assert not path.exists()


def test_a_session_is_opened_under_trio_and_says_so() -> None:
    async def use() -> None:
        async with open_session(None, model=MODEL, providers=[Scripted()]):
            raise AssertionError("it was opened")

    with pytest.raises(Refused, match=r"under trio: inside trio\.run"):
        asyncio.run(use())


async def test_a_folder_may_be_a_path(tmp_path: Path) -> None:
    async with open_session(None, model=MODEL, providers=[Scripted()], cwd=tmp_path) as session:
        assert session.header.cwd == str(tmp_path)


async def test_nothing_is_started_before_it_is_used() -> None:
    async with talking() as session:
        tasks = trio.lowlevel.current_statistics().tasks_living
        session.context()
        session.events()
        await trio.lowlevel.checkpoint()

        assert trio.lowlevel.current_statistics().tasks_living == tasks


async def test_no_task_is_left_behind() -> None:
    before = trio.lowlevel.current_statistics().tasks_living
    async with talking("one") as session:
        await session.prompt("hi")

    assert trio.lowlevel.current_statistics().tasks_living == before


class Poison:
    """Crashes the agent at every receipt."""

    async def receipt(self, receipt: Receipt) -> Verdict:
        if receipt.actor == "agent":
            raise ValueError("again")
        return "handle"

    async def operation(self, actor: str, operation: str, phase: str) -> None:
        pass


async def test_an_actor_that_cannot_be_mended_leaves_as_one_typed_error() -> None:
    async def use(session: Session) -> None:
        for _ in range(10):
            with pytest.raises(Exception, match="agent"):
                await session.prompt("hi")

    with pytest.raises(SessionBroken, match="agent crashed too often"):
        async with talking(tap=Poison()) as session:
            await use(session)


async def test_a_reader_that_is_lost_gets_a_snapshot_and_follows_again() -> None:
    async with talking("one", environment=Environment.scripted()) as session:
        reader = session.events()
        await session.prompt("hi")
        for _ in range(RING_EVENTS):
            session.feed(AgentSettled(aborted=False))

        first = reader.receive_nowait()

        assert isinstance(first, Resync)
        assert first.snapshot == Snapshot(state="idle", leaf=session.context().leaf, entries=2)
