"""What models cost by the list, out of the extra `prices`: data that a maintained package carries, and nothing is fetched.

Nobody looks unless a host asks, and what it declares wins. What the list does not know, or not as one number, is None.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from importlib import import_module
from typing import Any, Final

import attrs
import msgspec

from sapwood.events.errors import Refused
from sapwood.events.models import Model, Price

PACKAGE: Final = "genai_prices"
MISSING: Final = "prices come with the extra `prices`: uv sync --extra prices, or pip install genai-prices"


def list_price(model: Model, *, at: datetime | None = None) -> Price | None:
    """What the model costs, by its provider's list; None if that is not known.

    None too where long prompts cost more within the model's window (or it has none declared), since a price of ours is one number: declare
    one, or a smaller window. `at`: prices change; now if None. `Refused` where the extra is not installed.
    """
    try:
        package = import_module(PACKAGE)
    except ModuleNotFoundError as error:
        raise Refused("bad-input", MISSING) from error
    try:
        found = package.calc_price(
            package.Usage(input_tokens=1), model.id, provider_id=model.provider, genai_request_timestamp=at
        )
    except LookupError:  # the provider, or the model
        return None
    names = attrs.fields_dict(_Rates)
    try:
        rates = _Rates(**{name: _rate(getattr(found.model_price, name, None), model.context_window) for name in names})
    except _NotOne:
        return None
    if rates.input_mtok is None or rates.output_mtok is None:
        return None
    return Price(
        input=rates.input_mtok,
        output=rates.output_mtok,
        cache_read=rates.cache_read_mtok,
        cache_write=rates.cache_write_mtok,
    )


def with_list_price(model: Model) -> Model:
    """The model with the price of the list, if that is known and the model has none. `Refused` where the extra is not installed."""
    return model if model.price is not None else msgspec.structs.replace(model, price=list_price(model))


@attrs.frozen
class _Rates:
    """By the package's names: US dollars per million tokens."""

    input_mtok: float | None
    output_mtok: float | None
    cache_read_mtok: float | None
    cache_write_mtok: float | None


class _NotOne(Exception):
    """A price that depends on how long the prompt is."""


def _rate(listed: Any, window: int | None) -> float | None:
    if listed is None:
        return None
    if isinstance(listed, Decimal):
        return float(listed)
    if window is None or any(tier.start < window for tier in listed.tiers):
        raise _NotOne
    return float(listed.base)
