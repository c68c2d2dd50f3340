"""What is wrong with a scenario, in a sentence."""

from __future__ import annotations

import pytest

from sapwood import SapwoodError
from sapwood.scenario.errors import MOST_TOLD, Misfit, ScenarioError, together


@pytest.mark.parametrize(
    ("line", "text"), [(3, "talk.yaml:3: the key 'steps' is missing"), (None, "talk.yaml: the key 'steps' is missing")]
)
def test_a_scenario_error_says_where_and_what(line: int | None, text: str) -> None:
    error = ScenarioError("talk.yaml", line, "the key 'steps' is missing")

    assert str(error) == text
    assert (error.path, error.line, error.message) == ("talk.yaml", line, "the key 'steps' is missing")
    assert isinstance(error, SapwoodError)


def test_a_path_is_shown_in_one_line() -> None:
    error = ScenarioError("a\n\x1b.yaml", 3, "bad")

    assert str(error) == "a��.yaml:3: bad"
    assert error.path == "a\n\x1b.yaml"


def test_misfits_are_told_together_and_placed_in_what_is_around_them() -> None:
    both = together([Misfit("a", ("x",)), Misfit("b", ("y", 1))])

    assert (both.message, both.place) == ("a", ("x",))
    assert [(one.message, one.place) for one in both.each(("steps", 0))] == [
        ("a", ("steps", 0, "x")),
        ("b", ("steps", 0, "y", 1)),
    ]


def test_of_very_many_misfits_some_are_told_and_that_there_are_more() -> None:
    assert [one.place for one in together([Misfit("a", (at,)) for at in range(MOST_TOLD)]).each()] == [
        (at,) for at in range(MOST_TOLD)
    ]

    *_, last = together([Misfit("a", (at,)) for at in range(MOST_TOLD + 3)]).each()

    assert last.message.startswith("there is more that does not fit, from here on")
    assert last.place == (MOST_TOLD,)
