"""The model is told both ends of what a command said and how it ended, whatever became of it."""

from __future__ import annotations

import math
import os
import shutil
import signal
import tempfile
import threading
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from sapwood.actors.tools import bash, output, processes, spool
from sapwood.actors.tools.bash import MOST_SECONDS, TOLD_EVERY, run_bash
from sapwood.actors.tools.results import ToolResult
from sapwood.actors.tools.spool import Spool
from sapwood.actors.tools.tool import BadArguments
from sapwood.events.base import Json
from tests.actors.tools.calling import awaited, context, details, gone, nothing_left, refusal, text, until
from tests.build import call


@pytest.fixture(name="temporary", autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


async def ran(command: str, cwd: Path | str = "/", **arguments: object) -> ToolResult:
    with trio.fail_after(30), nothing_left():
        return await awaited(run_bash, context(cwd), command=command, **arguments)


async def test_a_command_that_worked_is_told_by_its_output_alone(tmp_path: Path) -> None:
    result = await ran("echo hello; echo there >&2", tmp_path)

    assert text(result) == "hello\nthere"
    assert not result.is_error
    assert details(result) == {
        "exitCode": 0,
        "timedOut": False,
        "bytes": 12,
        "lines": 2,
        "truncated": False,
        "fullOutputPath": None,
    }


async def test_silence_is_told() -> None:
    assert text(await ran("true")) == "[No output.]"


async def test_an_exit_code_is_told_and_is_an_error() -> None:
    result = await ran("echo no; exit 3")

    assert refusal(result) == "no\n[Exit code 3.]"
    assert details(result)["exitCode"] == 3
    assert refusal(await ran("exit 1")) == "[Exit code 1.]"


async def test_a_signal_is_told_by_its_name() -> None:
    assert refusal(await ran("kill -SEGV $$")) == "[Ended by SIGSEGV.]"
    assert refusal(await ran(f"kill -{signal.SIGRTMIN + 1} $$")) == f"[Ended by signal {signal.SIGRTMIN + 1}.]"


async def test_there_is_no_input() -> None:
    """Not ours either."""
    ours, (reading, writing) = os.dup(0), os.pipe()
    os.dup2(reading, 0)
    os.write(writing, b"for us\n")
    try:
        result = await ran("cat; read -p 'name? ' name || echo nobody")
    finally:
        os.dup2(ours, 0)
        for descriptor in (ours, reading, writing):
            os.close(descriptor)
    assert text(result) == "nobody"


async def test_what_is_for_a_terminal_is_left_out() -> None:
    assert text(await ran(r"printf '\e[1mbold\e[0m\a 10%%\r20%%\r\n'")) == "bold 10%\n20%"


async def test_binary_output_is_text_all_the_same() -> None:
    said = text(await ran("head -c 300000 /dev/zero | tr '\\0' '\\377'; printf '\\0\\1\\2end'"))

    assert said.partition("end")[1]
    assert not any(ord(one) < 32 for one in said.replace("\n", ""))


@pytest.mark.parametrize(
    ("command", "why"),
    [("echo \0", "there is a NUL in it"), ("echo \ud800", "there is half a character in it")],
)
async def test_what_is_no_command_is_refused(command: str, why: str) -> None:
    assert refusal(await ran(command)) == f"The command was not run: {why}."


async def test_a_command_that_looks_like_an_option_is_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusal(await ran("-c 1")).endswith("-c: command not found\n[Exit code 127.]")

    sh = shutil.which("sh")
    assert sh is not None
    (tmp_path / "sh").symlink_to(sh)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not found" in refusal(await ran("+e"))


async def test_a_shell_that_is_found_by_a_relative_path_is_the_one_that_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh = shutil.which("sh")
    assert sh is not None
    (tmp_path / "sh").symlink_to(sh)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")

    assert text(await ran("echo $0", "/")) == str(tmp_path / "sh")


async def test_a_command_that_is_too_long_for_the_system_is_refused() -> None:
    said = refusal(await ran("echo " + "x" * 200_000))

    assert said == (
        "The command was not run: 200,005 bytes are more than the system takes. Put it into a file, and run that."
    )


async def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "gone"

    assert refusal(await ran("true", folder)) == (
        f"The command was not run: the working folder {folder} cannot be entered: No such file or directory."
    )


async def test_without_bash_it_is_sh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("sh")
    assert real is not None
    (tmp_path / "sh").symlink_to(real)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert text(await ran("echo $0")) == str(tmp_path / "sh")


async def test_without_a_shell_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert refusal(await ran("true")) == (
        "The command was not run: there is neither bash nor sh on this machine's PATH."
    )


async def test_when_no_process_can_be_begun_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refusing(*given: Any, **more: Any) -> Any:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(bash, "run_group", refusing)

    assert refusal(await ran("true")) == "The command was not run: Resource temporarily unavailable."


@pytest.mark.slow
async def test_one_that_takes_too_long_is_ended_with_all_that_it_began_and_what_it_said_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "GRACE", 10)  # it ends when it is told to

    result = await ran("trap 'echo stopped; exit' TERM; sleep 300 & echo $!; echo ready; wait", timeout=1)

    pid, *said, note = refusal(result).split("\n")
    assert said == ["ready", "stopped"]
    assert note == "[Stopped after 1 s, with all that it began. It may have had effects in part.]"
    assert await gone([int(pid)])
    assert details(result)["timedOut"]
    assert details(result)["exitCode"] is None


@pytest.mark.parametrize("timeout", [0, -1, MOST_SECONDS + 1, "soon"])
def test_a_time_that_is_none_is_refused(timeout: object) -> None:
    with pytest.raises(BadArguments):
        run_bash.read(call("c1", "bash", command="true", timeout=timeout))


async def test_one_that_is_cancelled_leaves_nothing(temporary: Path) -> None:
    told = list[Json]()
    with trio.fail_after(10), nothing_left():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: awaited(run_bash, context("/", told), command="yes"))
            await until(lambda: [*temporary.iterdir()] != [])
            nursery.cancel_scope.cancel()
    assert [*temporary.iterdir()] == []


@pytest.mark.parametrize("call", ["write", "discard"])
async def test_one_that_is_cancelled_does_not_wait_for_a_disk(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answer = threading.Event(), threading.Event()

    def slow(spool: Spool, *given: bytes) -> None:
        asked.set()
        answer.wait(20)

    monkeypatch.setattr(Spool, call, slow)
    told = list[Json]()
    try:
        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lambda: awaited(run_bash, context("/", told), command="seq 1 20000; sleep 300"))
                await until(asked.is_set if call == "write" else lambda: told != [])
                nursery.cancel_scope.cancel()
    finally:
        answer.set()


async def test_what_came_in_small_pieces_is_in_the_file_from_the_first(temporary: Path) -> None:
    heard = bash._Heard(context("/"))
    pieces = [b"%d\n" % number for number in range(output.MOST_LINES + 10)]
    for piece in pieces:
        await heard.take(piece)
    heard.spool.close()

    [file] = temporary.iterdir()
    assert file.read_bytes() == b"".join(pieces)


async def test_what_it_leaves_in_the_background_is_told() -> None:
    said, note = text(await ran("sleep 300 & echo $!")).split("\n")

    assert note.startswith("[It left something in the background. kill -- -")
    assert note.endswith(" ends that. What it writes from now on is not read, and may end it.]")
    await ran(note.partition(". ")[2].partition(" ends")[0])
    assert await gone([int(said)])


async def test_what_it_leaves_out_of_reach_is_told() -> None:
    said, note = text(await ran("setsid sleep 300 & echo $!")).split("\n")

    os.kill(int(said), signal.SIGKILL)
    assert note == (
        "[It left something in the background, out of reach. What it writes from now on is not read, and may end it.]"
    )


async def test_of_long_output_both_ends_are_told_and_the_whole_is_in_a_file(temporary: Path) -> None:
    result = await ran("seq 1 20000; exit 1")

    [file] = temporary.iterdir()
    lines = refusal(result).split("\n")
    assert lines[:2] == ["1", "2"]
    assert "[... the middle of 20,000 lines, 108,894 bytes, is left out ...]" in lines
    assert lines[-3:] == ["20000", f"[The whole output is in {file}.]", "[Exit code 1.]"]
    assert file.read_text() == "".join(f"{number}\n" for number in range(1, 20001))
    assert details(result)["fullOutputPath"] == str(file)
    assert details(result)["truncated"]


async def test_a_file_of_what_is_shown_whole_after_all_is_not_kept(temporary: Path) -> None:
    result = await ran(r"printf '\e[1m%.0s' {1..10000}; echo bold")

    assert text(result) == "bold"
    assert not details(result)["truncated"]
    assert [*temporary.iterdir()] == []


async def test_what_grows_too_long_only_as_text_is_in_a_file_too(temporary: Path) -> None:
    result = await ran(f"head -c {output.MOST_BYTES} /dev/zero | tr '\\0' '\\377'")

    [file] = temporary.iterdir()
    assert file.read_bytes() == b"\xff" * output.MOST_BYTES
    assert text(result).endswith(f"[The whole output is in {file}.]")


async def test_when_the_file_is_full_that_is_told(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_BYTES", 100_000)

    result = await ran("seq 1 20000")

    [file] = temporary.iterdir()
    assert file.stat().st_size == 100_000
    assert text(result).endswith(f"20000\n[The beginning of the output is in {file}; the last 8,894 bytes are not.]")


async def test_when_there_can_be_no_file_that_is_told(temporary: Path) -> None:
    temporary.rmdir()

    result = await ran("seq 1 20000")

    assert text(result).endswith("20000\n[The whole output could not be kept: No such file or directory.]")
    assert details(result)["fullOutputPath"] is None


@pytest.mark.slow
async def test_one_who_floods_is_kept_on_disk_and_not_in_memory(temporary: Path) -> None:
    result = await ran("yes | head -c 100000000")

    [file] = temporary.iterdir()
    assert file.stat().st_size == 100_000_000
    assert len(text(result)) < output.MOST_BYTES
    assert details(result)["bytes"] == 100_000_000


async def test_those_who_watch_are_told_the_latest_lines() -> None:
    told = list[Any]()

    await awaited(run_bash, context("/", told), command="echo one; echo two")

    assert told[-1]["output"].splitlines()[0] == "one"
    assert set(told[-1]) == {"output", "lines", "bytes"}


async def test_those_who_watch_are_told_no_more_often_than_they_can_read(
    autojump_clock: trio.testing.MockClock,
) -> None:
    told = list[Json]()
    heard = bash._Heard(context("/", told))
    with trio.move_on_after(10 * TOLD_EVERY):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(heard.tell)
            await trio.testing.wait_all_tasks_blocked()
            assert told == []
            for number in range(math.ceil(10 / 0.01)):
                await heard.take(b"%d\n" % number)
                await trio.sleep(TOLD_EVERY / 100)

    assert len(told) == 10


async def test_those_who_watch_are_told_nothing_while_there_is_nothing_new(
    autojump_clock: trio.testing.MockClock,
) -> None:
    told = list[Json]()
    heard = bash._Heard(context("/", told))
    with trio.move_on_after(10 * TOLD_EVERY):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(heard.tell)
            await heard.take(b"once")

    assert told == [{"output": "once", "lines": 1, "bytes": 4}]


async def test_what_a_watcher_raises_ends_the_command() -> None:
    def fails(news: Json) -> None:
        raise ValueError(news)

    ctx = attrs.evolve(context("/"), progress=fails)
    with trio.fail_after(10), nothing_left(), pytest.RaisesGroup(pytest.RaisesExc(ValueError)):
        await awaited(run_bash, ctx, command="echo said; sleep 300")


def test_the_model_is_told_the_limits_that_hold() -> None:
    assert f"{output.MOST_LINES:,} lines or {output.MOST_BYTES >> 10} KiB" in run_bash.description
    assert run_bash.mode == "parallel"
