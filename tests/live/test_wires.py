"""A real server, over each of its wires: an answer as it streams, a tool call and its result, an answer that is left, an overflow."""

from __future__ import annotations

import re

import pytest
import trio

import sapwood
from sapwood.actors.compaction.threshold import CompactionSettings
from sapwood.actors.model.retry import RetryPolicy
from sapwood.events.deltas import TextDelta
from sapwood.events.entries import Compaction, MessageEntry
from sapwood.events.failures import failure_of
from sapwood.events.runtime import AgentSettled, CompactionEnd, MessageUpdate
from sapwood.local.starting import LocalWire
from tests.live.asking import WIRES, Live
from tests.talking import drain

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.xdist_group("live")]  # one server for all

CAPITAL = "Which city is the capital of France?"
ONCE = RetryPolicy(enabled=False)


async def said_until_the_end(reader: sapwood.Reader) -> list[str]:
    """The pieces of an answer, as they come."""
    pieces: list[str] = []
    async for item in reader:
        match item:
            case sapwood.Published(event=MessageUpdate(assistant_message_event=TextDelta(delta=piece))):
                pieces.append(piece)
            case sapwood.Published(event=AgentSettled()):
                break
            case _:
                pass
    return pieces


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_streams_and_what_it_took_is_recorded(live: Live, wire: LocalWire) -> None:
    async with live.session(wire) as session:
        handle = session.submit(CAPITAL)
        pieces = await said_until_the_end(session.events())
        outcome = await handle.outcome()
        spent = session.stats().spent

    assert isinstance(outcome, sapwood.Delivered)
    answer = outcome.answer
    assert answer is not None
    assert (outcome.failed, answer.stop_reason, answer.api) == (False, "stop", wire)
    [said] = answer.content
    assert isinstance(said, sapwood.TextContent)
    assert "Paris" in said.text == "".join(pieces)
    assert len(pieces) > 1
    read = answer.usage.input + answer.usage.cache_read
    assert 8 <= read <= 40
    assert 4 <= answer.usage.output <= 32
    assert (spent.calls, spent.input + spent.cache_read, spent.output, spent.cost) == (1, read, answer.usage.output, 0)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Rome": "20C", "Oslo": "2C"}.get(city, "18C and sunny")


def asked(city: str) -> list[sapwood.ScriptedAnswer]:
    """How such a question is answered, for a model that is shown it."""
    call = sapwood.ToolCall(id=sapwood.ToolCallId(f"c{city}"), name="get_weather", arguments={"city": city})
    return [sapwood.ScriptedAnswer(calls=(call,)), sapwood.ScriptedAnswer(text=f"{get_weather(city)} in {city}.")]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_tool_is_called_and_what_it_says_is_read(live: Live, wire: LocalWire) -> None:
    shown = [*asked("Rome"), *asked("Oslo")]
    async with live.session(wire, before=shown, tools=[get_weather], system_prompt="You call tools.") as session:
        for city in ("Rome", "Oslo"):
            await session.prompt(f"What is the weather in {city}?")
        await session.set_model(live.model())
        outcome = await session.prompt("What is the weather in Paris?")
        called, result, answered = [
            entry.message for entry in session.entries()[-3:] if isinstance(entry, MessageEntry)
        ]

    assert isinstance(called, sapwood.AssistantMessage)
    [call] = [block for block in called.content if isinstance(block, sapwood.ToolCall)]
    assert (called.stop_reason, call.name, call.arguments) == ("toolUse", "get_weather", {"city": "Paris"})
    assert isinstance(result, sapwood.ToolResultMessage)
    assert result.content == (sapwood.TextContent(text="18C and sunny"),)
    assert answered == outcome.answer
    assert outcome.answer is not None
    assert "18C" in str(outcome.answer.content)
    assert min(called.usage.output, outcome.answer.usage.output) > 0


@pytest.mark.parametrize("wire", WIRES)
async def test_the_server_sees_that_an_answer_is_left(live: Live, wire: LocalWire) -> None:
    before = live.said().count("cancel task")
    async with live.session(wire, model=live.model(max_output=400)) as session:
        reader = session.events()
        handle = session.submit("Tell me a long story about an oak.")
        async for item in reader:
            if isinstance(item, sapwood.Published) and isinstance(item.event, MessageUpdate):
                break
        await session.abort()
        outcome = await handle.outcome()
        with trio.fail_after(10):
            while live.said().count("cancel task") == before:  # noqa: ASYNC110 - another process writes it
                await trio.sleep(0.02)
        assert isinstance(outcome, sapwood.Delivered)
        assert outcome.aborted
        assert not (await session.prompt(CAPITAL)).failed  # the server's one slot is free


NOISE = "-" * 2_000 + " oak" * 2_000
"""Far more tokens than the server holds; a summary is shown the beginning of it alone, which has few."""


@pytest.mark.parametrize("wire", WIRES)
async def test_a_request_that_is_too_large_is_told_by_its_real_refusal_and_made_smaller(
    live: Live, wire: LocalWire
) -> None:
    """The model is declared eight times as large as it is, so that nobody knows before the server says it."""
    wrong = live.model(window=8 * 1_536, max_output=40)
    settings = sapwood.Settings(compaction=CompactionSettings(reserve_tokens=256, keep_recent_tokens=16), retry=ONCE)
    before = [
        sapwood.ScriptedAnswer(calls=(sapwood.ToolCall(id=sapwood.ToolCallId("c1"), name="noise", arguments={}),)),
        sapwood.ScriptedAnswer(text="There is noise."),
    ]

    def noise() -> str:
        return NOISE

    async with live.session(wire, before=before, tools=[noise], settings=settings) as session:
        await session.prompt("What is there?")
        await session.set_model(wrong)
        reader = session.events()
        outcome = await session.prompt(CAPITAL)
        entries = session.entries()
        ends = [event for event in drain(reader) if isinstance(event, CompactionEnd)]
        spent = session.stats()

    [refused] = [
        entry.message
        for entry in entries
        if isinstance(entry, MessageEntry)
        and isinstance(entry.message, sapwood.AssistantMessage)
        and entry.message.stop_reason == "error"
    ]
    assert failure_of(refused).kind == "overflow"
    assert re.search(r"400.*exceed", refused.error_message or "")
    [compaction] = [entry for entry in entries if isinstance(entry, Compaction)]
    assert [(end.reason, end.will_retry) for end in ends] == [("overflow", True)]
    assert compaction.summary
    assert not outcome.failed
    assert outcome.answer is not None
    assert outcome.answer.usage.output > 0
    assert spent.spent.output > outcome.answer.usage.output  # the summary is in the sum
