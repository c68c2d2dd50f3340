"""Whether the next prompt takes a session up."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio.testing

from sapwood.events.messages import Message
from sapwood.scenario import Played, load
from sapwood.scenario.running import run
from sapwood.scenario.scripting import Script
from sapwood.scenario.taking_up import NEXT_ANSWER, NEXT_PROMPT, TakenUp, _open_call, take_up
from sapwood.session import Session
from tests import build
from tests.build import words
from tests.sapwood.scenario.stories import TALK, written


async def taken_up(path: Path) -> tuple[Played, TakenUp]:
    found: list[TakenUp] = []

    async def then(session: Session, script: Script) -> None:
        found.append(await take_up(session, script))

    played = await run(load(path), then=then)
    return played, found[0]


async def test_a_whole_story_is_taken_up(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    played, taken = await taken_up(written(tmp_path, TALK))

    assert taken.fault is None
    assert taken.left == played.entries
    said = [words(entry.message) for entry in taken.entries[2:]]  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    assert said == [NEXT_PROMPT, NEXT_ANSWER]


async def test_what_runs_is_waited_for_and_what_is_left_of_the_script_is_not_played(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    text = TALK.replace("prompt", "submit").replace('"Fine, thanks."', "Fine., wait: 9}, {text: Never said.")

    _, taken = await taken_up(written(tmp_path, text))

    assert taken.fault is None
    assert len(taken.left) == 2
    assert words(taken.entries[-1].message) == NEXT_ANSWER  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


async def test_a_session_that_cannot_be_prompted_is_told(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    text = TALK.replace("prompt", "submit").replace('"Fine, thanks."', "Late., wait: 100000")

    _, taken = await taken_up(written(tmp_path, text))

    assert taken.fault == "the session stays in the state 'run'"
    assert taken.left == taken.entries


@pytest.mark.parametrize(
    ("roles", "fault"),
    [
        ("call result", None),
        ("call", "the model is sent a call without a result: 'c1'"),
        ("result", "the model is sent a result for 'c1', which it has not called"),
    ],
)
def test_open_calls_are_seen_in_what_a_model_is_sent(roles: str, fault: str | None) -> None:
    both: dict[str, Message] = {
        "call": build.assistant(build.call("c1")),
        "result": build.result("c1"),
    }

    assert _open_call([both[role] for role in roles.split()]) == fault
