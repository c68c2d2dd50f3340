"""Chat Completions, as they go out."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.actors.model.providers.openai_chat import COMPATIBLE, IMAGES_OF, OPENAI, OPENROUTER, ChatCodec, ChatDialect
from sapwood.events.content import ThinkingContent
from sapwood.events.models import Model
from tests.build import assistant, call, result, text, user
from tests.wires import PIXEL, WEATHER, WIRES, conversation, head, request, sent

CODEC = ChatCodec()
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def test_a_request_says_all_of_a_conversation() -> None:
    body = sent(CODEC, request(*conversation(WIRES["openai_chat"]), thinking_level="high", cache_key="s1"))

    first, asked, answer, told, images, again, failed, notice, thanks = body.pop("messages")
    assert body == {
        "model": "talker",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 8000,
        "reasoning_effort": "high",
        "prompt_cache_key": "s1",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tells the weather.",
                    "parameters": WEATHER.parameters,
                },
            }
        ],
    }
    assert first == {"role": "system", "content": "Be brief."}
    assert asked == {"role": "user", "content": [{"type": "text", "text": "What is it like in Paris?"}, IMAGE]}
    assert (answer["role"], answer["reasoning_content"]) == ("assistant", "Paris, then.")
    assert answer["tool_calls"] == [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city":"Paris","days":2}'},
        }
    ]
    assert told == {"role": "tool", "tool_call_id": "call_1", "content": "18 °C"}
    assert images == {"role": "user", "content": [{"type": "text", "text": IMAGES_OF}, IMAGE]}
    assert again["content"] is None
    assert again["tool_calls"][0]["id"] == failed["tool_call_id"] != "a|b+c"
    assert (notice["role"], "Metric." in notice["content"]) == ("user", True)
    assert thanks == {"role": "user", "content": "Thanks."}


def test_images_of_results_follow_behind_all_results() -> None:
    pictures = result("a").__class__(
        tool_call_id=result("a").tool_call_id, tool_name="read", content=(PIXEL,), is_error=False, timestamp=0
    )
    body = sent(CODEC, request(user(), assistant(call("a"), call("b")), pictures, result("b")))

    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "tool", "user"]
    assert body["messages"][2]["content"] == "(see the images below)"
    assert body["messages"][4]["content"][1:] == [IMAGE]


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("reasoning", {"reasoning": "hm"}),
        ("reasoning_content", {"reasoning_content": "hm"}),
        (
            '[{"type":"reasoning.encrypted","data":"x"}]',
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
        ),
        ("of another wire", {}),
        (None, {}),
    ],
)
def test_thinking_goes_back_as_it_came_or_not_at_all(signature: str | None, said: dict[str, Any]) -> None:
    thought = ThinkingContent(thinking="hm", thinking_signature=signature)
    body = sent(CODEC, request(user(), assistant(thought, "so")))

    assert body["messages"][1] == {"role": "assistant", "content": "so", **said}


def test_two_thoughts_of_one_answer_go_back_as_one() -> None:
    thoughts = [ThinkingContent(thinking=one, thinking_signature="reasoning") for one in ("a", "b")]

    assert sent(CODEC, request(user(), assistant(*thoughts, "so")))["messages"][1]["reasoning"] == "ab"


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        (OPENAI, {"max_completion_tokens": 8000, "reasoning_effort": "low", "prompt_cache_key": "k"}),
        (COMPATIBLE, {"max_tokens": 8000, "reasoning_effort": "low"}),
        (OPENROUTER, {"max_tokens": 8000, "reasoning": {"effort": "low"}}),
        (ChatDialect(effort=None, usage_in_stream=False), {"max_tokens": 8000}),
    ],
)
def test_servers_are_told_in_their_own_way(dialect: ChatDialect, said: dict[str, Any]) -> None:
    body = sent(ChatCodec(dialect), request(thinking_level="low", cache_key="k"))
    common = {"model", "stream", "stream_options", "messages"}

    assert {key: value for key, value in body.items() if key not in common} == said
    assert ("stream_options" in body) is dialect.usage_in_stream


def test_what_is_not_said_is_left_out() -> None:
    body = sent(CODEC, request(user("x"), model=Model(provider="p", id="org/m"), thinking_level="high"))

    assert set(body) == {"model", "stream", "stream_options", "messages"}
    assert body["messages"] == [{"role": "user", "content": "x"}]


def test_a_text_alone_is_no_list_of_parts() -> None:
    assert sent(CODEC, request(head(), user((text("x"),))))["messages"][1]["content"] == "x"


def test_the_address_and_the_key() -> None:
    assert CODEC.request(request()).path == "/chat/completions"
    assert CODEC.authorization("k") == ("authorization", "Bearer k")
    assert CODEC.wire == "openai-completions"
