"""Which model is asked, and the way to it, from what was typed.

1. A key comes from the environment variable that `--key-env` names, and from no other one (E3). It is taken out of the environment, so that
   no tool inherits it, and it is never shown; nor is what was typed in the place of a name.
2. `--base-url` is any server that speaks OpenAI's Chat Completions, and wants no key unless one is named.
3. The window is `--window`'s, or the catalogue's. Only of a server of one's own it may be unknown, and then that is said.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from sapwood.actors.model.credentials import Credentials
from sapwood.actors.model.http import HttpProvider
from sapwood.actors.model.vendors import AnthropicProvider, GeminiProvider, OpenAIChat, OpenAIResponses
from sapwood.cli.news import window_note
from sapwood.cli.trouble import Trouble
from sapwood.events.errors import Refused
from sapwood.events.models import Model
from sapwood.models import catalogue, known_model
from sapwood.words.hints import hint
from sapwood.words.wording import quoted


@attrs.frozen
class Vendor:
    """Who serves models under a name of their own."""

    key_variable: str
    """Where its keys are usually kept; read only if it is named."""
    provider: Callable[[Credentials], HttpProvider]


VENDORS: Final[Mapping[str, Vendor]] = {
    "anthropic": Vendor("ANTHROPIC_API_KEY", lambda key: AnthropicProvider(key=key)),
    "google": Vendor("GEMINI_API_KEY", lambda key: GeminiProvider(key=key)),
    # Responses rather than Chat Completions: there what a model thought goes back to it between its turns
    "openai": Vendor("OPENAI_API_KEY", lambda key: OpenAIResponses(key=key)),
}
"""By the part of a model's name before its slash."""
_A_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SURELY_A_NAME: Final = re.compile(r"[A-Z_][\dA-Z_]{0,60}", re.ASCII)
"""What is in capitals and underscores is repeated in a message; a key that was typed in its place is not."""


@attrs.frozen
class Choice:
    """Who is asked."""

    model: Model
    provider: HttpProvider
    note: str | None = None
    """What a person should know of it."""


def choose(name: str, *, base_url: str | None, key_env: str | None, window: int | None) -> Choice:
    """The model and the way to it. `Trouble` says what to do where that is not to be had."""
    try:
        declared: dict[str, Any] = {} if window is None else {"context_window": window}
        model = known_model(name, **declared)
        provider = _provider(model, base_url, key_env)
    except Refused as error:
        raise Trouble(str(error)) from error
    if model.context_window is not None:
        return Choice(model, provider)
    if base_url is None:
        near = hint(name, [known.key for known in catalogue() if known.provider == model.provider])
        raise Trouble(f"the window of {quoted(name)} is not known, so say it with --window N, in tokens{near}")
    return Choice(model, provider, window_note(name))


def _provider(model: Model, base_url: str | None, key_env: str | None) -> HttpProvider:
    if base_url is not None:
        key = None if key_env is None else key_in(key_env)
        return OpenAIChat(key=key, base_url=base_url, provider_id=model.provider)
    vendor = VENDORS.get(model.provider)
    if vendor is None:
        known = hint(model.provider, VENDORS)
        raise Trouble(
            f"--base-url URL names a server of your own; no provider is called {quoted(model.provider)}{known}"
        )
    if key_env is None:
        usual = vendor.key_variable
        raise Trouble(
            f"{model.provider} wants a key: export it in an environment variable and name that, such as --key-env {usual}"
        )
    return vendor.provider(key_in(key_env))


def key_in(variable: str) -> Credentials:
    """The key in this variable, which it is taken out of."""
    if not _A_NAME.fullmatch(variable):
        raise Trouble("--key-env takes the name of an environment variable, such as OPENAI_API_KEY, not a key")
    key = os.environ.pop(variable, "").strip()
    if not key:
        said = variable if _SURELY_A_NAME.fullmatch(variable) else "the variable that --key-env names"
        raise Trouble(f"{said} is not set, or empty: export it first, with the key in it")
    return Credentials.given(key)
