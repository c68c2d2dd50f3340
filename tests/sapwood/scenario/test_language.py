"""The language's defaults, which a story leans on."""

from __future__ import annotations

import attrs
import pytest

from sapwood.scenario import language
from sapwood.scenario.language import Expect, Pass, Prompt, Story


def test_a_prompt_should_be_delivered_and_nothing_else_is_looked_at() -> None:
    step = Prompt(prompt="hi")

    assert step.outcome == "delivered"
    assert step.expect == Story(title="x", steps=()).expect == Expect()
    assert set(attrs.asdict(Expect()).values()) == {None}


def test_a_story_is_a_value() -> None:
    assert Pass(pass_=1.0) == Pass(pass_=1.0)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Pass(pass_=1.0).pass_ = 2.0  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def test_the_limit_of_a_step_is_a_day() -> None:
    assert language.STEP_LIMIT == 24 * 60 * 60
    assert language.LONGEST_WAIT == 366 * language.STEP_LIMIT
