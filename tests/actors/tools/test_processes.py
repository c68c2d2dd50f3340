"""A command is heard as long as it talks, and when it is cancelled it is ended with all that it began."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from pathlib import Path

import psutil
import pytest
import trio

from sapwood.actors.tools import processes
from sapwood.actors.tools.processes import Finished, run_group
from tests.actors.tools.calling import gone, nothing_left, until


@pytest.fixture(name="pidfd", params=["pidfd", "no pidfd"], autouse=True)
def _pidfd(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(pid: int, flags: int = 0) -> int:
        raise OSError

    if request.param == "no pidfd":
        monkeypatch.setattr(os, "pidfd_open", missing)


class Heard:
    """What a command says, and a way to wait for a word."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.more = trio.Event()

    async def take(self, data: bytes) -> None:
        self.data += data
        self.more.set()
        self.more = trio.Event()

    async def until(self, word: str) -> list[str]:
        """The lines before the word."""
        with trio.fail_after(10):
            while f"{word}\n" not in self.data.decode():
                await self.more.wait()
        return self.data.decode().partition(f"{word}\n")[0].split()


async def ended(command: str, cwd: Path | str = "/") -> tuple[Finished, str]:
    heard = Heard()
    with trio.fail_after(10), nothing_left():
        how = await run_group(["bash", "-c", command], cwd=str(cwd), take=heard.take)
    return how, heard.data.decode()


async def cancelled(command: str) -> tuple[list[str], str]:
    """Cancel a command when it has said that it is ready: what it said before that, and all that it said."""
    heard = Heard()
    scope, over = trio.CancelScope(), trio.Event()

    async def run() -> None:
        with scope:
            await run_group(["bash", "-c", command], cwd="/", take=heard.take)
        over.set()

    with nothing_left():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            before = await heard.until("ready")
            scope.cancel()
            with trio.fail_after(2):  # H12
                await over.wait()
    assert scope.cancelled_caught
    return before, heard.data.decode()


async def test_both_streams_are_heard_in_the_order_in_which_they_were_written() -> None:
    how, said = await ended("echo one; echo two >&2; echo three; exit 3")

    assert said == "one\ntwo\nthree\n"
    assert (how.code, how.runs_on, how.heard_all) == (3, False, True)


async def test_it_has_no_input_and_no_terminal() -> None:
    _, said = await ended("cat; (: </dev/tty) 2>/dev/null || echo no terminal")

    assert said == "no terminal\n"


async def test_it_runs_in_its_folder(tmp_path: Path) -> None:
    assert (await ended("pwd -P", tmp_path))[1] == f"{tmp_path.resolve()}\n"


async def test_a_signal_that_ends_it_is_told() -> None:
    assert (await ended("kill -SEGV $$"))[0].code == -signal.SIGSEGV


async def test_what_cannot_be_begun_raises_and_leaves_nothing_open(tmp_path: Path) -> None:
    with nothing_left():
        with pytest.raises(FileNotFoundError):
            await run_group(["no-such-shell"], cwd="/", take=Heard().take)
        with pytest.raises(FileNotFoundError) as caught:
            await run_group(["bash", "-c", ":"], cwd=str(tmp_path / "gone"), take=Heard().take)
        assert caught.value.filename == str(tmp_path / "gone")


async def test_cancelling_ends_children_and_grandchildren() -> None:
    """H12: this kills more than the shell."""
    pids, _ = await cancelled("sleep 300 & echo $!; bash -c 'echo $$; sleep 300 & echo $!; echo ready; wait' & wait")

    assert len(pids) == 3
    assert await gone([int(pid) for pid in pids])


async def test_one_that_is_deaf_to_being_told_is_killed_with_its_children() -> None:
    pids, _ = await cancelled("trap '' TERM; echo $$; sleep 300 & echo $!; echo ready; while :; do sleep 300; done")

    assert await gone([int(pid) for pid in pids])


async def test_a_child_that_is_deaf_is_killed_though_the_first_ends_when_it_is_told() -> None:
    pids, _ = await cancelled("(trap '' TERM; exec sleep 300) >/dev/null 2>&1 & echo $!; echo ready; wait")

    assert await gone([int(pid) for pid in pids])


async def test_one_that_stands_still_is_killed() -> None:
    pids, _ = await cancelled("echo $$; echo ready; kill -STOP $$; sleep 300")

    assert await gone([int(pid) for pid in pids])


async def test_what_is_said_on_being_told_to_end_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 10)  # it ends when it is told to

    _, said = await cancelled("trap 'echo tidied up; exit' TERM; sleep 300 & echo ready; wait")

    assert said == "ready\ntidied up\n"


@pytest.mark.parametrize(
    "command",
    [
        "trap 'sleep 0.1; touch tidied; exit' TERM; (sleep 0.1; echo ready) & exec >/dev/null 2>&1; sleep 300 & wait",
        "(trap 'sleep 0.1; touch tidied; exit' TERM; echo ready; sleep 300 & wait) & exec sleep 300",
    ],
    ids=["it says nothing more", "its child"],
)
async def test_whoever_has_something_to_tidy_up_gets_the_time(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 10)  # it ends when it is told to

    await cancelled(f"cd {tmp_path}; {command}")

    assert [one.name for one in tmp_path.iterdir()] == ["tidied"]


async def test_what_was_said_and_not_yet_heard_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0)
    monkeypatch.setattr(processes, "LAST_WORDS", 10)
    heard = Heard()
    scope = trio.CancelScope()

    async def take(data: bytes) -> None:
        heard.data += data
        if b"ready" in data:
            await until(lambda: scope.cancel_called)
            await trio.sleep(0.1)  # they are killed meanwhile

    async def run() -> None:
        with scope:
            command = "echo ready; sleep 0.05; echo more; touch said; sleep 300"
            await run_group(["bash", "-c", command], cwd=str(folder), take=take)

    with trio.fail_after(10), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await until((folder / "said").exists)
            scope.cancel()
    assert heard.data == b"ready\nmore\n"


async def test_one_that_got_away_and_holds_the_pipe_holds_up_no_cancellation() -> None:
    """H12: `setsid`."""
    pids, _ = await cancelled("setsid sleep 300 & echo $!; echo ready; sleep 300")

    [away] = [psutil.Process(int(pid)) for pid in pids]
    assert away.is_running()
    away.kill()


async def test_one_that_got_away_and_holds_the_pipe_holds_up_no_end() -> None:
    how, said = await ended("setsid sleep 300 & echo $!")

    os.kill(int(said), signal.SIGKILL)
    assert (how.code, how.runs_on, how.heard_all) == (0, False, False)


async def test_one_that_got_away_and_talks_on_for_ever_is_listened_to_within_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "LINGER", 0.2)

    how, said = await ended("setsid bash -c 'while :; do echo more; sleep 0.01; done' & echo $!")

    os.kill(int(said.split()[0]), signal.SIGKILL)
    assert (how.code, how.heard_all) == (0, False)


async def test_what_is_left_in_the_background_runs_on_and_is_told() -> None:
    how, said = await ended("sleep 300 & echo $!")

    assert (how.code, how.runs_on, how.heard_all) == (0, True, False)
    assert psutil.Process(int(said)).is_running()
    os.killpg(how.group, signal.SIGKILL)
    assert await gone([int(said)])


async def test_what_is_left_in_the_background_and_says_nothing_more_is_told_apart() -> None:
    how, said = await ended("sleep 300 >/dev/null 2>&1 & echo $!")

    os.killpg(how.group, signal.SIGKILL)
    assert (how.runs_on, how.heard_all) == (True, True)
    assert await gone([int(said)])


@pytest.mark.slow
async def test_what_was_left_in_the_background_and_has_ended_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A zombie that its adopter has not reaped yet used to be told as running."""
    monkeypatch.setattr(processes, "QUIET", 0.5)

    how, said = await ended("sleep 0.02 & echo begun")

    assert said == "begun\n"
    assert (how.runs_on, how.heard_all) == (False, True)


@pytest.mark.slow
async def test_the_last_of_a_pipeline_gets_its_words_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "QUIET", 0.5)  # it ends when the last has spoken

    _, said = await ended("exec > >(sleep 0.05; cat); echo late")

    assert said == "late\n"


@pytest.mark.slow
async def test_as_long_as_the_last_of_a_pipeline_talks_it_is_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "QUIET", 0.5)
    monkeypatch.setattr(processes, "LINGER", 10)

    _, said = await ended("exec > >(for one in 1 2 3 4; do sleep 0.2; echo $one; done); true")

    assert said == "1\n2\n3\n4\n"


async def test_one_that_ended_before_it_was_cancelled_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It used to be told as stopped, with what it had left in the background running on."""
    any_runs, looked = processes._any_runs, threading.Event()

    def looking(group: int) -> bool:
        looked.set()
        return any_runs(group)

    monkeypatch.setattr(processes, "_any_runs", looking)
    heard = Heard()
    scope = trio.CancelScope()
    ended = list[Finished]()

    async def run() -> None:
        with scope:
            command = "sleep 300 >/dev/null 2>&1 & echo $!"
            ended.append(await run_group(["bash", "-c", command], cwd="/", take=heard.take))

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await until(looked.is_set)
            scope.cancel()
    os.kill(int(heard.data), signal.SIGKILL)
    assert [how.runs_on for how in ended] == [True]


async def test_what_nobody_takes_is_not_read() -> None:
    taken = list[int]()

    async def take(data: bytes) -> None:
        taken.append(len(data))
        await trio.sleep_forever()

    with nothing_left(), trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: run_group(["yes"], cwd="/", take=take))
            await until(lambda: taken != [])
            nursery.cancel_scope.cancel()
    assert len(taken) == 1


async def test_when_what_takes_it_fails_the_command_is_ended() -> None:
    async def take(data: bytes) -> None:
        raise ValueError(data.decode())

    with nothing_left(), trio.fail_after(10), pytest.RaisesGroup(pytest.RaisesExc(ValueError, match="said")):
        await run_group(["bash", "-c", "echo said; sleep 300"], cwd="/", take=take)


async def test_a_call_that_is_cancelled_before_it_begins_begins_nothing() -> None:
    heard = Heard()
    with nothing_left(), trio.CancelScope() as scope:
        scope.cancel()
        await run_group(["bash", "-c", "echo said"], cwd="/", take=heard.take)
    assert scope.cancelled_caught
    assert heard.data == b""
