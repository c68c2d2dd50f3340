"""The stories that ship: each is as it says, and first_talk outlives a crash of any actor at any message."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from sapwood.actors.kernel import Receipt
from sapwood.actors.kernel.testing import CrashAt, Recording, Seeded, Together
from sapwood.scenario import Played, Scenario, load, play
from sapwood.scenario.language import Prompt
from tests.build import words

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FIRST_TALK = load(SCENARIOS / "first_talk.yaml")


def receipts() -> list[Receipt]:
    """Every message that any actor gets in first_talk; in one order, so that every worker collects the same tests."""
    tap = Recording()
    play(FIRST_TALK, tap=Together(Seeded(0), tap))
    return [passed for passed in tap.passed if isinstance(passed, Receipt)]


RECEIPTS = receipts()


def said(played: Played) -> list[str]:
    return [words(item.message) for item in played.projection]


def going_on(scenario: Scenario) -> Scenario:
    """The same talk, with one more prompt behind it and an answer to spare."""
    story = scenario.story
    more = attrs.evolve(story.steps[0], prompt="Are you there?") if isinstance(story.steps[0], Prompt) else None
    assert more is not None
    answers = attrs.evolve(story.answers, turn=(*story.answers.turn, *story.answers.turn))
    return attrs.evolve(scenario, story=attrs.evolve(story, steps=(*story.steps, more), answers=answers))


WHOLE = said(play(FIRST_TALK))


@pytest.mark.parametrize("path", sorted(SCENARIOS.rglob("*.yaml")), ids=lambda path: path.name)
def test_a_story_that_ships_is_as_it_says(path: Path) -> None:
    assert play(path).differences == ()


@pytest.mark.parametrize("receipt", RECEIPTS, ids=lambda one: f"{one.actor}-{one.n}-{type(one.message).__name__}")
def test_a_crash_anywhere_ends_in_the_same_log_or_in_one_that_the_next_prompt_takes_up(receipt: Receipt) -> None:
    played = play(going_on(FIRST_TALK), tap=CrashAt(receipt.actor, receipt.n))

    *talk, last = played.steps
    assert last.outcome == "delivered", "the session is free, and answers"
    texts = said(played)
    assert len(texts) == len(set(texts)) or texts.count(texts[-1]) == 2, (
        "nothing is doubled but the answer that comes round again"
    )
    for step in talk:
        if isinstance(step.step, Prompt):
            assert (step.outcome == "delivered") == (step.step.prompt in texts), "the outcome and the log agree"
    if all(step.outcome in {None, "delivered"} for step in talk):
        assert texts[: len(WHOLE)] == WHOLE or set(texts) <= {*WHOLE, "Are you there?", ""}


@pytest.mark.parametrize("seed", range(20))
def test_every_order_of_receipts_ends_in_the_same_log(seed: int) -> None:
    assert play(FIRST_TALK, tap=Seeded(seed)).differences == ()
