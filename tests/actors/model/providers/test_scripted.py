"""The scripted provider plays what it was given, and nothing else."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
import trio.testing

from sapwood.actors.model.providers.base import Finish, Piece, Request
from sapwood.actors.model.providers.scripted import Scripted, ScriptedAnswer
from sapwood.events.content import ToolCall
from sapwood.events.deltas import TextDelta, TextEnd, TextStart
from sapwood.events.errors import ProviderError, Refused
from sapwood.events.ids import ToolCallId
from sapwood.events.runtime import Purpose
from tests.build import MODEL, call, usage, user


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


NO_CALL: Any = ToolCall(id=cast("ToolCallId", 1), name="x", arguments={})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": 3}, "ScriptedAnswer(text=…) is text, not 3"),
        ({"calls": call("c1")}, "ScriptedAnswer(calls=…) is a tuple of ToolCalls, each with an id and a name"),
        ({"calls": (NO_CALL,)}, "ScriptedAnswer(calls=…) is a tuple of ToolCalls, each with an id and a name"),
        ({"usage": 3}, "ScriptedAnswer(usage=…) is a sapwood.Usage, not 3"),
        ({"stop_reason": "pending"}, "ScriptedAnswer(stop_reason=…) is one of stop, length, toolUse, error, aborted"),
        ({"error": ValueError("x")}, "ScriptedAnswer(error=…) is text, or None, not ValueError('x')"),
        ({"wait": -1}, "ScriptedAnswer(wait=…) is a number of seconds from 0 on, not -1"),
        ({"wait": math.nan}, "ScriptedAnswer(wait=…) is a number of seconds from 0 on, not nan"),
    ],
)
def test_what_is_no_answer_is_refused_when_it_is_written(fields: dict[str, Any], words: str) -> None:
    """It used to be found out when it was played, in the words of whoever stumbled over it."""
    with pytest.raises(Refused) as caught:
        ScriptedAnswer(**fields)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([ScriptedAnswer(text="a")], "Scripted({"),
        ({"turns": []}, "a call is for one of turn, compaction, turn_prefix, branch_summary, tool, not for 'turns'"),
        ({"turn": "words"}, "the script of a turn is a list of answers, not 'words'"),
        ({"turn": ScriptedAnswer(text="a")}, "the script of a turn is a list of answers, not ScriptedAnswer"),
        ({"turn": ["words"]}, "a script is of ScriptedAnswer(text=…), not of 'words'"),
    ],
)
def test_what_is_no_script_is_refused(script: Any, words: str) -> None:
    with pytest.raises(Refused) as caught:
        Scripted(script)
    assert str(caught.value).startswith(words)
    provider: Any = Scripted()
    with pytest.raises(Refused):
        provider.add("turn", "words")
    with pytest.raises(Refused, match="is a name, not ''"):
        Scripted(provider_id="")
