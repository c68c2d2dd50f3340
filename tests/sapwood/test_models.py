"""The catalogue knows some models, and a host knows better (L10)."""

from __future__ import annotations

import pytest

import sapwood
from sapwood.models import catalogue


def test_a_model_is_known_by_its_name() -> None:
    model = sapwood.known_model("openai/gpt-4.1")

    assert (model.provider, model.id, model.context_window, model.max_output) == (
        "openai",
        "gpt-4.1",
        1_047_576,
        32_768,
    )
    assert (model.sees, model.thinks, model.price) == (True, False, None)


def test_l10_what_a_host_declares_wins() -> None:
    model = sapwood.known_model("openai/gpt-4.1", context_window=50_000, sees=False)

    assert (model.context_window, model.sees, model.max_output) == (50_000, False, 32_768)


def test_of_a_model_that_is_not_listed_only_its_name_is_known() -> None:
    model = sapwood.known_model("here/org/small:1b")

    assert (model.provider, model.id, model.context_window) == ("here", "org/small:1b", None)


@pytest.mark.parametrize("name", ["", "gpt-4.1", "/gpt-4.1", "openai/"])
def test_a_name_without_a_provider_is_refused(name: str) -> None:
    with pytest.raises(sapwood.Refused, match="named provider/id"):
        sapwood.known_model(name)


def test_a_field_that_a_model_cannot_have_is_refused() -> None:
    with pytest.raises(sapwood.Refused, match="a model has no 'windw'"):
        sapwood.known_model("openai/gpt-4.1", windw=1)
    with pytest.raises(sapwood.Refused, match="context_window=-1"):
        sapwood.known_model("openai/gpt-4.1", context_window=-1)


def test_every_model_of_the_catalogue_can_be_had_and_fits_its_window() -> None:
    models = catalogue()

    assert len(models) > 8
    assert all(0 < (model.max_output or 0) < (model.context_window or 0) for model in models)
    assert {model.provider for model in models} == {"anthropic", "openai", "google"}
