"""The scripted provider plays what it was given, and nothing else."""

from __future__ import annotations

import pytest
import trio.testing

from sapwood.actors.model.providers.base import Finish, Piece, Request
from sapwood.actors.model.providers.scripted import Scripted, ScriptedAnswer
from sapwood.events.deltas import TextDelta, TextEnd, TextStart
from sapwood.events.errors import ProviderError
from sapwood.events.runtime import Purpose
from tests.build import MODEL, usage, user


def request(purpose: Purpose = "turn") -> Request:
    return Request(model=MODEL, purpose=purpose, messages=(user(),))


async def pieces_of(provider: Scripted, asked: Request) -> list[Piece]:
    async with provider.stream(asked) as pieces:
        return [piece async for piece in pieces]


async def test_a_text_streams_word_by_word_and_ends() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="Hello  you", usage=usage(3))]})

    assert await pieces_of(provider, request()) == [
        TextStart(content_index=0),
        TextDelta(content_index=0, delta="Hello  "),
        TextDelta(content_index=0, delta="you"),
        TextEnd(content_index=0, content="Hello  you"),
        Finish(stop_reason="stop", usage=usage(3)),
    ]
    assert provider.requests == [request()]


async def test_each_purpose_has_a_script_of_its_own() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="t")]})
    provider.add("compaction", ScriptedAnswer(text="c"))

    first = await pieces_of(provider, request("compaction"))

    assert TextDelta(content_index=0, delta="c") in first


async def test_a_script_that_has_run_out_says_so() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="only one")]})
    await pieces_of(provider, request())

    with pytest.raises(ProviderError, match="no answer left for a turn"):
        await pieces_of(provider, request())


async def test_a_failure_comes_after_the_part_that_streamed() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="half", error="overloaded")]}, provider_id="other")
    seen: list[Piece] = []

    async def collect() -> None:
        async with provider.stream(request()) as pieces:
            async for piece in pieces:
                seen.append(piece)  # noqa: PERF401 - what came before the failure is what is looked at

    with pytest.raises(ProviderError, match="overloaded"):
        await collect()

    assert seen[-1] == TextEnd(content_index=0, content="half")
    assert provider.id == "other"


async def test_silence_lasts_as_long_as_it_is_told(autojump_clock: trio.testing.MockClock) -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="late", wait=30)]})

    await pieces_of(provider, request())

    assert autojump_clock.current_time() >= 30


async def test_leaving_in_the_middle_leaves_nothing_behind() -> None:
    provider = Scripted({"turn": [ScriptedAnswer(text="one two three")]})

    async with provider.stream(request()) as pieces:
        async for piece in pieces:
            assert piece == TextStart(content_index=0)
            break
