"""An answer is never longer than the model gives, nor than what fits beside the prompt (M6)."""

from __future__ import annotations

import pytest

from sapwood.actors.model.limits import estimated, output_limit
from sapwood.events.models import Model
from tests.build import assistant, call, user
from tests.wires import PIXEL, request


def limit(
    tokens: int, *, window: int | None = 200_000, most: int | None = 64_000, asked: int | None = None
) -> int | None:
    model = Model(provider="p", id="m", context_window=window, max_output=most)
    return output_limit(request(user("x" * int(tokens * 3.5)), model=model, max_output=asked))


@pytest.mark.parametrize(("sent", "room"), [(1_000, 64_000), (150_000, 32_768), (180_000, 15_904)])
def test_t2_what_was_sent_and_the_answer_fit_the_window(sent: int, room: int) -> None:
    """These three are Pi's."""
    assert limit(sent) == room


@pytest.mark.parametrize(
    ("sent", "window", "most", "room"),
    [
        (199_000, 200_000, 64_000, 8_192),
        (300_000, 200_000, 64_000, 8_192),
        (300_000, 200_000, 4_000, 4_000),
        (9_000, 8_000, 64_000, 2_000),
    ],
)
def test_an_answer_has_room_however_large_its_request_is_taken_to_be(
    sent: int, window: int, most: int, room: int
) -> None:
    """It was one token: the estimate is a third above the truth for English and for code."""
    assert limit(sent, window=window, most=most) == room


@pytest.mark.parametrize("most", [2048, 8192, None])
@pytest.mark.parametrize("asked", [1000, 5000, 100_000, None])
def test_a16_no_more_is_asked_for_than_the_model_gives(most: int | None, asked: int | None) -> None:
    known = [number for number in (most, asked) if number is not None]

    assert limit(10, most=most, asked=asked) == (min(known) if known else None)


def test_a_window_that_nobody_knows_limits_nothing() -> None:
    assert limit(10_000_000, window=None) == 64_000
    assert limit(10_000_000) == 8_192
    assert limit(1, most=0) == 1


def test_a_request_is_estimated_by_three_and_a_half_units_a_token() -> None:
    assert estimated([user("ten chars!"), user("x")]) == 3 + 1
    assert estimated([user((PIXEL,))]) == 1372
    assert estimated([assistant("x", call("c1", "read", path="a"))]) == 5
