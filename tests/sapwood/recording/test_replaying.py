"""A recording, done again: the same byte for byte, or told where not (Z3)."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

import sapwood
from sapwood import Extension, Scripted, ScriptedAnswer, SystemPrompt
from sapwood.actors.kernel import Published
from sapwood.events.content import ToolCall
from sapwood.events.entries import Replacement
from sapwood.events.hooks import Block, Cancel, SessionBeforeFork, ToolCallQuestion
from sapwood.events.ids import ToolCallId
from sapwood.events.runtime import ToolExecutionUpdate
from sapwood.recording.errors import BadRecording
from sapwood.recording.replaying import replay_recording
from tests.build import MODEL
from tests.sapwood.recording.recorded import SHIPPED, recorded


@pytest.mark.slow
@pytest.mark.parametrize("story", SHIPPED, ids=lambda path: path.name)
def test_a_story_that_ships_is_reproduced_byte_for_byte(story: Path, tmp_path: Path) -> None:
    path = recorded(tmp_path, story)

    for part in sorted(tmp_path.glob("*.recording*")):
        replayed = replay_recording(part)
        assert (replayed.difference, replayed.cut) == (None, False), part
    assert path.stat().st_mode & 0o777 == 0o600


DYING = """\
title: Two sessions, one behind the other
answers:
  turn: [{text: One., wait: 5}, {text: Two.}]
steps:
  - {submit: Hello., outcome: lost}
  - pass: 1
  - kill: true
  - crash: inbox
  - prompt: Again.
  - reopen: true
"""


def test_each_session_of_a_story_has_its_recording(tmp_path: Path) -> None:
    path = recorded(tmp_path, DYING)

    names = [one.name for one in sorted(tmp_path.glob("*.recording*"))]
    assert names == [path.name, f"{path.name}.2", f"{path.name}.3"]
    for name in names:
        assert replay_recording(tmp_path / name).same


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def rewritten(path: Path, at: int, line: bytes) -> None:
    every = path.read_bytes().splitlines(keepends=True)
    every[at] = line
    path.write_bytes(b"".join(every))


def test_a_byte_of_an_event_that_is_another_one_is_told_at_that_event(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    for at, line in enumerate(lines(path)):
        if line.get("kind") not in {"event", "entry"}:
            continue
        whole = path.read_bytes()
        own = whole.splitlines(keepends=True)[at]
        place = own.index(b'\\"type\\":\\"') + len(b'\\"type\\":\\"')
        rewritten(path, at, own[:place] + bytes([own[place] ^ 1]) + own[place + 1 :])

        difference = replay_recording(path).difference

        assert difference is not None
        assert difference.line == at + 1
        assert difference.expected != difference.seen
        path.write_bytes(whole)


def test_a_byte_of_what_the_model_said_is_told_at_the_event_that_tells_of_it(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    [at] = [at for at, line in enumerate(lines(path)) if "thanks." in str(line) and line.get("kind") == "came"][:1]
    rewritten(path, at, path.read_bytes().splitlines(keepends=True)[at].replace(b"thanks", b"thanke"))

    difference = replay_recording(path).difference

    assert difference is not None
    assert difference.line == at + 2, "the event behind the piece"
    assert "thanks." in str(difference.expected)
    assert "thanke." in str(difference.seen)


def test_what_the_host_said_otherwise_is_told(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"text":"How are you?"', b'"text":"How are yoo?"'))

    difference = replay_recording(path).difference

    assert difference is not None
    assert difference.what == "event 3"


def test_what_does_not_come_is_told(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    [at] = [at for at, line in enumerate(lines(path)) if line.get("key") == "agent<1"]
    rewritten(path, at, b'{"kind":"came","key":"nobody<1","value":{"gave":"handle"}}\n')

    difference = replay_recording(path).difference

    assert difference is not None
    assert (difference.line, difference.what, difference.seen) == (at + 1, "nobody<1", None)


def test_an_event_that_nobody_recorded_is_told(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    every = path.read_bytes().splitlines(keepends=True)
    [last] = [at for at, line in enumerate(every) if b"agent_settled" in line]
    path.write_bytes(b"".join(every[:last] + every[last + 1 :]))

    difference = replay_recording(path).difference

    assert difference is not None
    assert difference.expected is None
    assert "agent_settled" in str(difference.seen)


def test_a_recording_that_is_cut_anywhere_says_so_and_the_rest_is_the_same(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    whole = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    for end in [*ends[:-1:5], ends[-2], ends[-2] - 7]:
        path.write_bytes(whole[:end])

        replayed = replay_recording(path)

        assert (replayed.cut, replayed.same, replayed.difference) == (True, False, None), end


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b"", 1, "no recording"),
        (b"garbage\n", 1, "no recording"),
        (b'{"type":"session"}\n', 1, "no recording"),
        (b"\xff\xfe", 1, "no recording"),
        (b'{"sapwood":"recording","version":2}\n', 1, "version 1, not of 2"),
        (b'{"sapwood":"recording","version":1}\n', 1, "no recording"),
    ],
)
def test_what_is_no_recording_is_told(data: bytes, line: int, why: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)

    with pytest.raises(BadRecording) as caught:
        replay_recording(tmp_path / "x")

    assert caught.value.line == line
    assert why in caught.value.why


def test_a_line_that_cannot_be_read_and_a_first_one_that_opens_nothing_are_told(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    whole = path.read_bytes()
    rewritten(path, 4, b"garbage\n")

    with pytest.raises(BadRecording) as caught:
        replay_recording(path)
    assert caught.value.line == 5

    path.write_bytes(whole.replace(b'"counter":"heuristic"', b'"counter":"abacus"', 1))
    with pytest.raises(BadRecording) as caught:
        replay_recording(path)
    assert caught.value.line == 1


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadRecording):
        replay_recording(tmp_path / "nowhere")


def calls(*names: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(id=ToolCallId(f"c-{name}"), name=name, arguments={"n": 1}) for name in names)


def guard() -> Extension:
    extension = Extension("guard")

    @extension.on(ToolCallQuestion)
    async def allow(question: ToolCallQuestion, _: object) -> Block | None:
        await trio.sleep(0.001)
        return Block(reason="no") if question.tool_name == "blocked" else None

    return extension


ran: list[str] = []


def tools() -> Sequence[Any]:
    async def slow(context: sapwood.ToolContext, n: int) -> str:
        ran.append("slow")
        context.progress({"half": n})
        await trio.sleep(0.02)
        return "slow"

    def threaded(n: int) -> str:
        ran.append("threaded")
        time.sleep(0.01)
        return "threaded"

    async def raising(n: int) -> str:
        raise KeyError(n)

    async def blocked(n: int) -> str:
        return "never"

    async def stubborn(n: int) -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(0.3)
        return "too late"

    return [slow, threaded, raising, blocked, stubborn]


async def test_a_live_session_with_threads_tools_handlers_and_a_hurried_host_is_reproduced(tmp_path: Path) -> None:
    """Real time, real threads, a file, an exact counter that is loaded beside it."""
    path, ran[:] = tmp_path / "live.recording", []
    answers = [
        ScriptedAnswer(calls=calls("slow", "threaded", "raising", "blocked", "unknown")),
        ScriptedAnswer(text="All of them."),
        ScriptedAnswer(text="Once more."),
        ScriptedAnswer(calls=calls("stubborn")),
        ScriptedAnswer(text="It is over."),
    ]

    async def section(context: sapwood.SectionContext) -> str:
        await trio.sleep(0.001)
        return f"It works in {context.cwd}."

    (tmp_path / "AGENTS.md").write_text("Be brief.")
    async with sapwood.open_session(
        tmp_path / "s.jsonl",
        model=MODEL,
        providers=[Scripted({"turn": answers})],
        tools=tools(),
        extensions=[guard()],
        system_prompt=SystemPrompt(preamble="You saw.", sections={"place": section}, project_context=str(tmp_path)),
        durability="disk",
        record=path,
    ) as session:
        handle = session.submit("Try everything.")
        with trio.fail_after(20):
            async for item in session.events():
                if isinstance(item, Published) and isinstance(item.event, ToolExecutionUpdate):
                    session.steer("And quickly.")
                    break
            await handle.outcome()
            await session.append_custom("mark", {"n": 1})
            late = session.submit("Now the stubborn one.")
            await trio.sleep(0.05)
            await session.abort()
            await late.outcome()
            await session.set_thinking_level("high")
            with pytest.raises(sapwood.Refused, match="Nothing to compact"):
                await session.compact()
            await session.prompt("Are you done?")

    ran_live = list(ran)
    replayed = await trio.to_thread.run_sync(replay_recording, path)

    assert replayed.difference is None
    assert replayed.same
    assert replayed.events > 60
    assert ran == ran_live, "no tool is run again"
    assert sorted(ran) == ["slow", "threaded"]


def forks() -> Extension:
    """Has an opinion on forks, and says it once: that the first one shall be and the second one not."""
    extension, asked = Extension("forks"), list[SessionBeforeFork]()

    @extension.on(SessionBeforeFork)
    async def allow(question: SessionBeforeFork, context: sapwood.ExtensionContext) -> Cancel | None:
        await trio.sleep(0.001)
        await context.set_name(f"asked {len(asked)} times")
        asked.append(question)
        return Cancel(reason="once is enough") if len(asked) > 1 else None

    return extension


@pytest.mark.parametrize("extensions", [[], ["forks"]])
async def test_a_fork_is_no_part_of_the_session_and_who_was_asked_about_it_is(
    extensions: list[str], tmp_path: Path
) -> None:
    """The copy's ids and times were the session's own draws, and what drew them was not done again."""
    path = tmp_path / "live.recording"
    async with sapwood.open_session(
        tmp_path / "s.jsonl",
        model=MODEL,
        providers=[Scripted({"turn": [ScriptedAnswer(text="One."), ScriptedAnswer(text="Two.")]})],
        extensions=[forks() for _ in extensions],
        record=path,
    ) as session:
        await session.prompt("Say one.")
        first = await session.fork(to=tmp_path / "first.jsonl")
        if extensions:
            with pytest.raises(sapwood.ForkFailed, match="once is enough"):
                await session.fork(to=tmp_path / "second.jsonl")
            with trio.move_on_after(0.0005):
                await session.fork(to=tmp_path / "third.jsonl")
        await session.prompt("Say two.")
        entries = session.entries()

    replayed = await trio.to_thread.run_sync(replay_recording, path)

    assert replayed.difference is None
    assert replayed.same
    assert replayed.entries == len(entries)
    assert sorted(file.name for file in tmp_path.glob("*.jsonl")) == ["first.jsonl", "s.jsonl"]
    with sapwood.read(first.path) as copy:
        assert len(copy.entries()) == first.entries + 1, "and where it came from"


@pytest.mark.parametrize("what", ["compact", "navigate"])
async def test_what_a_host_no_longer_waits_for_is_left_where_it_was(what: str, tmp_path: Path) -> None:
    """It takes its time to end: that the host had gone was noted behind all that came of it."""
    path = tmp_path / "live.recording"
    answers: Any = {"turn": [ScriptedAnswer(text=text) for text in ("One.", "Two.", "Three.")]}
    answers |= {
        purpose: [ScriptedAnswer(text="Late.", wait=5.0)] for purpose in ("compaction", "turn_prefix", "branch_summary")
    }
    settings = sapwood.Settings(compaction=sapwood.CompactionSettings(keep_recent_tokens=1))
    async with sapwood.open_session(
        model=MODEL, providers=[Scripted(answers)], settings=settings, record=path
    ) as session:
        await session.prompt("Say one.")
        await session.prompt("Say two.")
        with trio.move_on_after(0.05) as limit:
            if what == "compact":
                await session.compact()
            else:
                await session.navigate(session.entries()[1].id, summarize=True)
        assert limit.cancelled_caught
        await session.prompt("Say three.")
        entries = session.entries()

    replayed = await trio.to_thread.run_sync(replay_recording, path)

    assert replayed.difference is None
    assert replayed.same
    assert replayed.entries == len(entries) == 6


async def test_what_holds_half_a_character_is_recorded_and_the_session_goes_on_as_without(tmp_path: Path) -> None:
    """The turn failed, and an edit raised what no host expects, because of the recording."""
    path = tmp_path / "live.recording"

    def missing(n: int) -> str:
        return (tmp_path / f"nowhere{n}").read_text()

    answers = [ScriptedAnswer(text="half \ud83d", calls=calls("missing")), ScriptedAnswer(text="No file.")]
    async with sapwood.open_session(
        model=MODEL,
        providers=[Scripted({"turn": answers})],
        tools=[missing],
        record=path,
    ) as session:
        outcome = await session.prompt("Look.")
        assert not outcome.failed
        await session.edit(session.entries()[1].id, Replacement(content="\ud83d"))
        kept = [str(entry) for entry in session.entries()]

    assert any("half \ufffd" in entry for entry in kept)
    assert any("nowhere" in entry for entry in kept), "which file it was"
    replayed = await trio.to_thread.run_sync(replay_recording, path)
    assert replayed.difference is None
    assert replayed.same
