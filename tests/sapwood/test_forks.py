"""An open session forked: it goes on as it was, and extensions are asked (S15)."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
import trio

from sapwood import (
    CannotWrite,
    EntryId,
    Environment,
    Extension,
    ExtensionContext,
    Forked,
    ForkFailed,
    Refused,
    Runtime,
    Scripted,
    ScriptedAnswer,
    Session,
    SessionClosed,
    WouldDeadlock,
    read,
)
from sapwood.events.hooks import Cancel, SessionBeforeFork
from tests.build import MODEL, usage
from tests.sapwood.branching import TALK, branching, chain, kept
from tests.store.faults import FaultyDisk


async def test_the_parent_goes_on_where_it_was_and_the_fork_by_itself(tmp_path: Path) -> None:
    """G04: three turns in the fork change no byte of the parent."""
    provider = Scripted({"turn": [ScriptedAnswer(text=f"answer {n}") for n in range(9)]})
    async with Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic") as runtime:
        async with runtime.open_session(tmp_path / "s.jsonl", model=MODEL) as session:
            await session.prompt("one")
            first = session.entries()[0].id
            await session.prompt("two")
            made = await session.fork(first)
            leaf = session.tree().leaf
            await session.prompt("three")
            assert session.tree().path(session.tree().leaf)[-3] == leaf
        parent = (tmp_path / "s.jsonl").read_bytes()

        async with runtime.open_session(made.path, model=MODEL) as forked:
            for words in ("a", "b", "c"):
                await forked.prompt(words)
            assert forked.header.parent_session == str(tmp_path / "s.jsonl")
            assert forked.entries()[0].id == first
            assert len(forked.context().items) == 7

        assert (tmp_path / "s.jsonl").read_bytes() == parent


async def test_sums_over_a_session_and_its_forks_count_nothing_twice(tmp_path: Path) -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="yes", usage=usage(10))] * 9})
    async with Runtime(providers=[provider], environment=Environment.scripted(), counter="heuristic") as runtime:
        async with runtime.open_session(tmp_path / "s.jsonl", model=MODEL) as session:
            await session.prompt("one")
            made = await session.fork(whole_tree=True)
            await session.prompt("two")
            stats = [session.stats()]
        async with runtime.open_session(made.path, model=MODEL) as forked:
            await forked.prompt("three")
            again = await forked.fork()
            await forked.prompt("four")
            stats.append(forked.stats())
        async with runtime.open_session(again.path, model=MODEL) as last:
            await last.prompt("five")
            stats.append(last.stats())

    assert [(one.own.spent.calls, one.inherited.spent.calls) for one in stats] == [(2, 0), (2, 1), (1, 2)]
    assert all(one.spent == one.own.spent + one.inherited.spent for one in stats)


async def test_an_extension_can_refuse_it_and_nothing_is_made(tmp_path: Path) -> None:
    careful, asked = Extension("careful"), list[SessionBeforeFork]()

    @careful.on(SessionBeforeFork)
    async def refuse(question: SessionBeforeFork, _: ExtensionContext) -> Cancel:
        asked.append(question)
        return Cancel(reason="not now")

    async with branching(entries=chain(*TALK), extensions=[careful]) as (session, _):
        with pytest.raises(ForkFailed, match=r"^the extension 'careful' cancelled the fork: not now$"):
            await session.fork(EntryId("a2"), to=tmp_path / "f.jsonl")
        assert list(tmp_path.iterdir()) == []

        made = await session.fork(whole_tree=True, to=tmp_path / "f.jsonl", ask_extensions=False)

    assert asked == [SessionBeforeFork(entry_id=EntryId("a2"), whole_tree=False)]
    assert made == Forked(path=str(tmp_path / "f.jsonl"), session_id=made.session_id, entries=6)


async def test_an_extension_that_breaks_has_said_nothing(tmp_path: Path) -> None:
    broken = Extension("broken")

    @broken.on(SessionBeforeFork)
    async def fail(_: SessionBeforeFork, __: ExtensionContext) -> None:
        raise RuntimeError

    async with branching(entries=chain(*TALK), extensions=[broken]) as (session, _):
        made = await session.fork(to=tmp_path / "f.jsonl")

    assert made.entries == 6


async def test_a_handler_that_is_asked_cannot_wait_for_another_fork(tmp_path: Path) -> None:
    deep, caught, held = Extension("deep"), list[BaseException](), list[Session]()

    @deep.on(SessionBeforeFork)
    async def again(_: SessionBeforeFork, __: ExtensionContext) -> None:
        try:
            await held[0].fork(to=tmp_path / "g.jsonl")
        except WouldDeadlock as error:
            caught.append(error)

    async with branching(entries=chain(*TALK), extensions=[deep]) as (session, _):
        held.append(session)
        await session.fork(to=tmp_path / "f.jsonl")

    assert len(caught) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["f.jsonl"]


async def test_a_handler_that_is_asked_may_wait_for_a_prompt_for_no_run_waits_for_the_fork(tmp_path: Path) -> None:
    deep = Extension("deep")

    @deep.on(SessionBeforeFork)
    async def say(_: SessionBeforeFork, context: ExtensionContext) -> None:
        await context.prompt("And now?").outcome()

    async with branching("An oak.", entries=chain(*TALK), extensions=[deep]) as (session, _):
        before = len(session.entries())
        forked = await session.fork(to=tmp_path / "f.jsonl")

        assert forked.entries == len(session.entries()) == before + 2, "what was said before it was answered is copied"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"entry_id": "nope"}, "Entry nope not found"), ({}, "say where it goes"), ({"ask_extensions": 1}, "ask_ext")],
)
async def test_what_cannot_be_forked_is_refused(arguments: dict[str, Any], words: str) -> None:
    async with branching(entries=chain(*TALK)) as (session, _):
        with pytest.raises(Refused, match=words):
            await session.fork(**arguments)


async def test_a_session_with_nothing_in_it_is_refused(tmp_path: Path) -> None:
    async with branching(where=tmp_path / "s.jsonl") as (session, _):
        with pytest.raises(Refused, match="has not been saved yet"):
            await session.fork()


async def test_a_session_in_memory_has_no_path_to_tell(tmp_path: Path) -> None:
    async with branching(where=kept(chain(*TALK))) as (session, _):
        made = await session.fork(to=tmp_path / "f.jsonl")

    with read(made.path) as forked:
        assert forked.header.parent_session is None


async def test_a_full_disk_leaves_the_session_and_no_half_file(tmp_path: Path) -> None:
    disk = FaultyDisk()
    environment = Environment.scripted(disk=disk)
    provider = Scripted({"turn": [ScriptedAnswer(text="yes")] * 3})
    async with (
        Runtime(providers=[provider], environment=environment, counter="heuristic") as runtime,
        runtime.open_session(tmp_path / "s.jsonl", model=MODEL) as session,
    ):
        await session.prompt("one")
        with disk.failing(errno.ENOSPC, names=("write",)), pytest.raises(CannotWrite):
            await session.fork()
        await session.prompt("two")

        assert sorted(one.name for one in tmp_path.iterdir()) == ["s.jsonl", "s.jsonl.lock"]


async def test_a_fork_that_is_cancelled_half_way_leaves_nothing(tmp_path: Path) -> None:
    disk, scope = FaultyDisk(), trio.CancelScope()

    def cancel_when_begun(_: int, name: str) -> int | None:
        if name == "create":
            scope.cancel()
        return None

    disk.plan = cancel_when_begun
    provider = Scripted({})
    async with (
        Runtime(providers=[provider], environment=Environment.scripted(disk=disk), counter="heuristic") as runtime,
        runtime.open_session(kept(chain(*TALK)), model=MODEL) as session,
    ):
        with scope:
            await session.fork(to=tmp_path / "f.jsonl")

    assert scope.cancelled_caught
    assert disk.calls.count("create") == 1
    assert list(tmp_path.iterdir()) == []
    assert disk.open_descriptors == set()


async def test_a_closed_session_is_not_forked(tmp_path: Path) -> None:
    async with branching(entries=chain(*TALK)) as (session, _):
        await session.close()
        with pytest.raises(SessionClosed):
            await session.fork(to=tmp_path / "f.jsonl")
