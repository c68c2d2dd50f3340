"""Models: what a session must know of one, and what it takes where nobody knows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given

from sapwood.events.errors import Refused
from sapwood.events.messages import TOO_MUCH
from sapwood.events.models import DEAREST, DEFAULT_WINDOW, LEAST_CALL_ID, LEAST_TEXT_BYTES, Limits, Model, Price
from tests.events.wire import as_json, assert_round_trip, shape
from tests.strategies import of


def test_the_names_on_the_wire_are_fixed() -> None:
    assert (
        shape(Model) == "provider id contextWindow? maxOutput? api? price? thinks? thinksBy? sees? limits? imageTokens?"
    )
    assert shape(Limits) == "images? imageBytes? textBytes? callIdLength?"
    assert shape(Price) == "input output cacheRead? cacheWrite?"


@given(model=of(Model))
def test_a_model_comes_back_as_it_was(model: Model) -> None:
    assert_round_trip(model, Model)


def test_the_key_keeps_the_slashes_of_the_id() -> None:
    assert Model(provider="router", id="maker/small:free").key == "router/maker/small:free"


@pytest.mark.parametrize(("declared", "window"), [(None, DEFAULT_WINDOW), (1, 1), (8192, 8192)])
def test_decisions_go_by_the_declared_window_or_the_seeds(declared: int | None, window: int) -> None:
    assert Model(provider="x", id="y", context_window=declared).window == window  # C1


def test_the_window_of_a_model_that_nobody_knows_is_the_seeds() -> None:
    assert DEFAULT_WINDOW == 128_000  # C1, N3


def test_what_nobody_knows_is_not_written() -> None:
    assert as_json(Model(provider="x", id="y")) == {"provider": "x", "id": "y"}


ANY: Any = Model
PRICE: Any = Price


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"id": 5}, "Model(id=5): expected str, got int"),
        ({"provider": None}, "Model(provider=None): expected str, got None"),
        ({"provider": b"x"}, "expected str, got bytes"),
        ({"id": "\ud800"}, "it cannot be written"),
        ({"provider": ""}, "Model(provider=''): expected str of length >= 1"),
        ({"id": ""}, "Model(id=''): expected str of length >= 1"),
        ({"api": 5}, "Model(api=5)"),
        ({"context_window": "5"}, "Model(context_window='5'): expected int | None, got str"),
        ({"context_window": -5}, "Model(context_window=-5): expected int >= 1"),
        ({"context_window": 0}, "Model(context_window=0): expected int >= 1"),  # it was silently taken as 128,000
        ({"context_window": TOO_MUCH}, f"expected int <= {TOO_MUCH - 1}"),
        ({"image_tokens": 10**5000}, "Model(image_tokens=<int>): expected int <= "),
        ({"context_window": True}, "got bool"),
        ({"context_window": 5.0}, "Model(context_window=5.0)"),
        ({"max_output": -1}, "Model(max_output=-1)"),
        ({"limits": {"images": 1}}, "expected a Limits, got dict"),
        ({"price": {"input": 1, "output": 2}}, "expected a Price, got dict"),
        ({"thinks": 1}, "expected bool, got int"),
        ({"sees": "yes"}, "Model(sees='yes')"),
    ],
)
def test_what_a_model_cannot_be_is_refused_when_it_is_made(fields: dict[str, object], words: str) -> None:
    with pytest.raises(Refused) as refusal:
        ANY(**{"provider": "x", "id": "y", **fields})

    assert refusal.value.reason == "bad-input"
    assert words in str(refusal.value)
    with pytest.raises(Refused):
        msgspec.structs.replace(Model(provider="x", id="y"), **fields)


@pytest.mark.parametrize("amount", ["5", DEAREST + 1, 10**400, 1e308, None, -1, -0.5, float("nan"), float("inf"), True])
def test_a_price_is_a_number_of_dollars(amount: object) -> None:
    with pytest.raises(Refused, match=r"Price\(input="):
        PRICE(input=amount, output=1)

    assert Model(provider="x", id="y", price=Price(input=1, output=2.5)).price == Price(input=1, output=2.5)
    assert Price(input=DEAREST, output=0).input == DEAREST


@pytest.mark.parametrize(
    ("limit", "least"),
    [("images", 0), ("image_bytes", 0), ("text_bytes", LEAST_TEXT_BYTES), ("call_id_length", LEAST_CALL_ID)],
)
def test_a_limit_leaves_room_for_what_stands_in_the_place_of_what_is_cut(limit: str, least: int) -> None:
    assert getattr(Limits(**{limit: least}), limit) == least
    with pytest.raises(Refused, match=rf"Limits\({limit}={least - 1}\): expected int >= {least}"):
        Limits(**{limit: least - 1})


def test_what_is_read_is_told_by_its_place() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"contextWindow"):
        msgspec.json.decode(b'{"provider":"x","id":"y","contextWindow":-5}', type=Model)
