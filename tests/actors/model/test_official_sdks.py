"""The makers' own libraries read our recorded streams as we do, and take the requests that we make."""

from __future__ import annotations

import json
from typing import Any, get_type_hints

import anthropic
import httpx
import httpx2
import openai
import pydantic
import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google import genai
from google.genai import types as google
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

from tests.wires import ANTHROPIC, ARGUMENTS, CHAT, GEMINI, RESPONSES, TEXT, THOUGHT, WIRES, conversation, request, sent


def playing(stream: bytes) -> httpx.MockTransport:
    def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream)

    return httpx.MockTransport(respond)


def served(stream: bytes) -> httpx2.Client:
    """The same for libraries that have left httpx for its successor."""

    def respond(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)

    return httpx2.Client(transport=httpx2.MockTransport(respond))


def exhausted(value: Any) -> None:
    """Look at all of it: what is iterable is checked only then."""
    if isinstance(value, str | bytes):
        return
    inside = value.values() if hasattr(value, "values") else value if hasattr(value, "__iter__") else ()
    for one in inside:
        exhausted(one)


@pytest.mark.parametrize(
    ("wire", "params"),
    [
        ("anthropic", MessageCreateParamsStreaming),
        ("openai_chat", CompletionCreateParamsStreaming),
        ("openai_responses", ResponseCreateParamsStreaming),
    ],
)
@pytest.mark.slow
def test_a_request_is_one_of_the_makers_own(wire: str, params: Any) -> None:
    recorded = WIRES[wire]
    body = sent(recorded.codec, request(*conversation(recorded), thinking_level="high", cache_key="s1"))

    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(params)  # held: what it gives asks it again
    exhausted(adapter.validate_python(body))
    assert set(body) <= set(get_type_hints(params))


def test_a_request_to_gemini_is_one_of_googles_own() -> None:
    recorded = WIRES["gemini"]
    body = sent(recorded.codec, request(*conversation(recorded), thinking_level="high"))

    contents = [google.Content.model_validate(content) for content in body["contents"]]
    assert contents[1].parts
    google.Content.model_validate(body["systemInstruction"])
    google.GenerationConfig.model_validate(body["generationConfig"])
    [tool] = [google.Tool.model_validate(tool) for tool in body["tools"]]
    assert tool.function_declarations
    assert [one.name for one in tool.function_declarations] == ["weather"]


def test_anthropics_library_reads_our_stream_as_we_do() -> None:
    client = anthropic.Anthropic(api_key="k", http_client=served(ANTHROPIC))
    with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream:
        message = stream.get_final_message()
    thought, said, call = message.content

    assert (thought.type, said.type, call.type) == ("thinking", "text", "tool_use")
    assert thought.type == "thinking"
    assert (thought.thinking, thought.signature) == (THOUGHT, "c2ln==")
    assert said.type == "text"
    assert said.text == TEXT
    assert call.type == "tool_use"
    assert (call.id, call.name, call.input) == ("toolu_1", "weather", ARGUMENTS)
    assert (message.usage.input_tokens, message.usage.output_tokens, message.stop_reason) == (100, 50, "tool_use")


def test_openais_library_reads_our_chunks_as_we_do() -> None:
    client = openai.OpenAI(api_key="k", http_client=served(CHAT))
    chunks = list(client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True))
    deltas = [choice.delta for one in chunks for choice in one.choices]
    calls = [call for delta in deltas for call in delta.tool_calls or ()]

    assert "".join(delta.content or "" for delta in deltas) == TEXT
    assert calls[0].id == "call_1"
    assert json.loads("".join((call.function and call.function.arguments) or "" for call in calls)) == ARGUMENTS
    [usage] = [one.usage for one in chunks if one.usage]
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (420, 50, 470)


def test_openais_library_reads_our_events_of_responses_as_we_do() -> None:
    client = openai.OpenAI(api_key="k", http_client=served(RESPONSES))
    events = list(client.responses.create(model="m", input="x", stream=True))
    [last] = [event.response for event in events if event.type == "response.completed"]
    [call] = [item for item in last.output if item.type == "function_call"]

    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == TEXT
    assert (last.output_text, call.call_id, json.loads(call.arguments)) == (TEXT, "call_1", ARGUMENTS)
    assert last.usage is not None
    assert last.usage.total_tokens == 470


@pytest.mark.slow
def test_googles_library_reads_our_chunks_as_we_do() -> None:
    options = google.HttpOptions(httpx_client=httpx.Client(transport=playing(GEMINI)))
    client = genai.Client(api_key="k", http_options=options)
    models: Any = client.models  # its own types are not all known
    chunks: list[google.GenerateContentResponse] = list(models.generate_content_stream(model="gemini-x", contents="x"))
    parts = [
        part
        for one in chunks
        for candidate in one.candidates or ()
        for part in (candidate.content.parts if candidate.content and candidate.content.parts else ())
    ]
    [call] = [part.function_call for part in parts if part.function_call]

    assert "".join(part.text or "" for part in parts if not part.thought) == TEXT
    assert "".join(part.text or "" for part in parts if part.thought) == THOUGHT
    assert (call.id, call.name, call.args) == ("fc1", "weather", ARGUMENTS)
    usage = chunks[-1].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.total_token_count) == (420, 470)
