"""The providers that a host names: a wire, where its server is, and a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Unpack
from urllib.parse import urlsplit

from sapwood.actors.model.credentials import Credentials, KeySource
from sapwood.actors.model.http import HttpOptions, HttpProvider
from sapwood.actors.model.providers.anthropic import AnthropicCodec
from sapwood.actors.model.providers.gemini import GeminiCodec
from sapwood.actors.model.providers.openai_chat import COMPATIBLE, OPENAI, OPENROUTER, ChatCodec, ChatDialect
from sapwood.actors.model.providers.openai_responses import ResponsesCodec

Key = str | Credentials | KeySource | None
"""A key, or where it comes from; None for a server that wants none."""

OPENAI_URL: Final = "https://api.openai.com/v1"
DIALECTS: Final[Mapping[str, ChatDialect]] = {"api.openai.com": OPENAI, "openrouter.ai": OPENROUTER}
"""By the server's name; any other one is `COMPATIBLE`."""


class AnthropicProvider(HttpProvider):
    """Anthropic's Messages, at Anthropic or at any server that speaks them. See `HttpOptions` for the other keywords."""

    def __init__(
        self,
        *,
        key: Key,
        base_url: str = "https://api.anthropic.com",
        provider_id: str = "anthropic",
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(AnthropicCodec(), provider_id, base_url, Credentials.of(key), **options)


class OpenAIChat(HttpProvider):
    """OpenAI's Chat Completions, at OpenAI or at any server that speaks them: vLLM, llama.cpp, Ollama, OpenRouter …

    `dialect` is what such a server does otherwise; None: what is known of the one that `base_url` names. See `HttpOptions` for the other
    keywords.
    """

    def __init__(
        self,
        *,
        key: Key,
        base_url: str = OPENAI_URL,
        provider_id: str = "openai",
        dialect: ChatDialect | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        codec = ChatCodec(dialect or dialect_of(base_url))
        super().__init__(codec, provider_id, base_url, Credentials.of(key), **options)


class OpenAIResponses(HttpProvider):
    """OpenAI's Responses. See `HttpOptions` for the other keywords."""

    def __init__(
        self, *, key: Key, base_url: str = OPENAI_URL, provider_id: str = "openai", **options: Unpack[HttpOptions]
    ) -> None:
        super().__init__(ResponsesCodec(), provider_id, base_url, Credentials.of(key), **options)


class GeminiProvider(HttpProvider):
    """Google's Gemini. See `HttpOptions` for the other keywords."""

    def __init__(
        self,
        *,
        key: Key,
        base_url: str = "https://generativelanguage.googleapis.com/v1beta",
        provider_id: str = "google",
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(GeminiCodec(), provider_id, base_url, Credentials.of(key), **options)


def dialect_of(base_url: str) -> ChatDialect:
    """What is known of the server at an address."""
    try:
        host = urlsplit(base_url).hostname or ""
    except (ValueError, AttributeError, TypeError):  # no address at all: the provider says so
        host = ""
    return DIALECTS.get(host, COMPATIBLE)
