"""A recording is the same whichever task of several goes on first, when it is made and when it is played (Z3).

trio draws the order of those that can go on together. Here it is drawn by a seed, one for the recording and others for what plays it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio._core import _run  # pyright: ignore[reportPrivateUsage] - trio has no public way to choose its order
from trio.testing import MockClock

import sapwood
from sapwood import CompactionSettings, Scripted, ScriptedAnswer, Session
from sapwood.actors.environment import Environment
from sapwood.events.content import ToolCall
from sapwood.events.ids import ToolCallId
from sapwood.recording.replaying import replay_recording
from tests.build import MODEL
from tests.sapwood.recording.recorded import SHIPPED, recorded

SEEDS: Final = range(4)
CROWDED: Final = ("all_at_once.yaml", "three_parallel_tools.yaml", "stopped_with_a_queue.yaml", "audit.yaml")
NAMES: Final = [f"t{n}" for n in range(4)]


@pytest.fixture(autouse=True)
def _any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that can go on is shuffled, and not only turned round now and then."""
    monkeypatch.setattr(_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)


def played(path: Path) -> None:
    for seed in SEEDS:
        _run._r.seed(seed)
        replayed = replay_recording(path)
        assert (replayed.difference, replayed.cut) == (None, False), seed


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CROWDED)
def test_a_story_is_reproduced_in_any_order(name: str, seed: int, tmp_path: Path) -> None:
    [story] = [path for path in SHIPPED if path.name == name]
    _run._r.seed(100 + seed)

    played(recorded(tmp_path, story))


async def slow(n: int) -> str:
    await trio.sleep(0.5)
    return "An oak."


def live(
    path: Path,
    seed: int,
    body: Callable[[Session], Awaitable[object]],
) -> None:
    """A session whose first answer calls all tools."""
    calls = tuple(ToolCall(id=ToolCallId(f"c-{name}"), name=name, arguments={"n": 1}) for name in NAMES)
    answers: Sequence[ScriptedAnswer] = [
        ScriptedAnswer(text="All at once.", calls=calls),
        *(ScriptedAnswer(text=f"Answer {n}.") for n in range(9)),
    ]

    async def main() -> None:
        async with sapwood.open_session(
            model=MODEL,
            providers=[Scripted({"turn": answers, "compaction": [ScriptedAnswer(text="A sum.")] * 3})],
            tools=[sapwood.tool(name=name)(slow) for name in NAMES],
            settings=sapwood.Settings(compaction=CompactionSettings(keep_recent_tokens=1)),
            environment=Environment.scripted(),
            record=path,
        ) as session:
            with trio.fail_after(60):
                await body(session)

    _run._r.seed(100 + seed)
    trio.run(main, clock=MockClock(autojump_threshold=0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_said_while_others_wait_for_their_turn_has_its_own_id(seed: int, tmp_path: Path) -> None:
    """Whoever waited had drawn its id before, and was noted behind: each was played with the id of another."""

    async def body(session: Session) -> None:
        async def marks() -> None:
            for n in range(4):
                await session.append_custom("mark", n)
                await trio.sleep(0.25)

        async def says(say: Callable[[str], object]) -> None:
            for n in range(4):
                say(f"{n}")
                await trio.sleep(0.25)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.prompt, "What is there?")
            nursery.start_soon(marks)
            nursery.start_soon(says, session.steer)
            nursery.start_soon(says, session.follow_up)
        await session.wait_idle()

    live(tmp_path / "r", seed, body)

    played(tmp_path / "r")


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_said_as_the_host_leaves_ends_as_it_did(seed: int, tmp_path: Path) -> None:
    """A replay held the session open to the end of the tape: what had ended with it went on."""

    async def body(session: Session) -> None:
        async def tries(work: Callable[[], Awaitable[Any]]) -> None:
            try:
                await work()
            except sapwood.SapwoodError:
                return

        await session.prompt("What is there?")
        await session.prompt("And there?")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tries, session.compact)
            nursery.start_soon(tries, lambda: session.prompt("Behind it?"))
            nursery.start_soon(tries, lambda: session.set_thinking_level("high"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tries, session.close)
            nursery.start_soon(tries, lambda: session.append_custom("mark"))
            session.steer("Wait.")

    live(tmp_path / "r", seed, body)

    played(tmp_path / "r")
