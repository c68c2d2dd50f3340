"""What an answer mostly consists of is read in one look (`wire.Quick`), and it makes no difference to what is read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import product
from typing import Any

import pytest

from sapwood.actors.model.sse import EventReader, ServerEvent
from sapwood.actors.model.wire import Codec, Quick
from sapwood.events.errors import ProviderError
from tests.wires import CHAT_USAGE, WIRES, candidate, chunk, decode, sse

Object = dict[str, Any]

TEXTS: list[Any] = [
    {"type": "text_delta", "text": "a"},
    {"type": "text_delta", "text": ""},
    {"type": "text_delta", "text": 7},
    {"type": "text_delta"},
    {"type": "input_json_delta", "partial_json": "{}"},
    {"type": "text_delta", "text": "\u2028🌲", "citations": []},
    "no object",
]
SAID: list[Object] = [
    {"content": "a"},
    {"content": ""},
    {"content": None},
    {"content": 7},
    {"content": "a", "role": "assistant", "refusal": None, "tool_calls": None, "function_call": None},
    {"content": "a", "refusal": "no"},
    {"content": "a", "reasoning_content": "b"},
    {"content": "a", "reasoning": "b"},
    {"content": "a", "reasoning": ""},
    {"content": "a", "reasoning_text": None, "reasoning_details": []},
    {"content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "b"}]},
    {"content": "a", "tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]},
    {"content": "a", "function_call": {"name": "f", "arguments": "{}"}},
]
BESIDE: list[Object] = [
    {},
    {"usage": CHAT_USAGE},
    {"usage": None, "error": None, "system_fingerprint": "x", "model": "other", "id": None},
    {"object": "chat.completion"},
    {"x_groq": {"usage": CHAT_USAGE}},
    {"choices": []},
    {"choices": [{"delta": {"content": "a"}, "finish_reason": "length"}]},
    {"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]},
    {"choices": [{"delta": {"content": "a"}, "usage": CHAT_USAGE}]},
]
PARTS: list[list[Object]] = [
    [{"text": "a"}],
    [{"text": ""}],
    [{"text": 7}],
    [{"text": "a", "thought": True}],
    [{"text": "a", "thought": False}],
    [{"text": "a", "thoughtSignature": "c2ln"}],
    [{"text": "a"}, {"text": "b"}],
    [{"functionCall": {"name": "f", "args": {}}}],
    [],
]
COUNTS: list[dict[str, int]] = [
    {},
    {"promptTokenCount": 3, "totalTokenCount": 3},
    {"promptTokenCount": -3},
    {"thoughtsTokenCount": 3},
    {"promptTokenCount": 10**13, "candidatesTokenCount": 4},
]
OTHERS: list[Object] = [
    {},
    {"modelVersion": None, "responseId": "r2"},
    {"promptFeedback": {"blockReason": "SAFETY"}},
]
PLACES: list[Any] = [0, 1, 0.0, "0", None, True]
KINDS = ("response.output_text.delta", "response.refusal.delta", "response.reasoning_text.delta")
ODD: dict[str, list[Object]] = {
    "anthropic": [{"type": "content_block_delta", "index": at, "delta": delta} for at, delta in product(PLACES, TEXTS)],
    "openai_chat": [{**chunk(delta), **more} for delta, more in product(SAID, BESIDE)],
    "openai_responses": [
        {"type": kind, "output_index": at, "delta": delta}
        for kind, at, delta in product(KINDS, PLACES, ("a", "", 7, None))
    ],
    "gemini": [
        {**candidate(*parts, finish=finish, **counted), **more}
        for parts, finish, counted, more in product(PARTS, (None, "MAX_TOKENS"), COUNTS, OTHERS)
    ],
}


class _Slow:
    """Reads nothing in one look."""

    def read(self, _: object) -> None:
        return None


def told_by(codec: Codec, events: Sequence[ServerEvent]) -> list[object]:
    """All that an answer of these events comes to, piece by piece, and what was billed at each."""
    decoder, told = codec.decoder(), list[object]()
    try:
        for event in events:
            told += [decoder.feed(event), decoder.usage]
        told.append(decoder.end())
    except ProviderError as error:
        told += [str(error), error.kind, error.usage]
    return told


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_read_in_one_look_is_what_is_read_otherwise(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every odd event by itself, and behind each part of an answer."""
    recorded = WIRES[wire]
    whole = EventReader().feed(recorded.stream)
    programs = [whole, *(EventReader().feed(sse(event, event)) for event in ODD[wire])]
    programs += [
        [*whole[: at % len(whole)], *EventReader().feed(sse(event)), *whole[at % len(whole) :]]
        for at, event in enumerate(ODD[wire] * 3)
    ]
    programs += [[ServerEvent("error", event.data)] for event in whole]
    quick = [told_by(recorded.codec, events) for events in programs]
    monkeypatch.setattr(f"{type(recorded.codec.decoder()).__module__}._MORE", _Slow())

    assert quick == [told_by(recorded.codec, events) for events in programs]


@pytest.mark.parametrize("wire", WIRES)
def test_most_of_an_answer_is_read_in_one_look(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = WIRES[wire]
    read: list[object] = []

    class Counting(Quick[object]):
        def __init__(self, quick: Any) -> None:
            self._quick = quick

        def read(self, event: ServerEvent) -> object | None:
            read.append(self._quick.read(event))
            return read[-1]

    name = type(recorded.codec.decoder()).__module__
    monkeypatch.setattr(f"{name}._MORE", Counting(vars(import_module(name))["_MORE"]))
    decode(recorded.codec, recorded.stream)

    assert len([one for one in read if one is not None]) >= 2  # the two halves of the text
