"""The outside world, real and scripted."""

from __future__ import annotations

import time

import trio
import trio.testing

from sapwood.actors.environment import Environment


def test_the_real_world_has_the_real_time_and_chance() -> None:
    environment = Environment()

    assert abs(environment.now_ms() - time.time() * 1000) < 60_000
    assert len(environment.random(8)) == 8
    assert environment.random(8) != environment.random(8)


async def test_the_scripted_world_is_the_same_each_time(autojump_clock: trio.testing.MockClock) -> None:
    first, again, other = Environment.scripted(1), Environment.scripted(1), Environment.scripted(2)

    assert first.timestamp() == "2026-01-01T00:00:00.000Z"
    assert first.random(4) == again.random(4) != other.random(4)

    await trio.sleep(1.5)

    assert first.timestamp() == "2026-01-01T00:00:01.500Z"


async def test_blocking_work_goes_to_a_thread_and_in_a_scripted_world_is_done_in_place() -> None:
    import threading

    here = threading.get_ident()

    assert await Environment().run_sync(threading.get_ident) != here
    assert await Environment.scripted().run_sync(threading.get_ident) == here


async def test_a_client_reads_no_environment_variable() -> None:
    async with Environment().http() as client:
        assert client.trust_env is False
