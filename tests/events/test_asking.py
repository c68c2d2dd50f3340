"""A message that has one typed reply."""

from __future__ import annotations

import pytest

from sapwood.events.asking import Ask


class HowMany(Ask[int], frozen=True, kw_only=True):
    of_what: str


def test_two_that_ask_the_same_are_equal() -> None:
    assert HowMany(of_what="wrens") == HowMany(of_what="wrens")
    assert HowMany(of_what="wrens") != HowMany(of_what="robins")
    assert len({HowMany(of_what="wrens"), HowMany(of_what="wrens")}) == 1


def test_what_is_asked_cannot_be_changed() -> None:
    question = HowMany(of_what="wrens")

    with pytest.raises(AttributeError):
        setattr(question, "of_what", "robins")  # noqa: B010 - a checker would refuse the plain assignment
    assert question.of_what == "wrens"


def test_the_type_of_the_reply_is_part_of_the_type() -> None:
    assert HowMany.__dict__["__orig_bases__"] == (Ask[int],)
