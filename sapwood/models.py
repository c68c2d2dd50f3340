"""The catalogue: what is known of widely used models. What a host declares wins over it.

It is a file of this package, `models.toml`, and nothing is fetched. It knows no prices: those are the extra's (`sapwood.prices`).
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, Final

import msgspec

from sapwood.events.errors import Refused, shown
from sapwood.events.models import Model
from sapwood.prices import with_list_price

_FILE: Final = "models.toml"


def known_model(name: str, *, list_price: bool = False, **declared: Any) -> Model:
    """The model of this name, `provider/id`, with what the host declares in the place of what the catalogue says.

    A name that the catalogue lacks is a model of which only that is known. `list_price`: whether the extra `prices` is asked for the
    price, if none is declared (see `sapwood.list_price`). `Refused` for a name without a provider, for a field that a model cannot have,
    and where that extra is not installed.
    """
    provider, slash, model_id = name.partition("/")
    if not (provider and slash and model_id):
        raise Refused("bad-input", f"a model is named provider/id, such as openai/gpt-4.1, not {shown(name)}")
    fields = {field.name for field in msgspec.structs.fields(Model)} - {"provider", "id"}
    unknown = sorted(set(declared) - fields)
    if unknown:
        raise Refused("bad-input", f"a model has no {unknown[0]!r}: it has {', '.join(sorted(fields))}")
    model = Model(provider=provider, id=model_id, **{**_catalogue().get(provider, {}).get(model_id, {}), **declared})
    return with_list_price(model) if list_price and "price" not in declared else model


def catalogue() -> tuple[Model, ...]:
    """Every model that is known, by provider and id."""
    return tuple(
        known_model(f"{provider}/{model_id}")
        for provider, models in sorted(_catalogue().items())
        for model_id in sorted(models)
    )


def _catalogue() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads((files("sapwood") / _FILE).read_text(encoding="utf-8"))
