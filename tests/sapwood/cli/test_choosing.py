"""Which model is asked, and with which key."""

from __future__ import annotations

import os

import pytest

from sapwood.cli.choosing import VENDORS, choose
from sapwood.cli.trouble import Trouble
from sapwood.models import catalogue

KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize("model", catalogue(), ids=lambda model: model.key)
def test_every_model_of_the_catalogue_can_be_chosen(
    model: object, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("K", KEY)
    choice = choose(request.node.callspec.id, base_url=None, key_env="K", window=None)

    assert choice.model == model
    assert choice.provider.id == choice.model.provider
    assert choice.note is None
    assert KEY not in repr(choice)


def test_a_window_that_is_given_wins_over_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in ("openai/gpt-4.1", "openai/new"):
        monkeypatch.setenv("K", KEY)
        assert choose(model, base_url=None, key_env="K", window=9).model.context_window == 9


def test_a_key_is_taken_out_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K", KEY)
    choose("openai/gpt-4.1", base_url=None, key_env="K", window=None)

    assert "K" not in os.environ


def test_a_server_of_ones_own_speaks_chat_completions_and_wants_no_key() -> None:
    choice = choose("here/a/b", base_url="http://127.0.0.1:1/v1", key_env=None, window=None)

    assert (choice.model.id, choice.provider.id, choice.provider.api) == ("a/b", "here", "openai-completions")
    assert choice.note == "the window of here/a/b is taken to be 128,000 tokens: say --window N if it is not"
    assert "key: none" in repr(choice.provider)


@pytest.mark.parametrize("vendor", VENDORS)
def test_without_a_variable_no_key_is_looked_for(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = VENDORS[vendor].key_variable
    monkeypatch.setenv(usual, KEY)

    with pytest.raises(Trouble, match=f"--key-env {usual}$"):
        choose(f"{vendor}/any", base_url=None, key_env=None, window=9)
    assert os.environ[usual] == KEY


@pytest.mark.parametrize("typed", [KEY, "AIzaSySecret", "sk_secret", "", "A B", "Ä"])
def test_what_may_be_a_key_is_not_repeated(typed: str) -> None:
    with pytest.raises(Trouble) as caught:
        choose("openai/gpt-4.1", base_url=None, key_env=typed, window=None)

    assert not typed or typed not in caught.value.format_message()
