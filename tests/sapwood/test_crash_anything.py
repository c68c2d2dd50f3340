"""Each actor crashes at each message of a story, each operation at its start and its end, the process at each append: the log is the
same, or an interrupted one that the next prompt takes up (Z4, R5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs
import pytest
import trio
import trio.testing

from sapwood import Delivered, Scripted
from sapwood.actors.kernel import Tap
from sapwood.actors.kernel.testing import Counting, Seeded
from sapwood.actors.tools.hooks import UNGUARDED
from sapwood.actors.tools.results import BROKEN, INTERRUPTED, LEFT_BEHIND, UNSTARTED
from sapwood.events.codec import decode_entry
from sapwood.events.content import ToolCall
from sapwood.events.entries import Entry, MessageEntry
from sapwood.events.messages import AssistantMessage, ToolResultMessage
from tests.build import words
from tests.sapwood.playing import Seen, guard, play
from tests.sapwood.programs import Program, Stop
from tests.sapwood.stories import STORIES, under
from tests.talking import talking

ONE_IN: Final = 9
"""Of the strikes of a story, the ordinary run tries one in so many; the others are tried in the full one."""
BROKEN_OFF: Final = frozenset({"", "so be it", UNGUARDED, BROKEN, INTERRUPTED, LEFT_BEHIND, UNSTARTED})
"""What there may be in an interrupted log, besides what is in a whole one; "so be it" is what the model says next."""
NOT_RUN: Final = "the call was not run: the extension 'guard', which decides on it, failed"


def run(program: Program) -> Seen:
    return trio.run(play, program, clock=trio.testing.MockClock(autojump_threshold=0))


def said(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Who said what, up to the prompts that a story goes on with."""
    told: list[tuple[str, str]] = []
    for entry in entries:
        if isinstance(entry, MessageEntry) and entry.message.role != "system":
            if words(entry.message).startswith("p-last"):
                break
            told.append((entry.message.role, words(entry.message)))
    return told


def texts(told: Sequence[tuple[str, str]]) -> set[str]:
    return {text for _, text in told}


def unstopped(story: Program) -> Program:
    """Where nobody aborts: the abort itself may be what breaks."""
    return attrs.evolve(story, steps=tuple(step for step in story.steps if not isinstance(step, Stop)))


def strikes(story: Program) -> Sequence[Tap]:
    """Everything that can be struck in it."""
    counting = Counting()
    run(under(story, counting))
    return counting.strikes()


def check_strikes(name: str, struck: Sequence[Tap]) -> None:
    story = STORIES[name]
    whole = said(run(story).entries)
    known = {*BROKEN_OFF, *texts(whole), *texts(said(run(unstopped(story)).entries))}
    for tap in struck:
        try:
            left = said(run(under(story, tap)).entries)
            assert left == whole or {text for text in texts(left) if not text.startswith(NOT_RUN)} <= known
        except BaseException as fault:
            fault.add_note(f"it was {name!r} under {tap}")
            raise


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_a_crash_leaves_a_log_that_the_next_prompt_takes_up(name: str) -> None:
    struck = strikes(STORIES[name])

    assert len(struck) > ONE_IN
    check_strikes(name, struck[len(name) % ONE_IN :: ONE_IN])


@pytest.mark.full
@pytest.mark.parametrize("part", range(ONE_IN))
@pytest.mark.parametrize("name", STORIES)
def test_a_crash_anywhere_leaves_a_log_that_the_next_prompt_takes_up(name: str, part: int) -> None:
    check_strikes(name, strikes(STORIES[name])[part::ONE_IN])


@pytest.mark.parametrize("name", sorted(STORIES.keys() - {"meddling"}))  # a tool does not wait until it has steered
def test_every_order_ends_in_the_same_log(name: str) -> None:
    """Results that come at the same time may be recorded in either order."""
    story = STORIES[name]
    whole = Counter(said(run(story).entries))

    for seed in range(6):
        assert Counter(said(run(under(story, Seeded(seed))).entries)) == whole, seed


def open_calls(messages: Sequence[object]) -> set[str]:
    """Calls without a result, of what a model is sent."""
    calls: set[str] = set()
    for message in messages:
        match message:
            case AssistantMessage(content=content):
                calls |= {block.id for block in content if isinstance(block, ToolCall)}
            case ToolResultMessage(tool_call_id=call_id):
                assert call_id in calls
                calls.discard(call_id)
            case _:
                pass
    return calls


async def check_death(path: Path, lines: Sequence[bytes]) -> None:
    """The process died behind these lines: what was open of it is gone."""
    path.write_bytes(b"".join(lines))
    async with talking("here I am", where=str(path), extensions=[guard()]) as session:
        assert session.state == "idle"
        assert len(session.entries()) == len(lines) - 1
        assert session.damage == ()
        with trio.fail_after(60):
            outcome = await session.prompt("go on")
        assert isinstance(outcome, Delivered)
        assert outcome.answer is not None
        assert not outcome.failed
        provider = session._wiring.providers["scripted"]
        assert isinstance(provider, Scripted)
        assert not open_calls(provider.requests[-1].messages), "open calls are closed on the way out"
    again = path.read_bytes().splitlines(keepends=True)
    assert again[: len(lines)] == list(lines), "what is in a log stays as it is"
    entries = [decode_entry(line) for line in again[1:]]
    assert len({entry.id for entry in entries}) == len(entries)
    last = [words(entry.message) for entry in entries[-2:] if isinstance(entry, MessageEntry)]
    assert last == ["go on", "here I am"]


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
async def test_memory_may_be_dropped_behind_each_append(
    name: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = tmp_path / "s.jsonl"
    seen = await play(STORIES[name], where=str(path))
    lines = path.read_bytes().splitlines(keepends=True)

    assert len(lines) == len(seen.entries) + 1 > 3
    for count in range(1, len(lines) + 1):
        await check_death(tmp_path / f"{count}.jsonl", lines[:count])
