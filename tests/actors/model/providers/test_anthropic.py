"""Anthropic's Messages, as they go out and come in."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood.actors.model.providers.anthropic import DEFAULT_OUTPUT, STOPS, AnthropicCodec
from sapwood.events.content import ThinkingContent
from sapwood.events.failures import Failure
from sapwood.events.messages import NO_USAGE
from sapwood.events.models import Model
from tests.build import assistant, call, result, user
from tests.wires import (
    MESSAGE_START,
    PIXEL,
    WEATHER,
    WIRES,
    anthropic,
    call_of,
    conversation,
    decode,
    finish_of,
    head,
    request,
    said_by,
    sent,
    thought_of,
)

CODEC = AnthropicCodec()
MARK = {"type": "ephemeral"}


def test_a_request_says_all_of_a_conversation() -> None:
    body = sent(CODEC, request(*conversation(WIRES["anthropic"]), thinking_level="high"))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}

    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    assert body["tools"] == [
        {
            "name": "weather",
            "description": "Tells the weather.",
            "input_schema": WEATHER.parameters,
            "cache_control": MARK,
        }
    ]
    assert (body["model"], body["max_tokens"], body["stream"]) == ("talker", 8000, True)
    assert (body["thinking"], body["output_config"]) == ({"type": "adaptive"}, {"effort": "high"})
    asked, answer, told, again, failed, notice, thanks = body["messages"]
    assert asked == {"role": "user", "content": [{"type": "text", "text": "What is it like in Paris?"}, image]}
    assert answer["content"][0] == {"type": "thinking", "thinking": "Paris, then.", "signature": "c2ln=="}
    assert answer["content"][2] == {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "weather",
        "input": {"city": "Paris", "days": 2},
    }
    assert told["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "18 °C"}, image]}
    ]
    [called], [answered] = again["content"], failed["content"]
    assert called["id"] == answered["tool_use_id"] != "a|b+c"
    assert answered["is_error"] is True
    assert "Metric." in notice["content"][0]["text"]
    assert thanks == {"role": "user", "content": [{"type": "text", "text": "Thanks.", "cache_control": MARK}]}


def test_results_of_one_answer_go_in_one_message_and_what_follows_in_its_own() -> None:
    body = sent(CODEC, request(user(), assistant(call("a"), call("b")), result("a"), result("b"), user("and now?")))

    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user", "user"]
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ["a", "b"]


def test_no_mark_stands_where_nothing_is_to_be_written() -> None:
    asked = request(head("Be brief.", WEATHER), user(), cache_write=False)

    assert b"cache_control" not in CODEC.request(asked).body


def test_an_answer_at_the_end_bears_no_mark() -> None:
    assert "cache_control" not in str(sent(CODEC, request(user(), assistant("so")))["messages"])


@pytest.mark.parametrize(
    ("thinks", "by", "level", "most", "said"),
    [
        (False, "effort", "high", 8000, {}),
        (True, "effort", "off", 8000, {}),
        (True, "effort", "minimal", 8000, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        (True, "budget", "medium", 64_000, {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
        (True, "budget", "high", 8_000, {"thinking": {"type": "enabled", "budget_tokens": 6976}}),
        (True, "budget", "strange", 64_000, {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
        (True, "budget", "low", 2_000, {}),
    ],
)
def test_a_model_that_thinks_is_told_how_much(
    thinks: bool, by: Any, level: str, most: int, said: dict[str, Any]
) -> None:
    model = Model(provider="p", id="m", thinks=thinks, thinks_by=by, max_output=most)
    body = sent(CODEC, request(model=model, thinking_level=level))

    assert {key: body[key] for key in ("thinking", "output_config") if key in body} == said


def test_a_limit_is_always_said() -> None:
    assert sent(CODEC, request(model=Model(provider="p", id="m")))["max_tokens"] == DEFAULT_OUTPUT


def test_the_address_the_version_and_the_key() -> None:
    asked = CODEC.request(request())

    assert asked.path == "/v1/messages"
    assert asked.headers == (("anthropic-version", "2023-06-01"),)
    assert CODEC.authorization("k") == ("x-api-key", "k")


def test_what_was_redacted_goes_back_as_it_came() -> None:
    stream = anthropic(
        MESSAGE_START,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "redacted_thinking", "data": "ZGF0YQ=="}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "so"}},
        {"type": "message_stop"},
    )
    finish = finish_of(CODEC, stream)

    assert thought_of(finish) == ThinkingContent(thinking="", thinking_signature="ZGF0YQ==", redacted=True)
    body = sent(CODEC, request(user(), assistant(*(finish.content or ()))))
    assert body["messages"][1]["content"] == [
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "so"},
    ]


def test_a_server_that_says_all_at_the_start_of_a_block_is_heard() -> None:
    stream = anthropic(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "hm"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "so"}},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "t", "name": "w", "input": {"a": None}},
        },
        {"type": "content_block_start", "index": 3, "content_block": {"type": "server_tool_use", "id": "s"}},
        {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta"}},
        {"type": "message_stop"},
    )
    finish = finish_of(CODEC, stream)

    assert (thought_of(finish).thinking, said_by(finish), call_of(finish).arguments) == ("hm", "so", {"a": None})
    assert finish.stop_reason == "toolUse"
    assert finish.usage == NO_USAGE


@pytest.mark.parametrize("reason", [*STOPS, "a_later_one", None])
def test_each_reason_to_stop_is_told(reason: str | None) -> None:
    details = {"type": "refusal", "explanation": "not this"}
    stream = anthropic(
        MESSAGE_START,
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_details": details},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    )
    finish = finish_of(CODEC, stream)

    told = STOPS.get(reason or "", "stop")
    assert finish.stop_reason == ("stop" if told == "toolUse" else told)  # no tool is called
    assert finish.raw_stop_reason == reason
    assert finish.usage.output == 9
    refused = ("refusal: not this", Failure(kind="refused")) if reason == "refusal" else (None, None)
    assert (finish.error_message, finish.failure) == refused


def test_l04_counts_are_cumulative_and_what_is_no_count_says_nothing() -> None:
    odd = {
        "input_tokens": "7",
        "output_tokens": -3,
        "cache_read_input_tokens": None,
        "cache_creation": {"ephemeral_1h_input_tokens": 4},
    }
    stream = anthropic(
        {**MESSAGE_START, "message": {"usage": odd}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 5}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 2}},
        },
        {"type": "message_delta", "delta": {}, "usage": None},
        {"type": "message_stop"},
    )
    usage = finish_of(CODEC, stream).usage

    assert (usage.input, usage.output, usage.reasoning, usage.cache_write_1h, usage.total_tokens) == (7, 9, 2, 4, 16)


def test_a_call_that_was_cut_off_says_so() -> None:
    stream = anthropic(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "w", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"city": "Pa'},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    )
    finish = finish_of(CODEC, stream)

    assert (finish.stop_reason, call_of(finish).arguments, call_of(finish).arguments_error) == (
        "length",
        {},
        '{"city": "Pa',
    )


def test_what_was_billed_is_known_before_the_end() -> None:
    decoder = CODEC.decoder()
    assert decoder.usage == NO_USAGE
    from sapwood.actors.model.sse import ServerEvent

    decoder.feed(ServerEvent("", msgspec.json.encode(MESSAGE_START).decode()))

    assert (decoder.usage.input, decoder.usage.output) == (100, 1)


def test_a_picture_alone_is_a_message() -> None:
    assert sent(CODEC, request(user((PIXEL,)), cache_write=False))["messages"][0]["content"][0]["type"] == "image"
    assert decode(CODEC, anthropic({"type": "message_stop"}))[-1].content == ()  # type: ignore[union-attr]
