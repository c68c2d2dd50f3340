"""Where a move goes and what it leaves, and why some are refused."""

from __future__ import annotations

import pytest

from sapwood.actors.navigation.route import route
from sapwood.events.errors import Refused
from tests.actors.navigation.asked import ASKED, asked, view_of, way


@pytest.mark.parametrize(
    ("target", "to", "left", "stays"),
    [
        ("a1", "a1", ("u2", "a2", "r2", "a3"), False),
        ("u2", "a1", ("a2", "r2", "a3"), False),
        ("u1", None, ("a1", "u2", "a2", "r2", "a3"), False),
        (None, None, ("u1", "a1", "u2", "a2", "r2", "a3"), False),
        ("a3", "a3", (), True),
    ],
)
def test_a_move_goes_to_what_the_model_said_and_before_what_a_user_said(
    target: str | None, to: str | None, left: tuple[str, ...], stays: bool
) -> None:
    view = view_of()
    found = way(view, asked(target))

    assert (found.leaf, found.to, found.stays) == ("a3", to, stays)
    assert tuple(map(view.tree.id, found.left.entries)) == left


def test_a_question_that_is_answered_anew_leaves_its_old_answer_and_is_never_there() -> None:
    view = view_of(ASKED[:3])
    found = way(view, asked("r1", answer="Oak."))

    assert (found.to, found.stays) == ("a1", False)
    assert tuple(map(view.tree.id, found.left.entries)) == ("r1",)
    assert found.answered is not None
    assert found.destination.text is None


def test_without_an_answer_the_result_is_an_entry_like_any_other() -> None:
    found = way(view_of(ASKED), asked("r1"))

    assert (found.to, found.answered) == ("r1", None)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (asked("gone"), "Entry gone not found"),
        (asked("gone", answer="A."), "Entry gone not found"),
        (asked("a1", answer="A."), "a1 is no result of a tool that asks"),
        (asked("r2", answer="A."), "r2 is no result of a tool that asks"),
        (asked(None, answer="A."), "None is no result"),
        (asked(None, label="x"), "a label needs an entry"),
    ],
)
def test_what_cannot_be_is_refused(message: object, words: str) -> None:
    refused = route(view_of(), message, lambda name: name == "ask")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert isinstance(refused, Refused)
    assert str(refused).startswith(words)


def test_a_label_before_the_first_entry_may_stand_on_a_summary() -> None:
    assert way(view_of(), asked(None, label="x", summarize=True)).to is None
