"""What holds for every wire: the same answer out of its stream, however it is cut, and no whole answer out of a part of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood.actors.model.providers.anthropic import AnthropicCodec
from sapwood.actors.model.providers.base import Finish
from sapwood.actors.model.providers.gemini import GeminiCodec
from sapwood.actors.model.providers.openai_chat import ChatCodec, ChatDialect
from sapwood.actors.model.providers.openai_responses import ResponsesCodec
from sapwood.actors.model.sse import ServerEvent
from sapwood.actors.model.wire import Codec, body, read_json
from sapwood.actors.outgoing.prepare import prepare
from sapwood.events.deltas import TextDelta, ThinkingDelta, ToolCallEnd
from sapwood.events.errors import ProviderError
from tests.wires import (
    ARGUMENTS,
    TEXT,
    THOUGHT,
    WIRES,
    call_of,
    conversation,
    decode,
    finish_of,
    request,
    said_by,
    sent,
    sse,
    thought_of,
)

each_wire = pytest.mark.parametrize("wire", WIRES)


@each_wire
def test_an_answer_is_what_it_says(wire: str) -> None:
    recorded = WIRES[wire]
    pieces = decode(recorded.codec, recorded.stream)
    finish = finish_of(recorded.codec, recorded.stream)

    assert "".join(piece.delta for piece in pieces if isinstance(piece, TextDelta)) == TEXT
    assert "".join(piece.delta for piece in pieces if isinstance(piece, ThinkingDelta)) == THOUGHT
    assert said_by(finish) == TEXT
    thought, call = thought_of(finish), call_of(finish)
    assert (thought.thinking, thought.thinking_signature) == (THOUGHT, recorded.thought_signature)
    assert (call.id, call.name, call.arguments) == (recorded.call_id, "weather", ARGUMENTS)
    assert (call.thought_signature, call.arguments_error) == (recorded.call_signature, None)
    assert [piece.tool_call.arguments for piece in pieces if isinstance(piece, ToolCallEnd)] == [ARGUMENTS]
    assert finish.stop_reason == "toolUse"
    assert msgspec.structs.replace(finish.usage, cost=None) == recorded.usage
    assert (finish.error_message, finish.failure) == (None, None)
    assert finish.response_model is not None
    assert finish.response_id is not None


@each_wire
@pytest.mark.parametrize("ends", [b"\r\n", b"\r"], ids=["CRLF", "CR"])
def test_lines_may_end_in_any_way_and_bytes_come_in_any_lumps(wire: str, ends: bytes) -> None:
    recorded = WIRES[wire]
    stream = b"\xef\xbb\xbf" + recorded.stream.replace(b"\n", ends)
    one_by_one = [stream[at : at + 1] for at in range(len(stream))]

    assert decode(recorded.codec, *one_by_one) == decode(recorded.codec, recorded.stream)


@each_wire
def test_h04_a_stream_that_is_cut_anywhere_is_no_answer(wire: str) -> None:
    recorded = WIRES[wire]
    last = recorded.stream.rstrip(b"\n").rfind(b"\n\n") + 2

    for cut in range(last):
        with pytest.raises(ProviderError) as caught:
            decode(recorded.codec, recorded.stream[:cut])
        assert caught.value.kind == "cut_off"


@each_wire
def test_i05_a_failure_inside_a_stream_is_told_with_its_kind(wire: str) -> None:
    recorded = WIRES[wire]
    some = recorded.stream[: recorded.stream.find(b"\n\n") + 2]

    with pytest.raises(ProviderError) as caught:
        decode(recorded.codec, some, recorded.failure)
    assert caught.value.retryable


@each_wire
def test_events_that_nobody_knows_are_passed_over(wire: str) -> None:
    recorded = WIRES[wire]
    events = recorded.stream.split(b"\n\n")
    strange = b'event: later\ndata: {"type": "later_kind", "x": [1]}'
    stream = b"\n\n".join(one for event in events for one in (strange, b": alive", event))

    assert decode(recorded.codec, stream) == decode(recorded.codec, recorded.stream)


@each_wire
@pytest.mark.parametrize(
    "event", ["{", "", "nope", '"text"', "[]", "null", "7", "{}", '{"type": 7}', '{"choices": 1, "candidates": {}}']
)
def test_whatever_an_event_holds_it_is_an_event_or_the_worlds_fault(wire: str, event: str) -> None:
    recorded = WIRES[wire]
    decoder = recorded.codec.decoder()

    try:
        told = decoder.feed(ServerEvent("", event))
    except ProviderError as error:
        told = None if error.kind == "server" else ()
    assert told is None


@each_wire
def test_a_request_gives_the_same_bytes_each_time_and_goes_on_with_what_was_sent(wire: str) -> None:
    """P9: what was sent is the beginning of what is sent next, cache marks apart."""
    recorded = WIRES[wire]
    said = prepare(conversation(recorded), provider="scripted", model="talker").messages
    whole = request(*said, cache_write=False)

    assert recorded.codec.request(whole) == recorded.codec.request(whole)
    for shorter in (said[:2], said[:5], said[:7]):
        before = recorded.codec.request(request(*shorter, cache_write=False)).body
        assert recorded.codec.request(whole).body.startswith(before.rstrip(b"]}"))


def test_an_event_that_is_no_json_is_told_and_half_a_character_is_let_be() -> None:
    with pytest.raises(ProviderError, match="no JSON: nope") as caught:
        read_json(ServerEvent("", "nope"))
    assert caught.value.kind == "server"
    assert read_json(ServerEvent("", r'{"a": "\ud800"}')) == {"a": "\ud800"}


def test_what_is_none_is_left_out_of_a_body() -> None:
    assert body({"a": None, "b": 0, "c": {"d": None}}) == b'{"b":0,"c":{"d":null}}'


@each_wire
def test_only_where_a_wire_has_no_end_of_its_own_may_a_stream_just_end(wire: str) -> None:
    recorded = WIRES[wire]
    decoder = recorded.codec.decoder()
    events = [ServerEvent("", event.partition(b"data: ")[2].decode()) for event in recorded.stream.split(b"\n\n")[:-1]]
    before = [decoder.feed(event) for event in events[:-1]]
    waited = decoder.may_end

    last = decoder.feed(events[-1])

    assert len(before) > 3
    assert not waited
    assert decoder.may_end is (wire == "gemini")
    ended = [*(last or ()), *(decoder.end() if wire == "gemini" else ())]
    assert isinstance(ended[-1], Finish)


def test_sse_of_a_text_is_that_text() -> None:
    assert sse("[DONE]") == b"data: [DONE]\n\n"


METADATA = {"user_id": "u-1", "team": 7, "tags": ["a"]}
LABELS = {"user_id": "u-1", "team": "7", "tags": '["a"]'}


@pytest.mark.parametrize(
    ("codec", "told"),
    [
        (AnthropicCodec(), {"user_id": "u-1"}),
        (ChatCodec(), None),
        (ChatCodec(ChatDialect(metadata=True)), LABELS),
        (ResponsesCodec(), LABELS),
        (GeminiCodec(), None),
    ],
    ids=["anthropic", "chat", "chat that takes it", "responses", "gemini"],
)
def test_n4_what_the_host_says_beside_a_request_goes_where_the_wire_has_a_place_for_it(codec: Codec, told: Any) -> None:
    assert sent(codec, request(metadata=METADATA)).get("metadata") == told
    for nothing in (None, {}, {"user_id": 7} if isinstance(codec, AnthropicCodec) else {}):
        assert "metadata" not in sent(codec, request(metadata=nothing))
