"""`sapwood run` as a process, against a server on this machine."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path

import pytest
import trio

import sapwood
from sapwood.events.messages import AssistantMessage
from tests.sapwood.cli.talked import KEY, here, in_turn, parts, ran, refuses, says, slowly, started
from tests.serving import serving, streamed, whole

pytestmark = pytest.mark.slow


async def test_an_answer_is_printed_and_nothing_else() -> None:
    async with serving(says("An ", "oak.")) as server:
        done = await ran("run", "Which tree?", *here(server.url))

    assert (done.returncode, done.stdout, done.stderr) == (0, b"An oak.\n", b"")
    [request] = server.requests
    assert b'"content":"Which tree?"' in request
    assert b"authorization" not in request.lower()


async def test_it_is_printed_as_it_comes() -> None:
    async with serving(streamed(parts("An ", "oak.")[:1], then="stall")) as server, trio.open_nursery() as nursery:
        process = await nursery.start(started, "run", "Which tree?", *here(server.url))
        with trio.fail_after(20):
            assert await process.stdout.receive_some() == b"An "
        process.kill()


async def test_the_prompt_may_come_from_a_pipe() -> None:
    async with serving(says("An oak.")) as server:
        done = await ran("run", "-", *here(server.url), given="Søm?".encode())

    assert done.returncode == 0
    assert '"content":"Søm?"'.encode() in server.requests[0]


async def test_a_session_is_gone_on_with(tmp_path: Path) -> None:
    file = str(tmp_path / "trees.jsonl")
    async with serving(in_turn([says("An oak."), says("A pine.")])) as server:
        first = await ran("run", "Which tree?", *here(server.url), "--session", file)
        second = await ran("run", "A softer one?", *here(server.url), "--session", file, "--json")

    assert (first.returncode, second.returncode) == (0, 0)
    assert b"An oak." in server.requests[1]
    told = json.loads(second.stdout)
    assert (told["answer"], told["stopReason"], told["failed"], told["session"]) == ("A pine.", "stop", False, file)
    assert (told["model"], told["usage"]["calls"], told["usage"]["total"]) == ("here/small", 2, 46)
    with sapwood.read(file) as past:
        assert told["entryId"] in [entry.id for entry in past.entries()]


EXTENSION = """
import sapwood
from sapwood.events.hooks import ChangeInput, InputReceived

extension = sapwood.Extension("shout")


@extension.on(InputReceived)
def louder(question: InputReceived, context: sapwood.ExtensionContext) -> ChangeInput:
    return ChangeInput(text=question.text.upper())
"""


async def test_extensions_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "shout.py").write_text(EXTENSION, encoding="utf-8")
    async with serving(says("An oak.")) as server:
        done = await ran("run", "Which tree?", *here(server.url), "--extension", str(tmp_path / "shout.py"))
        missing = await ran("run", "Which tree?", *here(server.url), "--extension", str(tmp_path / "none.py"))

    assert (done.returncode, done.stdout, done.stderr) == (0, b"An oak.\n", b"")
    assert b"WHICH TREE?" in server.requests[0]
    assert (missing.returncode, len(server.requests)) == (2, 1)
    assert b"none.py cannot be loaded: no such file" in missing.stderr


async def test_tools_are_told_beside_the_answer_and_do_not_inherit_the_key(tmp_path: Path) -> None:
    call = {"name": "bash", "arguments": json.dumps({"command": "echo key=$K; exit 3"})}
    plays = [streamed(parts("Let me look.", calls=[call])), says("Done.")]
    async with serving(in_turn(plays)) as server:
        done = await ran(
            "run", "Which key?", *here(server.url), "--tools", "builtin", "--key-env", "K", "--session",
            str(tmp_path / "s.jsonl"), K=KEY,
        )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, b"Let me look.\nDone.\n")
    told = done.stderr.decode().splitlines()
    assert told[0] == "sapwood: bash: echo key=$K; exit 3"
    assert told[1].startswith("sapwood: bash failed: key=")
    assert f"Bearer {KEY}".encode() in server.requests[0]
    assert b"key=" in server.requests[1]
    left = b"".join(
        [done.stdout, done.stderr, (tmp_path / "s.jsonl").read_bytes(), server.requests[1].split(b"\r\n\r\n")[1]]
    )
    assert KEY.encode() not in left


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["--model", "openai/gpt-4.1"],
            "openai wants a key: export it in an environment variable and name that, such as --key-env OPENAI_API_KEY",
        ),
        (["--model", "openai/gpt-4.1", "--key-env", "NO_SUCH"], "NO_SUCH is not set, or empty: export it first, with the key in it"),
        (
            ["--model", "openai/gpt-4.1", "--key-env", KEY],
            "--key-env takes the name of an environment variable, such as OPENAI_API_KEY, not a key",
        ),
        (
            ["--model", "google/gemini-2.5-pro", "--key-env", "AIzaSecret"],
            "the variable that --key-env names is not set, or empty: export it first, with the key in it",
        ),
        (
            ["--model", "openai/gpt-4.2", "--key-env", "K"],
            "the window of 'openai/gpt-4.2' is not known, so say it with --window N, in tokens: did you mean 'openai/gpt-4.1'?",
        ),
        (
            ["--model", "opnai/gpt-4.1"],
            "--base-url URL names a server of your own; no provider is called 'opnai': did you mean 'openai'?",
        ),
        (["--model", "gpt-4.1"], "a model is named provider/id, such as openai/gpt-4.1, not 'gpt-4.1'"),
        (
            ["--model", "a/b", "--base-url", "here"],
            "base_url is an address that begins with https:// or http://, not 'here'",
        ),
    ],
)  # fmt: skip
async def test_what_cannot_be_asked_is_one_line_and_exit_code_2(args: list[str], told: str) -> None:
    done = await ran("run", "Which tree?", *args, K=KEY)

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"sapwood: {told}\n"


async def test_a_key_that_nobody_named_is_not_read() -> None:
    done = await ran("run", "Which tree?", "--model", "openai/gpt-4.1", OPENAI_API_KEY=KEY)

    assert done.returncode == 2
    assert KEY.encode() not in done.stdout + done.stderr


async def test_nothing_to_say_is_wrong_use_and_no_session_has_its_code(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("{}\n")
    empty = await ran("run", "", *here("http://127.0.0.1:1"))
    other = await ran("run", "Which tree?", *here("http://127.0.0.1:1"), "--session", str(tmp_path / "notes.txt"))

    assert (empty.returncode, empty.stdout) == (2, b"")
    assert (other.returncode, other.stdout) == (4, b"")
    assert empty.stderr.count(b"\n") == other.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (refuses("401 Unauthorized", f"Incorrect API key provided: {KEY}"), "[key]"),
        (refuses("404 Not Found", "no such model: small"), "no such model: small"),
        (whole(b"<html>404</html>", "404 Not Found", kind="text/html"), "404"),
        (whole(b"\x00\xff garbage\n\n\x1b[31m" * 9, "400 Bad Request", kind="text/plain"), "400"),
    ],
    ids=["key", "model", "page", "garbage"],
)
async def test_an_answer_that_failed_is_told_with_exit_code_1_and_without_the_key(
    play: object, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    async with serving(play) as server:  # type: ignore[arg-type] # parametrized
        done = await ran(
            "run", "Which tree?", *here(server.url), "--key-env", "K", "--session", str(file), "--json", K=KEY
        )

    told = json.loads(done.stdout)
    assert (done.returncode, told["failed"], told["stopReason"]) == (1, True, "error")
    assert why in told["error"]
    [line] = done.stderr.decode().splitlines()
    assert line.startswith("sapwood: no answer: ")
    assert why in line
    assert line.isprintable()
    assert KEY.encode() not in done.stdout + done.stderr + file.read_bytes()


async def test_further_attempts_are_told_and_begin_a_line() -> None:
    plays = [streamed(parts("An o")[:1], then="cut"), says("An oak.")]
    async with serving(in_turn(plays)) as server:
        done = await ran("run", "Which tree?", *here(server.url))

    assert (done.returncode, done.stdout) == (0, b"An o\nAn oak.\n")
    [line] = done.stderr.decode().splitlines()
    assert line.startswith("sapwood: another attempt (1 of 3) in ")


@pytest.mark.parametrize("play", ["down", "silent", "talking"])
async def test_an_interrupt_stops_it_once_and_what_came_is_kept(play: str, tmp_path: Path) -> None:
    """Of a server that is down the wait for the next attempt ends as well."""
    file = tmp_path / "s.jsonl"
    asked = trio.Event()

    async def stalls(stream: trio.SocketStream) -> None:
        asked.set()
        await streamed(parts("An o")[: int(play == "talking")], then="stall")(stream)

    async with serving(stalls) as server, trio.open_nursery() as nursery:
        url = "http://127.0.0.1:1" if play == "down" else server.url
        process = await nursery.start(started, "run", "Which tree?", *here(url), "--session", str(file))
        with trio.fail_after(30):
            if play == "down":
                assert b"another attempt" in await process.stderr.receive_some()
            elif play == "talking":
                assert await process.stdout.receive_some() == b"An o"
            else:
                await asked.wait()
            process.send_signal(signal.SIGINT)
            said = b"".join([piece async for piece in process.stderr])
            assert await process.wait() == 1

    assert said == b"sapwood: stopping: what there is of the answer is kept\nsapwood: stopped\n"
    with sapwood.read(str(file)) as past:
        last = past.context().items[-1].message
    assert isinstance(last, AssistantMessage)
    assert last.stop_reason == ("error" if play == "down" else "aborted")
    if play == "talking":
        assert last.content == (sapwood.TextContent(text="An o"),)


async def test_a_reader_that_goes_away_stops_the_answer_quietly(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    async with serving(slowly("line\n")) as server, trio.open_nursery() as nursery:
        process = await nursery.start(started, "run", "Which tree?", *here(server.url), "--session", str(file))
        with trio.fail_after(30):
            assert (await process.stdout.receive_some()).startswith(b"line\n")
            await process.stdout.aclose()
            said = b"".join([piece async for piece in process.stderr])
            assert (await process.wait(), said) == (1, b"")

    with sapwood.read(str(file)) as past:
        [_, kept] = past.context().items
    assert isinstance(kept.message, AssistantMessage)
    assert kept.message.stop_reason == "aborted"


async def test_an_output_that_is_full_is_told_with_exit_code_2() -> None:
    async with serving(says("An oak.")) as server, trio.open_nursery() as nursery:
        full = os.open("/dev/full", os.O_WRONLY)
        process = await nursery.start(partial(started, stdout=full), "run", "Which tree?", *here(server.url))
        os.close(full)
        said = b"".join([piece async for piece in process.stderr])
        assert await process.wait() == 2

    assert said == b"sapwood: the standard output cannot be written: no space left on device\n"


async def test_what_a_model_says_does_not_steer_the_terminal() -> None:
    async with serving(says("one\r", "\ntwo\x1b[31m\x07")) as server:
        done = await ran("run", "Which tree?", *here(server.url))

    assert done.stdout.decode() == "one\ntwo�[31m�\n"
