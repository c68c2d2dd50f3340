"""`sapwood chat` as a process, with its lines from a pipe."""

from __future__ import annotations

import json
import signal
from functools import partial
from pathlib import Path

import pytest
import trio

import sapwood
from sapwood.events.messages import AssistantMessage
from tests.sapwood.cli.talked import KEY, here, in_turn, parts, ran, refuses, says, started
from tests.serving import serving, streamed

pytestmark = pytest.mark.slow


async def test_a_line_in_is_an_answer_out_until_the_lines_end() -> None:
    async with serving(in_turn([says("An ", "oak."), says("A pine.\n")])) as server:
        done = await ran("chat", *here(server.url), given=b"Which tree?\n\n  \nA softer one?")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"An oak.\nA pine.\n", b"")
    assert len(server.requests) == 2
    assert b"An oak." in server.requests[1]


async def test_no_line_at_all_ends_well() -> None:
    done = await ran("chat", *here("http://127.0.0.1:1"))

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


async def test_commands_are_done_and_what_is_none_is_told(tmp_path: Path) -> None:
    lines = b"one\n//two\n/usage\n/tree\n/compact\n/move nowhere\n/mvoe\n/tree x\n/help\n/quit\nthree\n"
    async with serving(says("Aye.")) as server:
        done = await ran("chat", *here(server.url), "--session", str(tmp_path / "s.jsonl"), given=lines)

    out = done.stdout.decode().splitlines()
    assert done.returncode == 0
    assert out[:3] == ["Aye.", "Aye.", "context 0.1%/32000; 2 calls, 40 in, 6 out; cost unknown"]
    assert [" ".join(line.split()[2:4]) for line in out[4:8]] == [
        "user one",
        "assistant Aye.",
        "user /two",
        "assistant Aye.",
    ]
    assert out[8].startswith("/compact [instructions] sums up")
    assert done.stderr.decode().splitlines() == [
        "sapwood: compaction (as you asked): the past is being summed up",
        "sapwood: Nothing to compact (session too small)",
        "sapwood: 'nowhere': no entry has an id that begins so; /tree shows them",
        "sapwood: unknown command '/mvoe': did you mean '/move'?; a line that begins with // is said with one slash",
        "sapwood: /tree takes nothing behind it",
    ]
    assert len(server.requests) == 2


async def test_it_moves_and_goes_on_from_there(tmp_path: Path) -> None:
    file = str(tmp_path / "s.jsonl")
    async with serving(in_turn([says("An oak."), says("A pine.")])) as server:
        await ran("chat", *here(server.url), "--session", file, given=b"one\ntwo\n")
        with sapwood.read(file) as past:
            [first, answer, second, _] = [entry.id for entry in past.entries()]
        lines = f"/move {answer[:6]}\nthree\n/move {second}\n".encode()
        done = await ran("chat", *here(server.url), "--session", file, "--json", given=lines)

    moved, said, back = map(json.loads, done.stdout.splitlines())
    assert moved == {"moved": {"leaf": moved["moved"]["leaf"], "text": ""}}
    assert said["answer"] == "A pine."
    assert (back["moved"]["text"], done.returncode) == ("two", 0)
    assert b'"content":"two"' not in server.requests[2]
    assert b'"content":"one"' in server.requests[2]
    assert b"to be said otherwise: two" in done.stderr
    with sapwood.read(file) as past:
        assert past.entry(first) is not None


async def test_a_compaction_is_written_by_the_model(tmp_path: Path) -> None:
    long = "word " * 30_000
    file = str(tmp_path / "s.jsonl")
    async with serving(says("## Goal\nTrees.")) as server:
        options = [*here(server.url)[:-1], "200000"]
        lines = f"{long}\nshort\n{long}\n/compact The names of trees.\n/usage\n".encode()
        done = await ran("chat", *options, "--session", file, "--json", given=lines)

    *_, compacted, usage = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 0
    assert compacted["compacted"]["tokensAfter"] < 60_000
    assert usage["usage"]["window"] == 200_000
    assert any(b"The names of trees." in request for request in server.requests)
    assert b"sapwood: compacted: the summary stands for " in done.stderr


async def test_the_exit_code_is_that_of_the_last_answer() -> None:
    refused = refuses("401 Unauthorized", f"Incorrect API key provided: {KEY}")
    async with serving(in_turn([says("An oak."), refused])) as server:
        bad = await ran("chat", *here(server.url), "--key-env", "K", given=b"one\ntwo\n", K=KEY)
    async with serving(in_turn([refused, says("An oak.")])) as server:
        good = await ran("chat", *here(server.url), "--key-env", "K", given=b"one\ntwo\n", K=KEY)

    assert (bad.returncode, bad.stdout) == (1, b"An oak.\n")
    assert (good.returncode, good.stdout) == (0, b"An oak.\n")
    assert bad.stderr == good.stderr
    assert bad.stderr.startswith(b"sapwood: no answer: ")
    assert KEY.encode() not in bad.stdout + bad.stderr


async def test_an_interrupt_stops_the_answer_and_the_talk_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    plays = [streamed(parts("An o")[:1], then="stall"), says("A pine.")]
    async with serving(in_turn(plays)) as server, trio.open_nursery() as nursery:
        begin = partial(started, given=None)
        process = await nursery.start(begin, "chat", *here(server.url), "--session", str(file))
        with trio.fail_after(30):
            await process.stdin.send_all(b"one\n")
            assert await process.stdout.receive_some() == b"An o"
            process.send_signal(signal.SIGINT)
            await process.stdin.send_all(b"two\n")
            assert b"".join([await process.stdout.receive_some(), await process.stdout.receive_some()]) == b"\nA pine."
            await process.stdin.aclose()
            assert await process.wait() == 0

    with sapwood.read(str(file)) as past:
        [_, stopped, _, last] = [item.message for item in past.context().items]
    assert isinstance(stopped, AssistantMessage)
    assert isinstance(last, AssistantMessage)
    assert (stopped.stop_reason, last.stop_reason) == ("aborted", "stop")


async def test_an_interrupt_where_no_answer_is_on_ends_the_talk() -> None:
    async with serving(says("An oak.")) as server, trio.open_nursery() as nursery:
        process = await nursery.start(partial(started, given=None), "chat", *here(server.url))
        with trio.fail_after(30):
            await process.stdin.send_all(b"one\n/usage\n")
            said = b""
            while b"unknown\n" not in said:
                said += await process.stdout.receive_some()
            process.send_signal(signal.SIGINT)
            assert b"".join([piece async for piece in process.stderr]) == b"\n"
            assert await process.wait() == 130
