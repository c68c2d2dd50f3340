"""A server as a child process: up, or gone. The children are scripts that play one; the real one is in tests/live."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio

import sapwood
from sapwood.local.errors import LocalModelMissing, LocalServerFailed
from sapwood.local.starting import LocalServer, LocalWire, child, local_model, local_server

pytestmark = pytest.mark.slow  # each starts a process

SAYS = "import json, os, sys; print(json.dumps({'url': 'http://127.0.0.1:1', 'pid': os.getpid()}), flush=True)\n"
WAITS = "import time; time.sleep(600)\n"


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_it_is_there_for_the_block_and_gone_behind_it() -> None:
    async with child(script(SAYS + WAITS), start_limit=30) as up:
        assert up.url == "http://127.0.0.1:1"
        assert is_there(up.pid)
        assert os.getsid(up.pid) == up.pid  # Ctrl-C at the terminal is not for it
    assert not is_there(up.pid)


async def test_its_input_stays_open_as_long(tmp_path: Path) -> None:
    """It is how it learns that whoever started it is gone."""
    async with child(script(SAYS + f"sys.stdin.read(); open({str(tmp_path / 'ended')!r}, 'w')"), start_limit=30) as up:
        await trio.sleep(0.2)
        assert is_there(up.pid)
        assert not (tmp_path / "ended").exists()


async def test_it_is_gone_when_the_block_fails_or_is_cancelled() -> None:
    pids: list[int] = []

    async def fails() -> None:
        async with child(script(SAYS + WAITS), start_limit=30) as up:
            pids.append(up.pid)
            raise KeyError

    with pytest.raises(KeyError):
        await fails()
    with trio.CancelScope() as scope:
        async with child(script(SAYS + WAITS), start_limit=30) as up:
            pids.append(up.pid)
            scope.cancel()
            await trio.sleep_forever()

    assert len(pids) == 2
    assert not any(map(is_there, pids))


async def refused(text: str, start_limit: float = 30) -> LocalServerFailed:
    with pytest.raises(LocalServerFailed) as caught:
        async with child(script(text), start_limit=start_limit):
            raise AssertionError("it is not up")
    return caught.value


async def test_one_that_ends_before_it_is_up_is_told_with_its_code_and_the_end_of_its_log() -> None:
    error = await refused("import sys; sys.stderr.write('x' * 5000 + ' no such\\n luck\\n'); sys.exit(3)")

    assert error.why == "ended before it was up (exit code 3)"
    assert error.log.endswith("x no such luck")
    assert len(error.log) <= 600


async def test_one_that_closes_its_output_and_goes_on_is_not_waited_for_for_ever() -> None:
    error = await refused("import os, time; os.close(1); time.sleep(600)", start_limit=1)

    assert error.why == "was not up within 1 s"


async def test_one_that_says_nothing_is_gone_after_the_limit(tmp_path: Path) -> None:
    own = f"import os; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
    error = await refused(own + "print('{', end='', flush=True)\n" + WAITS, start_limit=1)

    assert error.why == "was not up within 1 s"
    assert not is_there(int((tmp_path / "pid").read_text()))


async def test_one_that_is_cancelled_on_its_way_up_is_gone(tmp_path: Path) -> None:
    own = f"import os; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _stop() -> None:
                while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():  # noqa: ASYNC110 - a process makes it
                    await trio.sleep(0.01)
                scope.cancel()

            async with child(script(own + WAITS), start_limit=30):
                raise AssertionError("it is not up")

    assert not is_there(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("said", ["hello", "{}", '{"url": 1, "pid": 2}', "x" * 10_000])
async def test_one_that_says_something_else_is_refused(said: str) -> None:
    error = await refused(f"print({said!r}, flush=True)\n" + WAITS)

    assert error.why == "did not say where it listens"
    assert said[:20] in error.log


async def test_without_the_extra_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    with pytest.raises(LocalModelMissing, match="uv sync --extra local"):
        async with local_server():
            raise AssertionError("it is not up")


@pytest.mark.parametrize("window", [255, 8_193, 1024.0, True, "1024"])
async def test_a_window_that_it_does_not_hold_is_refused(window: object) -> None:
    with pytest.raises(sapwood.Refused, match="holds 256 to 8192 tokens, not"):
        async with local_server(window=window):  # type: ignore[arg-type] # what a host may hand in
            raise AssertionError("it is not up")


@pytest.mark.parametrize(
    ("wire", "at"),
    [
        ("openai-completions", "http://127.0.0.1:1/v1"),
        ("openai-responses", "http://127.0.0.1:1/v1"),
        ("anthropic-messages", "http://127.0.0.1:1"),
    ],
)
def test_each_wire_has_a_provider_that_models_find_and_that_wants_no_key(wire: LocalWire, at: str) -> None:
    server = LocalServer("http://127.0.0.1:1", local_model(512), 1)
    provider = server.provider(wire)

    assert (provider.id, provider.api) == (server.model.provider, wire)
    assert f" at {at}, key: none" in repr(provider)


def test_the_model_costs_nothing_and_has_a_limit_to_each_answer() -> None:
    model = local_model(512)

    assert (model.context_window, model.max_output) == (512, 512)
    assert model.price == sapwood.Price(input=0, output=0, cache_read=0, cache_write=0)
