"""Models: what a session must know of one, and what it takes where nobody knows."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.events.models import DEFAULT_WINDOW, Model, Price
from tests.events.wire import as_json, assert_round_trip, shape
from tests.strategies import of


def test_the_names_on_the_wire_are_fixed() -> None:
    assert shape(Model) == "provider id contextWindow? maxOutput? api? price? thinks? sees?"
    assert shape(Price) == "input output cacheRead? cacheWrite?"


@given(model=of(Model))
def test_a_model_comes_back_as_it_was(model: Model) -> None:
    assert_round_trip(model, Model)


def test_the_key_keeps_the_slashes_of_the_id() -> None:
    assert Model(provider="router", id="maker/small:free").key == "router/maker/small:free"


@pytest.mark.parametrize(("declared", "window"), [(None, DEFAULT_WINDOW), (0, DEFAULT_WINDOW), (8192, 8192)])
def test_decisions_go_by_the_declared_window_or_the_seeds(declared: int | None, window: int) -> None:
    assert Model(provider="x", id="y", context_window=declared).window == window  # C1


def test_the_window_of_a_model_that_nobody_knows_is_the_seeds() -> None:
    assert DEFAULT_WINDOW == 128_000  # C1, N3


def test_what_nobody_knows_is_not_written() -> None:
    assert as_json(Model(provider="x", id="y")) == {"provider": "x", "id": "y"}
