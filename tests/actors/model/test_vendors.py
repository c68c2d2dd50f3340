"""Each provider that a host names: where it asks, how it bears the key, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import (
    AnthropicProvider,
    ChatDialect,
    Credentials,
    GeminiProvider,
    OpenAIChat,
    OpenAIResponses,
    Provider,
    Refused,
)
from sapwood.actors.model.providers.openai_chat import COMPATIBLE, OPENAI, OPENROUTER
from sapwood.actors.model.vendors import dialect_of
from tests.serving import attempt, serving, whole
from tests.wires import KEY, WIRES, request


@pytest.mark.parametrize(
    ("make", "provider_id", "url", "api"),
    [
        (AnthropicProvider, "anthropic", "https://api.anthropic.com", "anthropic-messages"),
        (OpenAIChat, "openai", "https://api.openai.com/v1", "openai-completions"),
        (OpenAIResponses, "openai", "https://api.openai.com/v1", "openai-responses"),
        (GeminiProvider, "google", "https://generativelanguage.googleapis.com/v1beta", "google-generative-ai"),
    ],
)
def test_a_provider_asks_where_its_maker_serves_unless_told(make: Any, provider_id: str, url: str, api: str) -> None:
    provider: Provider = make(key=KEY)

    assert provider.id == provider_id
    assert f"at {url}, key: <Credentials: given>" in repr(provider)
    assert make(key=None).api == api
    assert make(key=None, provider_id="mine").id == "mine"


@pytest.mark.parametrize(
    ("wire", "path", "bears"),
    [
        ("anthropic", "/v1/messages", f"x-api-key: {KEY}"),
        ("openai_chat", "/chat/completions", f"authorization: Bearer {KEY}"),
        ("openai_responses", "/responses", f"authorization: Bearer {KEY}"),
        ("gemini", "/models/talker:streamGenerateContent?alt=sse", f"x-goog-api-key: {KEY}"),
    ],
)
async def test_a_request_bears_the_key_and_what_the_host_adds(wire: str, path: str, bears: str) -> None:
    recorded = WIRES[wire]
    async with serving(whole(recorded.stream)) as served:
        async with recorded.provider(
            key=Credentials.given(KEY), base_url=f"{served.url}/", headers={"X-Team": "a", "User-Agent": "mine"}
        ) as one:
            assert (await attempt(one, request()))[1] is None
        async with recorded.provider(key=None, base_url=served.url) as other:
            assert (await attempt(other, request()))[1] is None

    first, second = (said.partition(b"\r\n\r\n")[0].decode().split("\r\n") for said in served.requests)
    assert first[0] == f"POST {path} HTTP/1.1"
    assert {bears, "x-team: a", "user-agent: mine", "content-type: application/json"} <= set(first)
    assert KEY not in str(second)


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("https://api.openai.com/v1", OPENAI),
        ("https://openrouter.ai/api/v1", OPENROUTER),
        ("http://127.0.0.1:8080/v1", COMPATIBLE),
        ("https://api.openai.com.elsewhere.test/v1", COMPATIBLE),
        ("http://[", COMPATIBLE),
    ],
)
def test_a_dialect_goes_by_the_server(url: str, dialect: ChatDialect) -> None:
    assert dialect_of(url) == dialect


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"base_url": "api.openai.com"}, "base_url is an address"),
        ({"base_url": "ftp://x"}, "base_url is an address"),
        ({"base_url": 7}, "base_url is an address"),
        ({"idle": 0}, "idle is a number of seconds above 0"),
        ({"idle": float("nan")}, "idle is a number of seconds above 0"),
        ({"idle": True}, "idle is a number of seconds above 0"),
        ({"idle": "5"}, "idle is a number of seconds above 0"),
        ({"concurrency": 0}, "concurrency is a whole number from 1 on"),
        ({"concurrency": 2.5}, "concurrency is a whole number from 1 on"),
        ({"concurrency": True}, "concurrency is a whole number from 1 on"),
        ({"key": 7}, "a key is text"),
    ],
)
@pytest.mark.parametrize("make", [AnthropicProvider, OpenAIChat, OpenAIResponses, GeminiProvider])
def test_what_cannot_be_is_refused_at_once(make: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said):
        make(**{"key": KEY, **more})


def test_an_option_that_is_none_is_named() -> None:
    with pytest.raises(TypeError, match="OpenAIChat knows no option 'idel'"):
        OpenAIChat(key=KEY, idel=5)  # type: ignore[call-arg]  # the typing mistake is what is tried
