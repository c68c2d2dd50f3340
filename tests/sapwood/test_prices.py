"""Prices by the list: known, unknown, and never looked for unasked."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

import sapwood
from sapwood import Model, Price
from sapwood.models import catalogue
from sapwood.prices import list_price, with_list_price
from tests.counting import NO_NETWORK

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def model(provider: str, model_id: str, window: int | None = 128_000) -> Model:
    return Model(provider=provider, id=model_id, context_window=window)


@pytest.mark.parametrize(
    ("asked", "price"),
    [
        (model("openai", "gpt-4o"), Price(input=2.5, output=10, cache_read=1.25)),
        (model("anthropic", "claude-opus-4-5"), Price(input=5, output=25, cache_read=0.5, cache_write=6.25)),
        (model("anthropic", "claude-opus-4-5-20251101"), Price(input=5, output=25, cache_read=0.5, cache_write=6.25)),
    ],
)
def test_a_price_of_the_list_is_dollars_for_a_million_tokens(asked: Model, price: Price) -> None:
    assert list_price(asked, at=DAY) == price


def test_a_price_is_that_of_its_day() -> None:
    before, after = (list_price(model("openai", "o3"), at=datetime(2025, month, 1, tzinfo=UTC)) for month in (5, 7))

    assert before is not None
    assert after is not None
    assert (before.input, after.input) == (10, 2)


@pytest.mark.parametrize(
    ("provider", "model_id"),
    [("here", "gpt-4o"), ("openai", "gpt-4o-nonsense"), ("local", "smollm2-135m"), ("openai", "…")],
)
def test_what_the_list_does_not_know_is_none_and_not_zero(provider: str, model_id: str) -> None:
    assert list_price(model(provider, model_id)) is None
    assert with_list_price(model(provider, model_id)).price is None


@pytest.mark.parametrize(("window", "known"), [(200_000, True), (200_001, False), (1_048_576, False), (None, False)])
def test_a_price_that_rises_within_the_window_is_no_number(window: int | None, known: bool) -> None:
    """Gemini 2.5 Pro costs twice as much from 200,000 tokens on: the first number would be half the truth."""
    assert (list_price(model("google", "gemini-2.5-pro", window), at=DAY) is not None) is known


def test_a_price_of_an_embedding_has_no_output_and_is_none() -> None:
    assert list_price(model("openai", "text-embedding-3-small")) is None


def test_what_a_host_declares_wins() -> None:
    declared = Price(input=1, output=1)

    assert sapwood.known_model("openai/gpt-4o", list_price=True, price=declared).price == declared
    assert sapwood.known_model("openai/gpt-4o", list_price=True, price=None).price is None
    assert sapwood.known_model("openai/gpt-4o", list_price=True).price is not None


def test_unasked_no_model_has_a_price() -> None:
    assert [one.key for one in catalogue() if one.price is not None] == []


def test_most_of_the_catalogue_has_one_number() -> None:
    """A model that the list no longer knows by our name for it would be here."""
    without = {one.key for one in catalogue() if list_price(one, at=DAY) is None}

    assert without == {"google/gemini-2.5-pro"}


def test_without_the_extra_it_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)

    with pytest.raises(sapwood.Refused, match="uv sync --extra prices, or pip install genai-prices"):
        list_price(model("openai", "gpt-4o"))


@pytest.mark.slow
def test_nobody_is_asked_over_the_network() -> None:
    work = (
        f"import ssl\n{NO_NETWORK}\nimport sapwood\nprint(sapwood.known_model('openai/gpt-4o', list_price=True).price)"
    )

    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("Price(input=2.5, ")


@pytest.mark.slow
def test_the_package_is_not_imported_before_a_price_is_asked_for() -> None:
    work = "import sapwood, sys; sapwood.known_model('openai/gpt-4o'); sapwood.list_price; print('genai_prices' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=True).stdout == "False\n"
