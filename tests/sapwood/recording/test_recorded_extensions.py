"""A session with extensions is the same while it is recorded, and a replay reproduces what they did to it, without their code (Z3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock

from sapwood import Extension, ExtensionContext, Published, Runtime, Scripted, ScriptedAnswer, ToolResult
from sapwood.actors.environment import Environment
from sapwood.events.errors import SapwoodError
from sapwood.events.hooks import (
    AfterProviderResponse,
    AgentBeforeSettle,
    BeforeAgentStart,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    BeforeTurnEnd,
    Block,
    ChangeHeaders,
    ChangePayload,
    InputReceived,
    ProviderStreamEvent,
    SessionShutdown,
    SessionStart,
    ToolCallQuestion,
)
from sapwood.events.runtime import AgentSettled, EntryAppended, MessageEnd, MessageUpdate, News
from sapwood.recording.replaying import replay_recording
from tests.build import MODEL, call

Redactor = Callable[[str], Mapping[str, str]]


class Seen:
    """What a session did, and what its extensions heard."""

    def __init__(self) -> None:
        self.events: list[object] = []
        self.entries: list[object] = []
        self.heard: list[str] = []


def played(
    make: Callable[[list[str]], Extension], record: Path | None = None, redactor: Redactor | None = None
) -> Seen:
    """Two prompts, the first with a tool; under virtual time, so that it is the same each time."""
    seen = Seen()

    async def main() -> None:
        answers = [
            ScriptedAnswer(text="Look.", calls=(call("look"),)),
            *(ScriptedAnswer(text=f"Answer {at}.") for at in range(9)),
        ]
        world = Environment.scripted()
        runtime = Runtime(providers=[Scripted({"turn": answers})], environment=world, counter="heuristic")
        async with runtime.open_session(
            model=MODEL,
            cwd="/home/dev",
            tools=[look],
            system_prompt="You know trees.",
            extensions=[make(seen.heard)],
            redactor=redactor,
            record=record,
        ) as session:
            await session.prompt("Which tree is it? It is Anna's.")
            await trio.sleep(60)
            await session.prompt("And that one?")
            await trio.sleep(60)
            reader = session.events(since=0)
            seen.entries = list(session.entries())
        seen.events = [item.event async for item in reader if isinstance(item, Published)]

    trio.run(main, clock=MockClock(autojump_threshold=0))
    return seen


def kinds(told: Sequence[object]) -> Counter[str]:
    """How many of each kind: what goes on side by side may be recorded in another order than it has elsewhere."""
    return Counter(type(one).__name__ for one in told if not isinstance(one, MessageUpdate))


async def look() -> str:
    return "It is Anna's oak."


def around(heard: list[str]) -> Extension:
    """Has a part in each request, and hears of each answer."""
    extension = Extension("around")

    @extension.on(BeforeProviderHeaders)
    def headers(question: BeforeProviderHeaders, context: object) -> ChangeHeaders:
        heard.append(f"headers {question.header_names}")
        return ChangeHeaders(headers={"x-team": "trees"})

    @extension.on(BeforeProviderRequest)
    async def payload(question: BeforeProviderRequest, context: object) -> ChangePayload:
        await trio.sleep(0.5)
        heard.append("payload")
        body = cast("dict[str, Any]", question.payload)
        return ChangePayload(payload=body | {"metadata": {"team": "trees"}})

    @extension.on(AfterProviderResponse)
    async def answered(told: AfterProviderResponse, context: ExtensionContext) -> None:
        heard.append(f"status {told.status}")
        await context.append_custom("status", told.status)

    @extension.on(ProviderStreamEvent)
    def event(told: ProviderStreamEvent, context: object) -> None:
        heard.append(f"event {told.data}")

    return extension


def audit(heard: list[str]) -> Extension:
    """Hears of all events, and keeps, marks and names when a run has settled."""
    extension = Extension("audit")

    @extension.on(News)
    async def every(event: News, context: object) -> None:
        if not isinstance(event, MessageUpdate):  # those are joined for who is late
            heard.append(type(event).__name__)
        await trio.sleep(0.001)

    @extension.on(AgentSettled)
    async def settled(event: AgentSettled, context: ExtensionContext) -> None:
        entry_id = await context.append_custom("audit", {"heard": len(heard)})
        await context.label(entry_id, "settled")
        await context.set_name(f"After {len(heard)}")

    @extension.on(SessionShutdown)
    def end(question: SessionShutdown, context: object) -> None:
        heard.append("the end")

    return extension


def talker(heard: list[str]) -> Extension:
    """Says something from within, from the first moment on."""
    extension = Extension("talker")

    @extension.on(SessionStart)
    async def start(question: SessionStart, context: ExtensionContext) -> None:
        await context.append_custom("began", question.reason)
        context.append_message("note", "Oaks are old.", details=[1])
        context.prompt("Are you there?")

    @extension.on(ToolCallQuestion)
    def steer(question: ToolCallQuestion, context: ExtensionContext) -> None:
        context.steer("Be brief.")
        context.follow_up("And then?")

    @extension.on(AgentBeforeSettle)
    def compact(question: AgentBeforeSettle, context: ExtensionContext) -> None:
        context.compact("the trees")

    return extension


def worker(heard: list[str]) -> Extension:
    """Works beside the session: to an end, to a fault, and for ever."""
    extension = Extension("worker")

    async def work(context: ExtensionContext, seconds: float) -> str:
        await trio.sleep(seconds)
        await context.append_custom("slept", seconds)
        delivered = await context.prompt("Wake up.").outcome()
        heard.append(f"delivered {delivered.failed}")
        return "done"

    async def fails() -> None:
        await trio.sleep(2)
        raise KeyError("beside")

    async def lasts() -> None:
        try:
            await trio.sleep_forever()
        finally:
            heard.append("cancelled")

    @extension.on(SessionStart)
    def start(question: SessionStart, context: ExtensionContext) -> None:
        context.start_soon(work, context, 7.0)
        context.start_soon(fails)
        context.start_soon(lasts)

    return extension


def furnished(heard: list[str]) -> Extension:
    """Brings sections and a tool."""
    extension = Extension("furnished")
    extension.section("rules", "Be kind.")

    @extension.section("weather")
    async def weather(context: object) -> str:
        heard.append("weather")
        await trio.sleep(1)
        return "It rains."

    @extension.tool
    def measure(metres: int) -> ToolResult:
        heard.append("measured")
        return ToolResult(content=[], details=metres)

    return extension


def hostile(heard: list[str]) -> Extension:
    """Raises, answers what is no answer, is late, prompts from inside and waits for it."""
    extension = Extension("hostile")

    class Other(Block, frozen=True):
        pass

    @extension.on(InputReceived)
    def strange(question: InputReceived, context: object) -> Any:
        return {"not": ["an", "answer"]}

    @extension.on(BeforeAgentStart, limit=3)
    async def late(question: BeforeAgentStart, context: object) -> None:
        await trio.sleep_forever()

    @extension.on(ToolCallQuestion)
    def other(question: ToolCallQuestion, context: object) -> Block:
        return Other(reason="a kind of its own")

    @extension.on(BeforeTurnEnd)
    async def raises(question: BeforeTurnEnd, context: ExtensionContext) -> None:
        if question.turn_index == 0 and "inside" not in heard:
            heard.append("inside")
            await context.prompt("From inside.").outcome()

    @extension.on(MessageEnd)
    async def told(event: MessageEnd, context: ExtensionContext) -> Any:
        try:
            await context.label(cast("Any", "nowhere"), "x")
        except SapwoodError as refusal:
            heard.append(str(refusal))
        return object

    @extension.on(EntryAppended, limit=1)
    async def slow(event: EntryAppended, context: object) -> None:
        await trio.sleep(5)

    return extension


EXTENSIONS = [around, audit, talker, worker, furnished, hostile]


@pytest.mark.slow
@pytest.mark.parametrize("make", EXTENSIONS, ids=lambda make: make.__name__)
def test_what_extensions_do_is_the_same_when_it_is_recorded_and_is_reproduced(
    make: Callable[[list[str]], Extension], tmp_path: Path
) -> None:
    bare = played(make)
    recorded = played(make, tmp_path / "recording")

    assert kinds(recorded.entries) == kinds(bare.entries)
    assert kinds(recorded.events) == kinds(bare.events)
    assert Counter(recorded.heard) == Counter(bare.heard)
    assert bare.heard or make is talker

    replayed = replay_recording(tmp_path / "recording")

    assert (replayed.difference, replayed.cut) == (None, False)
    assert replayed.events >= len(bare.events)


def test_the_hooks_around_a_request_are_asked_of_who_is_recorded(tmp_path: Path) -> None:
    """This used to ask nobody: the provider of a recording could only stream."""
    recorded = played(around, tmp_path / "recording")

    assert {"headers ()", "payload", "status 200"} < set(recorded.heard)
    assert any(one.startswith("event ") for one in recorded.heard)


def secret(text: str) -> Mapping[str, str]:
    if "Answer 0" in text:
        raise KeyError("the redactor has its day")
    return {"Anna": "PERSON_1"} if "Anna" in text else {}


@pytest.mark.slow
def test_what_a_redactor_hid_is_hidden_again(tmp_path: Path) -> None:
    bare = played(furnished, redactor=secret)
    recorded = played(furnished, tmp_path / "recording", redactor=secret)

    replayed = replay_recording(tmp_path / "recording")

    assert kinds(recorded.entries) == kinds(bare.entries)
    assert kinds(recorded.events) == kinds(bare.events)
    assert any("the redactor failed" in repr(one) for one in recorded.events)
    assert (replayed.difference, replayed.cut) == (None, False)
