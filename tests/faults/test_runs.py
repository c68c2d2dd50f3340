"""C, H and O: a run that is stopped, by whoever may: what is in the log then, what went on, and what the next prompt is sent.

What happens to calls where a compaction or a move comes in between is looked for with those (test_compaction_calls.py, test_projection.py;
G12 waits for navigation).
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import psutil
import pytest
import trio
import trio.testing

from sapwood import Delivered, Environment, Extension, Handle, Refused, WouldDeadlock, read, tool
from sapwood.actors.tools.results import INTERRUPTED, LEFT_BEHIND, UNSTARTED
from sapwood.events.content import text_of
from sapwood.events.entries import Custom
from sapwood.events.hooks import ToolCallQuestion, ToolResultQuestion
from sapwood.events.messages import ToolResultMessage
from sapwood.events.runtime import ToolExecutionEnd, ToolExecutionStart
from sapwood.store.disk import RealDisk
from tests.build import call
from tests.faults.logs import assert_whole
from tests.faults.running import calling, results, strictly_talking, told, until
from tests.talking import drain

SETTLED: Final = 0.2
"""Seconds that an abort may take (R4)."""


async def slow(seconds: float) -> str:
    await trio.sleep(seconds)
    return f"{seconds:g}"


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
async def test_c10_an_abort_in_the_middle_of_calls_leaves_each_with_a_result(
    mode: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """C10: two of five are over; all stand together behind the answer that made them, and the next prompt is taken."""
    path = tmp_path / "s.jsonl"
    one_by_one = mode == "sequential"
    waits = tool(mode="sequential" if one_by_one else "parallel", name="slow")(slow)
    calls = [call(f"c{nth}", "slow", seconds=1 if nth <= 2 else 50) for nth in range(1, 6)]
    async with strictly_talking(calling(*calls), "well", where=path, tools=[waits]) as (session, provider):
        handle = session.submit("go")
        await trio.sleep(5)
        await session.abort()
        outcome = await handle.outcome()
        assert isinstance(outcome, Delivered)
        assert outcome.aborted
        assert trio.current_time() - 5 <= SETTLED
        rest = [UNSTARTED] * 2 if one_by_one else [INTERRUPTED] * 2
        assert [text for _, text in results(session)] == ["1", "1", INTERRUPTED, *rest]
        assert sorted(one for one, _ in results(session)) == ["c1", "c2", "c3", "c4", "c5"]
        next_one = await session.prompt("and now?")
        assert not next_one.failed
        sent = [one.tool_call_id for one in provider.requests[-1].messages if isinstance(one, ToolResultMessage)]
        assert sent == ["c1", "c2", "c3", "c4", "c5"]
    assert_whole(path)
    with read(path) as again:
        roles = [one.partition(":")[0] for one in told(again)]
    assert roles[:2] == ["user", "assistant"]
    assert {*roles[2:7]} == {"c1", "c2", "c3", "c4", "c5"}
    assert roles[7:] == ["user", "assistant"]


@pytest.mark.parametrize("heeds", [True, False], ids=["heeds", "shields itself"])
async def test_c11_no_call_begins_behind_an_abort_that_came_while_another_was_looked_at(
    heeds: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """C11: whoever looks at the second call has the run stopped; the first one was ready to begin."""
    ran: list[int] = []
    looked_at: list[str] = []
    found = trio.Event()
    guard = Extension("guard")

    def touch() -> None:
        ran.append(1)

    @guard.on(ToolCallQuestion)
    async def look(question: ToolCallQuestion, _: object) -> None:
        if question.tool_call_id == "c2":
            with pytest.raises(WouldDeadlock):
                await session.abort()
            found.set()
            with trio.CancelScope(shield=not heeds):
                await trio.sleep(0.02)

    @guard.on(ToolResultQuestion)
    async def look_behind(question: ToolResultQuestion, _: object) -> None:
        looked_at.append(question.tool_call_id)

    both = calling(call("c1", "touch"), call("c2", "touch"))
    async with strictly_talking(both, "well", tools=[touch], extensions=[guard]) as (session, _):
        reader = session.events()
        handle = session.submit("go")
        await found.wait()
        await session.abort()
        await handle.outcome()
        events = drain(reader)
        assert ran == []
        assert looked_at == []
        assert sorted(results(session)) == [("c1", UNSTARTED), ("c2", UNSTARTED)]
        for kind in (ToolExecutionStart, ToolExecutionEnd):
            assert sorted(one.tool_call_id for one in events if isinstance(one, kind)) == ["c1", "c2"]
        assert not (await session.prompt("and now?")).failed
        assert ran == []


WHERE: Final = ("in the tool", "before it", "behind it", "in a tool that goes on")


@pytest.mark.parametrize("where", WHERE)
async def test_c12_a_host_that_cancels_its_scope_gets_its_cancellation_and_the_log_has_a_result(
    where: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """C12: the call is not left open, whatever the scope is cancelled in, and closing takes no longer than it may."""
    path = tmp_path / "s.jsonl"
    entered: list[str] = []
    guard = Extension("guard")
    may_end = trio.Event()

    async def stay(place: str) -> None:
        if place == where:
            entered.append(place)
            await trio.sleep_forever()

    async def work() -> str:
        if where == "in a tool that goes on":
            with trio.CancelScope(shield=True):
                entered.append(where)
                await may_end.wait()
        await stay("in the tool")
        return "worked"

    @guard.on(ToolCallQuestion, limit=None)
    async def before(question: ToolCallQuestion, _: object) -> None:
        await stay("before it")

    @guard.on(ToolResultQuestion, limit=None)
    async def behind(question: ToolResultQuestion, _: object) -> None:
        await stay("behind it")

    async def end_later() -> None:
        await trio.sleep(5)
        may_end.set()

    came_out: list[type[BaseException]] = []
    at_the_end = b""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(end_later)
        with trio.move_on_after(1) as scope:
            try:
                async with strictly_talking(
                    calling(call("c1", "work")), where=path, tools=[work], extensions=[guard]
                ) as (session, _):
                    await session.prompt("go")
            except trio.Cancelled as cancelled:
                came_out.append(type(cancelled))
                raise
            finally:
                at_the_end = path.read_bytes()
        assert entered == [where]
        assert scope.cancelled_caught
        assert came_out == [trio.Cancelled]
        if where != "in a tool that goes on":
            assert trio.current_time() - 1 <= SETTLED
        assert path.read_bytes() == at_the_end, "nothing is written behind the end"
    assert_whole(path)
    expected = {
        "in the tool": INTERRUPTED,
        "before it": UNSTARTED,
        "behind it": "worked",
        "in a tool that goes on": LEFT_BEHIND,
    }
    with read(path) as again:
        assert told(again) == ["user: go", "assistant:", "c1"]
        assert results(again) == [("c1", expected[where])]
    async with strictly_talking("well", where=path) as (session, _):
        assert not (await session.prompt("and now?")).failed


async def tidy() -> None:
    """Takes its time to clean up."""
    try:
        await trio.sleep_forever()
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(0.05)


async def test_c13_a_prompt_that_comes_while_an_abort_settles_is_refused_and_comes_behind_the_result_then(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """C13: never between a call and its result."""
    path = tmp_path / "s.jsonl"
    async with strictly_talking(calling(call("c1", "tidy")), "well", where=path, tools=[tidy]) as (session, _):
        handle = session.submit("go")
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.abort)
            await trio.sleep(0.02)
            assert session.state == "run", "the abort has not settled"
            with pytest.raises(Refused):
                await session.prompt("new text")
        await handle.outcome()
        assert told(session) == ["user: go", "assistant:", "c1"]
        assert not (await session.prompt("new text")).failed
        assert told(session) == ["user: go", "assistant:", "c1", "user: new text", "assistant: well"]
    assert_whole(path)


@pytest.mark.parametrize(
    ("how", "then"),
    [
        ("steer", ["user: new text", "assistant: well"]),
        ("follow_up", ["assistant: well", "user: new text", "assistant: very well"]),
    ],
)
async def test_c13_what_is_queued_while_an_abort_settles_waits_for_the_next_run(
    how: str, then: list[str], tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """C13: never between a call and its result."""
    path = tmp_path / "s.jsonl"
    answers = (calling(call("c1", "tidy")), "well", "very well")
    async with strictly_talking(*answers, where=path, tools=[tidy]) as (session, _):
        handle = session.submit("go")
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.abort)
            await trio.sleep(0.02)
            assert session.state == "run", "the abort has not settled"
            queued = session.steer("new text") if how == "steer" else session.follow_up("new text")
        await handle.outcome()
        assert told(session) == ["user: go", "assistant:", "c1"]
        assert not (await session.prompt("next")).failed
        assert isinstance(await queued.outcome(), Delivered)
        assert told(session) == ["user: go", "assistant:", "c1", "user: next", *then]
    assert_whole(path)


async def test_c14_the_model_is_told_which_call_ran_which_was_stopped_and_which_never_began(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """C14: in what the next request says of each; the second one had its effect."""
    effects: list[str] = []

    @tool(mode="sequential")
    async def write(text: str) -> str:
        effects.append(text)
        await trio.sleep(2)
        return f"wrote {text}"

    calls = [call(f"c{nth}", "write", text=text) for nth, text in enumerate("abc", 1)]
    async with strictly_talking(calling(*calls), "well", tools=[write]) as (session, provider):
        handle = session.submit("go")
        await trio.sleep(3)
        await session.abort()
        await handle.outcome()
        assert not (await session.prompt("what have you done?")).failed
        sent = [one for one in provider.requests[-1].messages if isinstance(one, ToolResultMessage)]
    assert effects == ["a", "b"]
    finished, stopped, unstarted = (text_of(one.content) for one in sent)
    assert finished == "wrote a"
    assert "may have had effects" in stopped
    assert "did not run" not in stopped
    assert "did not run" in unstarted
    assert "may have had effects" not in unstarted
    assert [one.is_error for one in sent] == [False, True, True]


async def test_c14_a_call_that_was_over_when_the_run_was_stopped_is_told_as_what_it_gave(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """C14: somebody still looks at its result when the abort comes."""
    redactor = Extension("redactor")

    async def work() -> str:
        return "worked"

    @redactor.on(ToolResultQuestion, limit=None)
    async def look(question: ToolResultQuestion, _: object) -> None:
        await trio.sleep_forever()

    async with strictly_talking(calling(call("c1", "work")), "well", tools=[work], extensions=[redactor]) as (
        session,
        _,
    ):
        handle = session.submit("go")
        await trio.sleep(1)
        await session.abort()
        await handle.outcome()
        assert results(session) == [("c1", "worked")]
        assert not (await session.prompt("and now?")).failed


DRAIN: Final = 0.05
"""Seconds for what a process that was killed has still in its pipe: half of what foreign code has to end (R4)."""


def shell(pids: list[int]) -> Callable[..., object]:
    """A tool that runs a command in a process group of its own, and kills that; `pids`: what it began, as the command says."""

    async def run(command: str) -> str:
        process = await trio.lowlevel.open_process(
            ["sh", "-c", command], stdout=subprocess.PIPE, start_new_session=True
        )
        pids.append(process.pid)
        stdout = process.stdout
        assert stdout is not None
        try:
            async for data in stdout:
                pids.extend(map(int, data.split()))
            await process.wait()
        finally:
            with trio.CancelScope(shield=True):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                with trio.move_on_after(DRAIN):
                    async for _ in stdout:
                        pass
                await stdout.aclose()
                await process.wait()
        return "ended"

    return run


def alive(pid: int) -> bool:
    """Whether it still runs; one that is dead and that its new parent has not noticed does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("command", "escapes"),
    [
        ("sleep 300 & echo $!; sleep 300", False),
        # the one that leaves the group holds the pipe
        ("setsid sh -c 'echo $$; exec sleep 300' & sleep 300", True),
    ],
)
async def test_h12_an_abort_ends_a_shell_and_what_it_began_and_waits_for_nobody_who_holds_the_pipe(
    command: str, escapes: bool
) -> None:
    """H12: the run settles at once; no zombie of ours is left."""
    pids: list[int] = []
    async with strictly_talking(
        calling(call("c1", "run", command=command)), "well", tools=[shell(pids)], environment=Environment()
    ) as (session, _):
        try:
            handle = session.submit("go")
            await until(lambda: len(pids) == 2)
            began, group = pids[1], pids[0]
            assert alive(began)
            with trio.fail_after(2):
                await session.abort()
                await handle.outcome()
            [(_, said)] = results(session)
            assert said in {INTERRUPTED, LEFT_BEHIND}, "the latter where the machine had no time for its cleanup"
            await until(lambda: not alive(group))
            await until(lambda: not psutil.pid_exists(group))
            assert not [child for child in psutil.Process().children(recursive=True) if child.pid in pids]
            if not escapes:
                await until(lambda: not alive(began))
            assert not (await session.prompt("and now?")).failed
        finally:
            for pid in pids[1:]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


class SlowDisk(RealDisk):
    """Hardens what it was given when it may, and knows who is at it."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.may_end.set()
        self.inside = 0
        self.most = 0
        self._lock = threading.Lock()

    def sync(self, descriptor: int) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            assert self.may_end.wait(30)
            super().sync(descriptor)
        finally:
            with self._lock:
                self.inside -= 1


async def test_h13_who_waits_may_leave_while_a_thread_hardens_and_file_and_memory_say_the_same(tmp_path: Path) -> None:
    """H13: what is being hardened is in both in the end, and the next one comes behind it."""
    path, disk = tmp_path / "s.jsonl", SlowDisk()
    async with strictly_talking("one", "two", where=path, environment=Environment(disk=disk), durability="disk") as (
        session,
        _,
    ):
        await session.prompt("first")
        for leaving in (partial(session.prompt, "second"), partial(session.append_custom, "mine", 1)):
            before = [entry.id for entry in session.entries()]
            disk.may_end.clear()
            async with trio.open_nursery() as nursery:
                async with trio.open_nursery() as who_leaves:
                    who_leaves.start_soon(leaving)
                    await until(lambda: disk.inside == 1)
                    who_leaves.cancel_scope.cancel()
                assert disk.inside == 1
                assert [entry.id for entry in session.entries()] == before, "what is not hardened is not there"
                in_the_file = path.read_bytes()
                nursery.start_soon(session.append_custom, "theirs", 2)
                await trio.sleep(0.02)
                assert path.read_bytes() == in_the_file, "nobody writes while somebody hardens"
                disk.may_end.set()
            await session.wait_idle()
            assert len(path.read_bytes().splitlines()) == 1 + len(session.entries())
        assert told(session) == ["user: first", "assistant: one", "user: second", "assistant: two"]
        custom = [one.custom_type for one in session.entries() if isinstance(one, Custom)]
        assert sorted(custom) == ["mine", "theirs", "theirs"]
        here = [entry.id for entry in session.entries()]
    assert disk.most == 1
    assert_whole(path)
    with read(path) as again:
        assert [entry.id for entry in again.entries()] == here


@pytest.mark.parametrize("how", ["abort", "close", "cancel"])
async def test_h13_a_run_that_is_stopped_while_a_thread_hardens_leaves_no_thread_and_no_half_of_an_entry(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H13: the question is being hardened when the host does that, and for longer than closing waits for a run."""
    monkeypatch.setattr("sapwood.session.CLOSING_SECONDS", 0.02)
    path, disk = tmp_path / "s.jsonl", SlowDisk()
    disk.may_end.clear()
    handles: list[Handle] = []
    may_have_ended = trio.Event()

    async def end_soon() -> None:
        await trio.sleep(0.1)
        assert disk.inside == 1, "nobody gives up a thread"
        may_have_ended.set()
        disk.may_end.set()

    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            async with strictly_talking("one", where=path, environment=Environment(disk=disk), durability="disk") as (
                session,
                _,
            ):
                handles.append(session.submit("first"))
                await until(lambda: disk.inside == 1)
                nursery.start_soon(end_soon)
                if how == "abort":
                    await session.abort()
                elif how == "close":
                    await session.close()
                else:
                    scope.cancel()
                    await trio.lowlevel.checkpoint()
        assert disk.inside == 0, "no thread is at it behind the end"
        at_the_end = path.read_bytes()
        assert may_have_ended.is_set(), "somebody waited"
    [outcome] = [await one.outcome() for one in handles]
    assert path.read_bytes() == at_the_end
    assert disk.most == 1
    assert isinstance(outcome, Delivered)
    assert outcome.aborted
    with read(path) as again:
        assert again.entries()[0].id == outcome.entry_id
        assert told(again)[0] == "user: first"
    assert_whole(path)
