"""Chunks of Chat Completions, as the servers of the world stream them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sapwood.actors.model.providers.openai_chat import ChatCodec, ChatDialect
from sapwood.actors.model.providers.openai_chunks import REFUSALS, STOPS
from sapwood.events.content import ThinkingContent, ToolCall
from sapwood.events.deltas import TextEnd, TextStart, ThinkingEnd, ThinkingStart, ToolCallStart
from sapwood.events.errors import ProviderError
from sapwood.events.messages import NO_USAGE
from tests.wires import CHAT_USAGE, call_of, chunk, decode, finish_of, said_by, sse, thought_of

CODEC = ChatCodec()
STOP = chunk({}, "stop")


def usage_with(*chunks: dict[str, Any]) -> dict[str, Any]:
    usage = finish_of(CODEC, sse(*chunks, "[DONE]")).usage
    return {name: value for name, value in msgspec.structs.asdict(usage).items() if value and name != "cost"}


def calls(*deltas: Any) -> list[tuple[str, str, dict[str, Any]]]:
    chunks = [chunk({"tool_calls": delta}) for delta in deltas]
    finish = finish_of(CODEC, sse(*chunks, chunk({}, "tool_calls"), "[DONE]"))
    return [(block.id, block.name, block.arguments) for block in finish.content or () if isinstance(block, ToolCall)]


def f(arguments: Any = "", name: str | None = None) -> dict[str, Any]:
    return {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}


def test_a_block_ends_where_another_one_begins() -> None:
    pieces = decode(
        CODEC, sse(chunk({"reasoning": "a"}), chunk({"content": "b"}), chunk({"reasoning": "c"}), STOP, "[DONE]")
    )

    assert [piece.content_index for piece in pieces if isinstance(piece, ThinkingStart | ThinkingEnd)] == [0, 0, 2, 2]
    assert [piece.content_index for piece in pieces if isinstance(piece, TextStart | TextEnd)] == [1, 1]


@pytest.mark.parametrize(
    "deltas",
    [
        # as it is written
        (
            [{"index": 0, "id": "a", "function": f("", "read")}],
            [{"index": 0, "function": f('{"x":')}],
            [{"index": 1, "id": "b", "function": f("{}", "list")}],
            [{"index": 0, "function": f("1}")}],
        ),
        # all at once
        (
            [
                {"index": 0, "id": "a", "function": f('{"x":1}', "read")},
                {"index": 1, "id": "b", "function": f("{}", "list")},
            ],
        ),
        # without numbers
        (
            [{"id": "a", "function": f('{"x":', "read")}],
            [{"function": f("1}")}],
            [{"id": "b", "function": f("{}", "list")}],
        ),
        # with one number for all
        (
            [{"index": 0, "id": "a", "function": f('{"x":', "read")}],
            [{"index": 0, "id": "a", "function": f("1}")}],
            [{"index": 0, "id": "b", "function": f("{", "list")}],
            [{"index": 0, "function": f("}")}],
        ),
        # arguments as a value
        (
            [
                {"index": 0, "id": "a", "function": f({"x": 1}, "read")},
                {"index": 1, "id": "b", "function": f(None, "list")},
            ],
        ),
    ],
    ids=["written", "at once", "without numbers", "one number", "values"],
)
def test_calls_are_told_apart_however_they_are_counted(deltas: tuple[Any, ...]) -> None:
    assert calls(*deltas) == [("a", "read", {"x": 1}), ("b", "list", {})]


def test_a_call_without_an_id_gets_one_that_no_other_call_has() -> None:
    assert calls([{"index": 0, "function": f("{}", "a")}], [{"index": 1, "function": f("{}", "b")}]) == [
        ("chatcmpl-1-0", "a", {}),
        ("chatcmpl-1-1", "b", {}),
    ]


def test_the_old_way_to_call_is_understood() -> None:
    stream = sse(
        chunk({"function_call": f("{", "read")}), chunk({"function_call": f("}")}), chunk({}, "function_call"), "[DONE]"
    )

    assert call_of(finish_of(CODEC, stream)).name == "read"


def test_a_call_begins_when_its_name_is_known() -> None:
    pieces = decode(
        CODEC, sse(chunk({"tool_calls": [{"index": 0, "id": "a", "function": f("{}", "read")}]}), STOP, "[DONE]")
    )

    assert [piece.tool_name for piece in pieces if isinstance(piece, ToolCallStart)] == ["read"]


@pytest.mark.parametrize("reason", [*STOPS, "a_later_one"])
def test_each_reason_to_stop_is_told(reason: str) -> None:
    finish = finish_of(CODEC, sse(chunk({"content": "so"}), chunk({}, reason), "[DONE]"))

    expected = STOPS.get(reason, "stop")
    assert finish.stop_reason == ("stop" if expected == "toolUse" else expected)
    assert finish.raw_stop_reason == reason
    kind = None if finish.failure is None else finish.failure.kind
    assert kind == (None if expected != "error" else "refused" if reason in REFUSALS else "server")
    assert (finish.error_message is not None) is (expected == "error")


def test_a_call_is_a_call_though_the_server_says_that_it_just_stopped() -> None:
    stream = sse(chunk({"tool_calls": [{"index": 0, "id": "a", "function": f("{}", "read")}]}), STOP, "[DONE]")

    assert finish_of(CODEC, stream).stop_reason == "toolUse"


def test_l04_usage_is_found_wherever_it_stands() -> None:
    whole = {"input": 100, "output": 50, "cache_read": 300, "cache_write": 20, "reasoning": 7, "total_tokens": 470}

    assert usage_with(STOP, chunk(usage=CHAT_USAGE)) == whole
    assert usage_with(chunk({}, "stop", usage=CHAT_USAGE)) == whole
    assert usage_with(STOP, chunk(x_groq={"usage": CHAT_USAGE})) == whole
    in_choice = chunk({}, "stop")
    in_choice["choices"][0]["usage"] = CHAT_USAGE
    assert usage_with(in_choice) == whole
    assert usage_with(
        STOP, chunk(usage={"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4})
    ) == {
        "input": 6,
        "output": 2,
        "cache_read": 4,
        "total_tokens": 12,
    }


def test_l04_of_several_usages_the_last_one_counts_and_an_odd_one_does_not() -> None:
    first = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
    last = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    odd = {"prompt_tokens": -1, "completion_tokens": None, "total_tokens": "many"}

    assert usage_with(chunk({"content": "a"}, usage=first), STOP, chunk(usage=last), chunk(usage=odd)) == {
        "input": 10,
        "output": 5,
        "total_tokens": 15,
    }
    assert finish_of(CODEC, sse(STOP, "[DONE]")).usage == NO_USAGE
    assert finish_of(CODEC, sse(STOP, chunk(usage=odd), "[DONE]")).usage == NO_USAGE


def test_thinking_that_is_billed_beside_the_answer_is_counted() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 17,
        "completion_tokens_details": {"reasoning_tokens": 5},
    }

    assert usage_with(STOP, chunk(usage=usage)) == {"input": 10, "output": 7, "reasoning": 5, "total_tokens": 17}


def test_the_servers_own_price_is_the_cost() -> None:
    cost = finish_of(CODEC, sse(STOP, chunk(usage={**CHAT_USAGE, "cost": 0.0125}), "[DONE]")).usage.cost

    assert cost is not None
    assert (cost.total, cost.total_from_provider) == (0.0125, True)


def test_details_of_thinking_go_back_as_they_came() -> None:
    details = [
        {"type": "reasoning.text", "index": 0, "text": "Par", "format": "x"},
        {"type": "reasoning.text", "index": 0, "text": "is", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "abc"},
        "odd",
    ]
    stream = sse(
        chunk({"reasoning": "Par", "reasoning_details": details[:1]}),
        chunk({"reasoning": "is", "reasoning_details": details[1:]}),
        chunk({"content": "so"}),
        chunk({"reasoning": "more"}),
        STOP,
        "[DONE]",
    )
    finish = finish_of(CODEC, stream)
    first, second = [block for block in finish.content or () if isinstance(block, ThinkingContent)]

    assert json.loads(first.thinking_signature or "") == [
        {"type": "reasoning.text", "index": 0, "text": "Paris", "format": "x", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "abc"},
        {"data": "odd"},
    ]
    assert (second.thinking, second.thinking_signature) == ("more", "")


def test_details_without_words_are_a_thought_of_nothing() -> None:
    detail = {"type": "reasoning.encrypted", "data": "abc"}
    stream = sse(chunk({"reasoning_details": [detail]}), chunk({"content": "so"}), STOP, "[DONE]")

    assert thought_of(finish_of(CODEC, stream)).thinking_signature == '[{"type":"reasoning.encrypted","data":"abc"}]'


def test_a_refusal_is_what_is_said() -> None:
    assert said_by(finish_of(CODEC, sse(chunk({"refusal": "no"}), STOP, "[DONE]"))) == "no"


def test_a_server_without_a_mark_may_just_end_and_another_one_may_not() -> None:
    lenient = ChatCodec(ChatDialect(done_mark=False))

    assert said_by(finish_of(lenient, sse(chunk({"content": "so"}), STOP))) == "so"
    for codec, stream in ((CODEC, sse(STOP)), (lenient, sse(chunk({"content": "so"}))), (CODEC, sse("[DONE]"))):
        with pytest.raises(ProviderError) as caught:
            decode(codec, stream)
        assert caught.value.kind == "cut_off"


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"error": {"message": "x", "code": 502}}, "server"),
        ({"object": "error", "message": "maximum context length is 10 tokens", "code": 400}, "overflow"),
        ({"error": "overloaded, rate limit"}, "rate_limit"),
    ],
)
def test_an_error_in_a_stream_is_told(event: Any, kind: str) -> None:
    with pytest.raises(ProviderError) as caught:
        decode(CODEC, sse(chunk({"content": "so"}), event))

    assert caught.value.kind == kind


def test_a_chunk_that_says_nothing_is_no_news() -> None:
    decoder = CODEC.decoder()
    from sapwood.actors.model.sse import ServerEvent

    assert decoder.feed(ServerEvent("", json.dumps(chunk({})))) is None
    assert decoder.feed(ServerEvent("", json.dumps(chunk({"content": ""})))) is None
    assert decoder.feed(ServerEvent("", json.dumps(chunk({"role": "assistant"})))) == []
