"""Gemini, as it goes out and comes in."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.actors.model.providers.gemini import REFUSALS, GeminiCodec
from sapwood.events.content import TextContent, ThinkingContent, ToolCall
from sapwood.events.failures import Failure
from sapwood.events.messages import NO_USAGE
from sapwood.events.models import Model
from tests.build import assistant, call, result, user
from tests.wires import WEATHER, WIRES, candidate, conversation, finish_of, head, request, said_by, sent, sse

CODEC = GeminiCodec()
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}


def test_a_request_says_all_of_a_conversation() -> None:
    body = sent(CODEC, request(*conversation(WIRES["gemini"]), thinking_level="high"))

    asked, answer, told, again, failed, notice, thanks = body.pop("contents")
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "weather", "description": "Tells the weather.", "parametersJsonSchema": WEATHER.parameters}
                ]
            }
        ],
        "generationConfig": {
            "maxOutputTokens": 8000,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"},
        },
    }
    assert asked == {"role": "user", "parts": [{"text": "What is it like in Paris?"}, IMAGE]}
    assert answer["role"] == "model"
    assert answer["parts"][-1] == {
        "functionCall": {"id": "fc1", "name": "weather", "args": {"city": "Paris", "days": 2}},
        "thoughtSignature": "c2ln",
    }
    assert told == {
        "role": "user",
        "parts": [{"functionResponse": {"id": "fc1", "name": "weather", "response": {"output": "18 °C"}}}, IMAGE],
    }
    [called], [answered] = again["parts"], failed["parts"]
    assert called["functionCall"]["id"] == answered["functionResponse"]["id"] != "a|b+c"
    assert answered["functionResponse"]["response"] == {"error": "no such city"}
    assert "Metric." in notice["parts"][0]["text"]
    assert thanks == {"role": "user", "parts": [{"text": "Thanks."}]}


def test_results_of_one_answer_go_in_one_content() -> None:
    body = sent(CODEC, request(user(), assistant(call("a"), call("b")), result("a"), result("b"), user("and now?")))

    assert [content["role"] for content in body["contents"]] == ["user", "model", "user", "user"]
    assert len(body["contents"][2]["parts"]) == 2


@pytest.mark.parametrize(
    ("by", "level", "said"),
    [
        ("effort", "off", None),
        ("effort", "xhigh", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("effort", "strange", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("budget", "low", {"includeThoughts": True, "thinkingBudget": 2048}),
    ],
)
def test_a_model_that_thinks_is_told_how_much(by: Any, level: str, said: Any) -> None:
    model = Model(provider="p", id="m", thinks=True, thinks_by=by, max_output=9)

    assert sent(CODEC, request(model=model, thinking_level=level))["generationConfig"].get("thinkingConfig") == said


def test_what_is_not_said_is_left_out() -> None:
    assert set(sent(CODEC, request(model=Model(provider="p", id="m"), thinking_level="high"))) == {"contents"}


def test_the_address_and_the_key() -> None:
    asked = CODEC.request(request(head(), user(), model=Model(provider="p", id="tuned/m")))

    assert asked.path == "/models/tuned%2Fm:streamGenerateContent?alt=sse"
    assert CODEC.authorization("k") == ("x-goog-api-key", "k")


def test_signatures_stay_on_the_part_that_they_came_on() -> None:
    stream = sse(
        candidate({"text": "hm", "thought": True}, {"text": "so", "thoughtSignature": "a"}, {"text": " on"}),
        candidate({"text": "", "thoughtSignature": "b"}, finish="STOP"),
    )
    content = finish_of(CODEC, stream).content or ()

    assert content == (
        ThinkingContent(thinking="hm"),
        TextContent(text="so", text_signature="a"),
        TextContent(text=" on", text_signature="b"),
    )
    parts = sent(CODEC, request(user(), assistant(*content)))["contents"][1]["parts"]
    assert parts == [
        {"text": "hm", "thought": True},
        {"text": "so", "thoughtSignature": "a"},
        {"text": " on", "thoughtSignature": "b"},
    ]


def test_calls_without_ids_are_two_calls() -> None:
    call_part = {"functionCall": {"name": "weather"}}
    finish = finish_of(CODEC, sse(candidate({"text": "so"}, call_part, call_part, finish="STOP")))

    calls = [block for block in finish.content or () if isinstance(block, ToolCall)]
    assert [(one.id, one.arguments) for one in calls] == [("r1-1", {}), ("r1-2", {})]
    assert finish.stop_reason == "toolUse"


@pytest.mark.parametrize("reason", ["STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "A_LATER_ONE"])
def test_each_reason_to_stop_is_told(reason: str) -> None:
    last = candidate({"text": "so"}, finish=reason)
    last["candidates"][0]["finishMessage"] = "for a reason"
    finish = finish_of(CODEC, sse(last))

    assert finish.stop_reason == {"STOP": "stop", "MAX_TOKENS": "length"}.get(reason, "error")
    if finish.stop_reason == "error":
        assert finish.error_message == f"the answer ended with {reason}: for a reason"
        assert finish.failure == Failure(kind="refused" if reason in REFUSALS else "server")
    else:
        assert (finish.error_message, finish.failure) == (None, None)


def test_a_prompt_that_was_blocked_is_a_refused_answer() -> None:
    finish = finish_of(
        CODEC, sse({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}})
    )

    assert (finish.stop_reason, finish.error_message) == ("error", "the answer ended with SAFETY")
    assert finish.failure == Failure(kind="refused")
    assert finish.usage.input == 9


def test_l04_odd_usage_says_nothing() -> None:
    odd: dict[str, Any] = {"promptTokenCount": -4, "candidatesTokenCount": "x"}

    assert finish_of(CODEC, sse({**candidate({"text": "so"}, finish="STOP"), "usageMetadata": odd})).usage == NO_USAGE


def test_tokens_that_tools_read_are_billed() -> None:
    usage = finish_of(
        CODEC, sse(candidate({"text": "so"}, finish="STOP", promptTokenCount=10, toolUsePromptTokenCount=5))
    ).usage

    assert (usage.input, usage.output) == (15, 0)


def test_a_chunk_may_come_in_a_list() -> None:
    assert said_by(finish_of(CODEC, sse([candidate({"text": "so"}, {"executableCode": {}}, finish="STOP")]))) == "so"
