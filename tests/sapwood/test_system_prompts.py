"""What a host asks for is compared with the branch before each turn, and only what changed is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from sapwood import (
    CannotWrite,
    Delivered,
    Environment,
    Refused,
    SapwoodError,
    SectionContext,
    SystemMessage,
    SystemPrompt,
    UserMessage,
    WouldDeadlock,
    open_session,
    read,
)
from sapwood.actors.agent.prepare import SKILLS_INTRO
from sapwood.actors.kernel import Receipt
from sapwood.actors.kernel.testing import CrashAt, Recording, Seeded, Together
from sapwood.actors.projection.system_prompt import replay
from sapwood.events.codec import encode_entry
from sapwood.events.entries import Compaction, KnownEntry, MessageEntry
from sapwood.events.ids import EntryId
from sapwood.events.messages import Message
from sapwood.events.requests import Select
from sapwood.events.runtime import Diagnostic, MessageEnd, MessageStart
from sapwood.reading import Reading
from sapwood.store.memory import MemoryStore
from tests.build import HEADER, MODEL, TIME, message_entry, system, user
from tests.talking import drain, names, talking


def recorded(session: Reading, since: int = 0) -> list[dict[str, str | None] | None]:
    """The sections of each system message that the log has."""
    return [
        entry.message.sections
        for entry in session.entries()[since:]
        if isinstance(entry, MessageEntry) and isinstance(entry.message, SystemMessage)
    ]


class Mood:
    """A section that the test sets."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.asked: list[SectionContext] = []

    def __call__(self, context: SectionContext) -> str | None:
        self.asked.append(context)
        return self.text


async def test_the_first_prompt_records_all_and_the_next_one_nothing() -> None:
    prompt = SystemPrompt(preamble="You help.", sections={"house": "Be brief."}, skills={"ring": "How to"}, cwd=True)
    async with talking("a", "b", system_prompt=prompt) as session:
        before, reader = session.system_prompt, session.events()
        assert before is None

        await session.prompt("hi")

        sections = {
            "preamble": "You help.",
            "skills": f"<skills>\n{SKILLS_INTRO}\n\n- ring: How to\n</skills>",
            "cwd": "<cwd>\n/home/dev\n</cwd>",
            "house": "<house>\nBe brief.\n</house>",
        }
        [first] = recorded(session)
        assert first is not None
        assert first == sections
        assert list(first) == list(sections)
        assert session.system_prompt == "\n\n".join(sections.values())
        events = drain(reader)
        assert [name for name in names(events) if name != "entry_appended"] == [
            "agent_start",
            "turn_start",
            *["message_start", "message_end"] * 3,
            "turn_end",
            "agent_end",
            "agent_settled",
        ]  # R1
        told = [(type(event), event.message.role) for event in events if isinstance(event, MessageStart | MessageEnd)]
        assert told[:4] == [
            (MessageStart, "system"),
            (MessageEnd, "system"),
            (MessageStart, "user"),
            (MessageEnd, "user"),
        ]

        await session.prompt("and now?")

        assert recorded(session) == [sections]


async def test_who_asks_for_no_prompt_has_none_and_leaves_the_branchs_own() -> None:
    store = MemoryStore(HEADER, [encode_entry(message_entry("s1", system(preamble="You are Pi.")))])
    async with talking("a", where=store) as session:
        await session.prompt("hi")

        assert recorded(session, since=1) == []
        assert session.system_prompt == "You are Pi."


async def test_text_is_the_preamble_and_takes_the_place_of_what_the_branch_had() -> None:
    store = MemoryStore(HEADER, [encode_entry(message_entry("s1", system(preamble="Old.", docs="<docs>\nd\n</docs>")))])
    async with talking("a", where=store, system_prompt="You help.") as session:
        await session.prompt("hi")

        assert recorded(session, since=1) == [{"preamble": "You help.", "docs": None}]
        assert session.system_prompt == "You help."


async def test_a_changed_file_shows_in_the_next_turn_as_exactly_its_section(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("Count the wrens.")
    prompt = SystemPrompt(preamble="You help.", project_context=True, cwd=True)
    async with talking("a", "b", "c", "d", system_prompt=prompt, cwd=str(tmp_path)) as session:
        await session.prompt("one")
        [first] = recorded(session)
        assert first is not None
        assert list(first) == ["preamble", "project_context", "cwd"]

        file.write_text("Count the finches.")
        await session.prompt("two")
        await session.prompt("three")

        changed = str(first["project_context"]).replace("wrens", "finches")
        assert recorded(session)[1:] == [{"project_context": changed}]

        file.unlink()
        await session.prompt("four")

        [last] = recorded(session)[2:]
        assert last is not None
        assert "finches" not in str(last["project_context"])


async def test_a_section_that_goes_is_recorded_as_null_and_comes_back() -> None:
    mood = Mood("calm")
    async with talking("a", "b", "c", system_prompt=SystemPrompt(sections={"mood": mood})) as session:
        for text in ("calm", None, "calm"):
            mood.text = text
            await session.prompt("hi")

        said = {"mood": "<mood>\ncalm\n</mood>"}
        assert recorded(session) == [said, {"mood": None}, said]
        assert [(one.session_id, one.cwd, one.model) for one in mood.asked] == [
            (session.header.id, "/home/dev", MODEL)
        ] * 3


ANOTHER_PROCESS = """
import sys, sapwood, trio

talker = sapwood.Scripted({"turn": [sapwood.ScriptedAnswer(text="a")]})
model = sapwood.Model(provider="scripted", id="talker")
prompt = sapwood.SystemPrompt(preamble="You help.", sections={"b": "B", "a": lambda _: "A"}, skills={"x": "X", "y": "Y"})

async def main():
    async with sapwood.open_session(sys.argv[1], model=model, providers=[talker], system_prompt=prompt) as session:
        await session.prompt("hi")

trio.run(main)
"""


@pytest.mark.slow
def test_another_process_that_asks_for_the_same_prompt_records_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", ANOTHER_PROCESS, str(path)], check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )

    with read(path) as session:
        assert len(recorded(session)) == 1
        assert len(session.entries()) == 5


def compacted(prompt: SystemMessage | None, *, kept: str = "c1") -> MemoryStore:
    """A session whose prompt was compacted away; `prompt` is what the compaction carries of it."""
    entries: list[KnownEntry] = [
        message_entry("s1", system(preamble="You help.")),
        message_entry("u1", user(), "s1"),
        Compaction(
            id=EntryId("c1"),
            parent_id=EntryId("u1"),
            timestamp=TIME,
            summary="s",
            first_kept_entry_id=EntryId(kept),
            tokens_before=1,
            system_message=prompt,
        ),
    ]
    return MemoryStore(HEADER, map(encode_entry, entries))


async def test_after_a_compaction_that_carries_the_prompt_nothing_is_recorded() -> None:
    async with talking("a", where=compacted(system(preamble="You help.")), system_prompt="You help.") as session:
        await session.prompt("hi")

        assert recorded(session, since=3) == []


@pytest.mark.parametrize("kept", ["c1", "s1"])
async def test_after_a_compaction_that_carries_none_the_prompt_is_said_again(kept: str) -> None:
    async with talking("a", where=compacted(None, kept=kept), system_prompt="You help.") as session:
        assert session.system_prompt is None

        await session.prompt("hi")

        assert recorded(session, since=3) == [{"preamble": "You help."}]


async def test_each_branch_replays_to_its_own_prompt() -> None:
    entries: list[KnownEntry] = [
        message_entry("u1", user()),
        message_entry("s1", system(preamble="One."), "u1"),
        message_entry("s2", system(preamble="Two.", house="<house>\nh\n</house>"), "u1"),
    ]
    async with talking("a", where=MemoryStore(HEADER, map(encode_entry, entries)), system_prompt="One.") as session:
        assert session.system_prompt == "Two.\n\n<house>\nh\n</house>"

        await session.prompt("hi")

        assert recorded(session, since=3) == [{"preamble": "One.", "house": None}]


async def raising(context: SectionContext) -> str:
    await trio.lowlevel.checkpoint()
    raise ValueError("lost")


async def hanging(context: SectionContext) -> str:
    await trio.sleep(1000)
    return "never"


@pytest.mark.parametrize(("function", "why"), [(raising, "ValueError: lost"), (hanging, "it did not come within 30 s")])
async def test_a_section_that_fails_is_told_and_leaves_the_branch_as_it_is(
    function: Any, why: str, autojump_clock: trio.testing.MockClock
) -> None:
    store = MemoryStore(HEADER, [encode_entry(message_entry("s1", system(house="<house>\nold\n</house>")))])
    prompt = SystemPrompt(preamble="You help.", sections={"house": function})
    async with talking("a", where=store, system_prompt=prompt) as session:
        reader = session.events()

        outcome = await session.prompt("hi")

        assert not outcome.failed
        assert recorded(session, since=1) == [{"preamble": "You help."}]
        [told] = [event for event in drain(reader) if isinstance(event, Diagnostic)]
        assert (told.code, told.facts) == ("section_failed", {"section": "house"})
        assert told.message == f"the system prompt section 'house' stays as it is: {why}"


@pytest.mark.parametrize("command", ["prompt", "abort", "close", "outcome"])
async def test_a_section_that_waits_for_its_own_session_is_told_that_it_would_for_ever(command: str) -> None:
    async def meddling(context: SectionContext) -> str:
        match command:
            case "prompt":
                await session.prompt("from inside")
            case "abort":
                await session.abort()
            case "close":
                await session.close()
            case _:
                await handle.outcome()
        return "never"

    async with talking("a", system_prompt=SystemPrompt(sections={"house": meddling, "zoo": "Z"})) as session:
        reader = session.events()
        handle = session.submit("hi")
        with trio.fail_after(5):
            outcome = await handle.outcome()

        assert isinstance(outcome, Delivered)
        assert not outcome.failed
        assert recorded(session) == [{"zoo": "<zoo>\nZ\n</zoo>"}]
        [told] = [event for event in drain(reader) if isinstance(event, Diagnostic)]
        assert WouldDeadlock.__name__ in told.message


async def test_an_abort_ends_the_asking_at_once_and_says_nothing_of_the_prompt(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with talking("never", "b", system_prompt=SystemPrompt(preamble="P", sections={"slow": hanging})) as session:
        handle = session.submit("hi")
        await trio.sleep(1)
        before = trio.current_time()

        await session.abort()

        assert trio.current_time() - before < 0.2  # R4
        outcome = await handle.outcome()
        assert isinstance(outcome, Delivered)
        assert outcome.aborted
        assert recorded(session) == []
        assert len(session.entries()) == 2, "the input and an aborted answer"
        assert session.state == "idle"


async def test_what_a_section_raises_when_it_is_stopped_does_not_break_the_run(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def sore(context: SectionContext) -> str:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep(1000)
            except trio.Cancelled as cancelled:
                raise ValueError("it was rude to stop me") from cancelled
        return "never"

    async with talking("never", system_prompt=SystemPrompt(sections={"sore": sore})) as session:
        handle = session.submit("hi")
        await trio.sleep(1)
        await session.abort()

        outcome = await handle.outcome()
        assert isinstance(outcome, Delivered)
        assert (outcome.aborted, outcome.error) == (True, None)


async def test_a_session_that_is_left_waits_for_no_section(autojump_clock: trio.testing.MockClock) -> None:
    before = trio.current_time()
    async with talking("never", system_prompt=SystemPrompt(sections={"slow": hanging})) as session:
        handle = session.submit("hi")
        await trio.sleep(1)

    assert trio.current_time() - before < 1.2
    assert isinstance(await handle.outcome(), Delivered)


async def test_an_abort_before_the_asking_asks_nothing() -> None:
    mood = Mood("calm")
    async with talking("never", system_prompt=SystemPrompt(sections={"mood": mood})) as session:
        session.submit("hi")
        await session.abort()

        assert mood.asked == []
        assert recorded(session) == []


async def test_a_host_that_stops_waiting_loses_neither_the_run_nor_the_prompt(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(context: SectionContext) -> str:
        await trio.sleep(10)
        return "slow"

    async with talking("a", system_prompt=SystemPrompt(sections={"house": slow})) as session:
        with trio.move_on_after(1):
            await session.prompt("hi")
        await trio.sleep(20)

        assert recorded(session) == [{"house": "<house>\nslow\n</house>"}]
        assert len(session.entries()) == 3


@pytest.mark.parametrize("given", [5, b"You help.", ["You help."], SystemPrompt])
async def test_what_is_no_prompt_does_not_open(given: Any) -> None:
    with pytest.raises(Refused, match="a system prompt is text or a sapwood"):
        async with open_session(None, model=MODEL, providers=[], system_prompt=given):
            raise AssertionError


TALK = ("one", "two")


async def talk(tap: Any) -> tuple[Sequence[Message], Sequence[object]]:
    """Two prompts, between which one section changes: what is in the log then, and the outcomes."""
    mood, outcomes = Mood("calm"), list[object]()
    prompt = SystemPrompt(preamble="You help.", sections={"mood": mood})
    async with talking("a", "b", tap=tap, system_prompt=prompt) as session:
        for text, mood.text in zip(TALK, ("calm", "brisk"), strict=True):
            try:
                outcomes.append(await session.prompt(text))
            except SapwoodError as error:
                outcomes.append(error)
        assert session.state == "idle"
        return [entry.message for entry in session.entries() if isinstance(entry, MessageEntry)], outcomes


def receipts() -> list[Receipt]:
    tap = Recording()
    trio.run(talk, Together(Seeded(0), tap), clock=trio.testing.MockClock(autojump_threshold=0))
    return [passed for passed in tap.passed if isinstance(passed, Receipt)]


RECEIPTS = receipts()


def test_the_projection_is_asked_before_the_turn_and_for_it() -> None:
    assert [type(one.message) for one in RECEIPTS].count(Select) == 4


@pytest.mark.parametrize("receipt", RECEIPTS, ids=lambda one: f"{one.actor}-{one.n}-{type(one.message).__name__}")
async def test_a_crash_anywhere_leaves_a_branch_that_replays_to_what_was_asked(
    receipt: Receipt, autojump_clock: trio.testing.MockClock
) -> None:
    said, outcomes = await talk(CrashAt(receipt.actor, receipt.n))

    for text, outcome in zip(TALK, outcomes, strict=True):
        heard = [at for at, message in enumerate(said) if isinstance(message, UserMessage) and message.content == text]
        assert isinstance(outcome, Delivered) == (len(heard) == 1)
        if heard:
            mood = {"one": "calm", "two": "brisk"}[text]
            replayed = replay(said[: heard[0]])
            assert replayed is not None
            assert replayed.sections == {"preamble": "You help.", "mood": f"<mood>\n{mood}\n</mood>"}
    changes = [message.sections for message in said if isinstance(message, SystemMessage)]
    assert len(changes) == len({str(change) for change in changes}), "nothing is said twice"


async def test_a_prompt_that_cannot_be_written_keeps_the_input_out_of_the_log_too(tmp_path: Path) -> None:
    from sapwood.store.disk import RealDisk

    class Full(RealDisk):
        full = False

        def write(self, descriptor: int, data: bytes) -> int:
            if self.full:
                raise OSError(28, "No space left on device")
            return super().write(descriptor, data)

    disk = Full()
    environment = Environment.scripted(disk=disk)
    async with talking(
        "a", "b", where=str(tmp_path / "s.jsonl"), environment=environment, system_prompt="You help."
    ) as session:
        disk.full = True
        handle = session.submit("hi")
        await trio.testing.wait_all_tasks_blocked()
        await session.abort()
        with pytest.raises(CannotWrite):
            await handle.outcome()
        assert session.entries() == ()

        disk.full = False
        await session.prompt("hi")
        assert recorded(session) == [{"preamble": "You help."}]
