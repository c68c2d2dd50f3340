"""A stub server that speaks OpenAI's Chat Completions, and the command line as a process that talks to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio

from tests.serving import CHUNKED, Play, chunked, head, streamed, whole
from tests.wires import chunk, sse

ROOT = Path(__file__).parents[3]
KEY = "sk-very-secret-0123456789"


def parts(*texts: str, finish: str = "stop", calls: Sequence[dict[str, Any]] = ()) -> list[bytes]:
    """An answer as it is sent, piece by piece."""
    asked = [
        sse(chunk({"tool_calls": [{"index": index, "id": f"c{index}", "type": "function", "function": call}]}))
        for index, call in enumerate(calls)
    ]
    end = sse(chunk({}, "tool_calls" if calls else finish), chunk(usage={"prompt_tokens": 20, "completion_tokens": 3}))
    return [*(sse(chunk({"content": text})) for text in texts), *asked, end, sse("[DONE]")]


def says(*texts: str) -> Play:
    """An answer of these pieces."""
    return streamed(parts(*texts))


def slowly(text: str) -> Play:
    """The same text again and again, for as long as somebody listens."""

    async def play(stream: trio.SocketStream) -> None:
        await stream.send_all(head("200 OK", CHUNKED))
        while True:
            await stream.send_all(chunked(sse(chunk({"content": text}))))
            await trio.sleep(0.01)

    return play


def in_turn(plays: Iterable[Play]) -> Play:
    """One play for each request; the last one goes on for ever."""
    left = list(plays)

    async def play(stream: trio.SocketStream) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(stream)

    return play


def refuses(status: str, message: str) -> Play:
    """An error as servers send them."""
    return whole(json.dumps({"error": {"message": message}}).encode(), status, kind="application/json")


def words(*args: str) -> list[str]:
    return [sys.executable, "-m", "sapwood", *args]


def here(url: str) -> list[str]:
    """The options that name a stub."""
    return ["--model", "here/small", "--base-url", f"{url}/v1", "--window", "32000"]


async def ran(*args: str, given: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
    """The command line as a process, to its end."""
    with trio.fail_after(60):
        return await trio.run_process(
            words(*args),
            stdin=given,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            cwd=ROOT,
            env={**os.environ, **more},
        )


async def started(
    *args: str, task_status: trio.TaskStatus[trio.Process], stdout: int | None = None, given: bytes | None = b""
) -> None:
    """A process whose streams are ours: but for a standard output that is named, and an input that is given."""
    run = partial(
        trio.run_process,
        words(*args),
        check=False,
        cwd=ROOT,
        stdin=subprocess.PIPE if given is None else given,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
    )
    await run(task_status=task_status)
