"""A foreign value becomes a copy of the type that it was declared to be, or the words that say why it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.events.content import ImageContent, TextContent, UserBlock
from sapwood.events.fitting import fitting
from sapwood.events.messages import Usage
from tests.build import text

USAGE = Usage.of(input=1, output=2)


@pytest.mark.parametrize(
    ("value", "type_", "taken"),
    [
        (USAGE, Usage | None, USAGE),
        (None, Usage | None, None),
        (text("half \ud800"), UserBlock, text("half �")),
        ([text("a")], tuple[TextContent, ...], (text("a"),)),
    ],
)
def test_what_fits_is_taken(value: object, type_: Any, taken: object) -> None:
    assert fitting(value, type_) == taken


def test_what_could_change_is_a_copy() -> None:
    value = {"a": [1]}

    taken = fitting(value, dict[str, Any])
    value["a"].append(2)

    assert taken == {"a": [1]}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "type_", "why"),
    [
        ("lots", Usage, "Expected `object`, got `str`"),
        ({"input": 1}, Usage, "missing required field `output`"),
        (ImageContent(data=5, mime_type="image/png"), UserBlock, "Expected `str`, got `int`"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        (object(), Any, "Encoding objects of type object is unsupported"),
        (nested(5000), Any, "it is nested deeper than 500 levels"),
    ],
    ids=["text", "half a usage", "no data", "no value", "deep"],
)
def test_what_does_not_fit_is_told(value: object, type_: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        fitting(value, type_)
