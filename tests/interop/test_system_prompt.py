"""A prompt that we recorded, turn by turn, is for the real Pi what it is for us."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from sapwood import SectionContext, SystemPrompt
from sapwood.actors.projection.system_prompt import replay
from tests.pi.install import PiUnavailable
from tests.pi.oracle import Oracle
from tests.talking import talking

pytestmark = pytest.mark.interop


@pytest.fixture(name="pi", scope="module")
def _pi() -> Generator[Oracle]:
    try:
        with Oracle() as oracle:
            yield oracle
    except PiUnavailable as unavailable:
        pytest.skip(f"the real Pi is not here: {unavailable.reason}")


async def test_pi_replays_our_changes_to_the_same_prompt(pi: Oracle, tmp_path: Path) -> None:
    path = str(tmp_path / "s.jsonl")
    moods: list[str | None] = ["calm", "brisk", None, "calm"]
    to_come = iter(moods)

    def mood(context: SectionContext) -> str | None:
        return next(to_come)

    prompt = SystemPrompt(
        preamble="You help.", sections={"mood": mood, "rules": "Be kind."}, skills={"ring": "How to"}, cwd=True
    )
    async with talking(*"abcd", where=path, system_prompt=prompt) as session:
        for _ in moods:
            await session.prompt("hi")

            seen = cast("dict[str, Any]", pi.ask({"op": "open", "path": path})["systemPrompt"])
            ours = replay(session.context().messages)
            assert json.loads(msgspec.json.encode(ours)) == seen
            assert ours is not None
            assert list(ours.sections or {}) == list(seen["sections"])
