"""Responses, as they go out and come in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sapwood.actors.model.providers.openai_responses import ResponsesCodec
from sapwood.events.content import TextContent, ThinkingContent
from sapwood.events.errors import ProviderError
from sapwood.events.failures import Failure
from sapwood.events.models import Model
from tests.build import assistant, user
from tests.wires import (
    PIXEL,
    RESPONSES,
    RESPONSES_USAGE,
    TEXT,
    WEATHER,
    WIRES,
    call_of,
    conversation,
    decode,
    finish_of,
    head,
    item,
    request,
    response,
    responses,
    said_by,
    sent,
    thought_of,
)

CODEC = ResponsesCodec()
IMAGE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def test_a_request_says_all_of_a_conversation() -> None:
    body = sent(CODEC, request(*conversation(WIRES["openai_responses"]), thinking_level="high", cache_key="s1"))

    asked, thought, said, called, told, again, failed, notice, thanks = body.pop("input")
    assert body == {
        "model": "talker",
        "stream": True,
        "store": False,
        "max_output_tokens": 8000,
        "reasoning": {"effort": "high", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "s1",
        "instructions": "Be brief.",
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": "Tells the weather.",
                "parameters": WEATHER.parameters,
                "strict": False,
            }
        ],
    }
    assert asked == {"role": "user", "content": [{"type": "input_text", "text": "What is it like in Paris?"}, IMAGE]}
    assert thought == {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Paris, then."}],
        "encrypted_content": "ZW5j",
    }
    assert said == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
    }
    assert called == {
        "type": "function_call",
        "call_id": "call_1",
        "name": "weather",
        "arguments": '{"city":"Paris","days":2}',
    }
    assert told == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": [{"type": "input_text", "text": "18 °C"}, IMAGE],
    }
    assert again["call_id"] == failed["call_id"] != "a|b+c"
    assert failed["output"] == "no such city"
    assert (notice["role"], "Metric." in notice["content"]) == ("developer", True)
    assert thanks == {"role": "user", "content": "Thanks."}


def test_what_is_not_said_is_left_out() -> None:
    body = sent(CODEC, request(user("x"), model=Model(provider="p", id="m"), thinking_level="high"))

    assert set(body) == {"model", "stream", "store", "input"}


def test_an_answer_may_never_be_too_short_for_the_wire() -> None:
    assert sent(CODEC, request(max_output=1))["max_output_tokens"] == 16


def test_a_thought_of_another_wire_does_not_go() -> None:
    thought = ThinkingContent(thinking="hm", thinking_signature="c2ln")
    spoken = TextContent(text="so", text_signature="[1]")

    assert [one.get("type") for one in sent(CODEC, request(user(), assistant(thought, spoken)))["input"]] == [
        None,
        "message",
    ]


@pytest.mark.parametrize(
    ("kind", "more", "stop", "raw", "failed"),
    [
        ("completed", {}, "stop", "completed", None),
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "length", "max_output_tokens", None),
        (
            "incomplete",
            {"incomplete_details": {"reason": "content_filter"}},
            "error",
            "content_filter",
            Failure(kind="refused"),
        ),
        ("incomplete", {}, "length", "incomplete", None),
    ],
)
def test_each_end_is_told(kind: str, more: dict[str, Any], stop: str, raw: str, failed: Failure | None) -> None:
    end = {"type": f"response.{kind}", "response": response(kind, usage=RESPONSES_USAGE, **more)}
    finish = finish_of(CODEC, responses(end))

    assert (finish.stop_reason, finish.raw_stop_reason, finish.failure) == (stop, raw, failed)
    assert finish.usage.total_tokens == 470


def test_a_failed_answer_is_the_worlds_fault_and_was_billed() -> None:
    error = {"code": "rate_limit_exceeded", "message": "Please try again in 3s."}
    end = {"type": "response.failed", "response": response("failed", error=error, usage=RESPONSES_USAGE)}
    decoder = CODEC.decoder()
    from sapwood.actors.model.sse import ServerEvent

    with pytest.raises(ProviderError) as caught:
        decoder.feed(ServerEvent("", json.dumps(end)))

    assert (caught.value.kind, caught.value.retry_after_ms) == ("rate_limit", 3000)
    assert decoder.usage.total_tokens == 470


def test_what_an_item_says_at_last_is_what_it_is() -> None:
    stream = responses(
        {"type": "response.output_text.delta", "output_index": 0, "delta": "sp"},
        item(
            "done",
            0,
            {
                "type": "message",
                "content": [{"type": "output_text", "text": "so"}, {"type": "refusal", "refusal": " no"}],
            },
        ),
        item("added", 1, {"type": "function_call", "id": "fc_1", "name": "weather"}),
        {"type": "response.function_call_arguments.done", "output_index": 1, "arguments": '{"city": "Rome"}'},
        item("done", 1, {"type": "function_call", "id": "fc_1", "name": "weather", "arguments": ""}),
        item("done", 2, {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "hm"}]}),
        item("done", 3, {"type": "web_search_call", "id": "ws_1"}),
        {"type": "response.completed", "response": response("completed")},
    )
    finish = finish_of(CODEC, stream)

    assert said_by(finish) == "so no"
    assert (call_of(finish).id, call_of(finish).arguments) == ("fc_1", {"city": "Rome"})
    assert (thought_of(finish).thinking, thought_of(finish).thinking_signature) == ("hm", None)
    assert finish.stop_reason == "toolUse"


def test_parts_of_a_thought_have_a_blank_line_between_them() -> None:
    parts = [
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": number, "delta": said}
        for number, said in ((0, "a"), (0, "b"), (1, "c"), (1, "d"))
    ]
    stream = responses(*parts, {"type": "response.completed", "response": response("completed")})

    assert thought_of(finish_of(CODEC, stream)).thinking == "ab\n\ncd"


def test_a_thought_in_words_of_its_own_is_one() -> None:
    stream = responses(
        {"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "hm"},
        {"type": "response.completed", "response": response("completed")},
    )

    assert thought_of(finish_of(CODEC, stream)).thinking == "hm"


def test_the_address_and_the_key() -> None:
    assert CODEC.request(request(head(), user((PIXEL,)))).path == "/responses"
    assert CODEC.authorization("k") == ("authorization", "Bearer k")
    assert decode(CODEC, RESPONSES)[-1] == finish_of(CODEC, RESPONSES)
