"""All that is wrong with a model or with usage is told, in the words that a story is told in elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.events.messages import Usage
from sapwood.events.models import Model
from sapwood.scenario.declared import misfits
from sapwood.scenario.language import Place


@pytest.mark.parametrize(
    ("value", "place", "words"),
    [
        ({"id": 5}, ("id",), "must be text, not 5: put it in quotes"),
        ({"provider": ""}, ("provider",), "must not be empty"),
        ({"id": None}, ("id",), "must be text, not None"),
        ({"contextWindow": "5"}, ("contextWindow",), "must be a whole number from 1 to 999,999,999,999, not '5'"),
        ({"maxOutput": 1.5}, ("maxOutput",), "must be a whole number from 0 to 999,999,999,999, not 1.5"),
        ({"sees": "yes"}, ("sees",), "must be true or false, not 'yes'"),
        ({"limits": {"textBytes": 5}}, ("limits", "textBytes"), "must be a whole number of 64 or more, not 5"),
        ({"limits": {"image": 5}}, ("limits", "image"), "unknown key 'image': did you mean 'images'?"),
        (
            {"limits": 5},
            ("limits",),
            "must be a mapping, with keys out of: images, imageBytes, textBytes, callIdLength",
        ),
        ({"price": {"input": -1, "output": 1}}, ("price", "input"), "must be a number from 0 to 1,000,000,000, not -1"),
        ({"price": {"input": 1}}, ("price",), "the key 'output' is missing"),
        ({"price": {"input": 1, "outptu": 1}}, ("price", "outptu"), "unknown key 'outptu': did you mean 'output'?"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(value: dict[str, Any], place: Place, words: str) -> None:
    """This used to say `expected 'int | null', got 'str'`."""
    [found] = misfits(value, Model)

    assert (found.place, found.message) == (place, words)


def test_all_of_it_is_told_in_its_order() -> None:
    """Only the first used to be."""
    value = {"id": 5, "wndow": 5, "contextWindow": 0, "limits": {"images": "x", "imageBytes": -1}, "thinks": True}

    assert [one.place for one in misfits(value, Model)] == [
        *(("id",), ("wndow",), ("contextWindow",), ("limits", "images"), ("limits", "imageBytes")),
    ]
    assert [(one.place, one.message) for one in misfits({"input": "5", "totalTokens": [], "cost": 5}, Usage)] == [
        (("input",), "must be a whole number, not '5'"),
        (("totalTokens",), "must be a whole number, not []"),
        (
            ("cost",),
            "must be a mapping, with keys out of: input, output, cacheRead, cacheWrite, total, totalFromProvider, known",
        ),
    ]


@pytest.mark.parametrize(
    "value", [{}, {"id": "x", "contextWindow": None, "price": {"input": 1, "output": 0.5}, "limits": {"images": 0}}]
)
def test_what_fits_is_passed_over(value: dict[str, Any]) -> None:
    assert list(misfits(value, Model)) == []
