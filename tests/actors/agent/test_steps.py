"""What a run may do and what may come of it are two closed sets of values."""

from __future__ import annotations

from typing import get_args

import attrs
import pytest

from sapwood.actors.agent import steps
from sapwood.actors.agent.steps import Do, End, Happened


@pytest.mark.parametrize("kind", [*get_args(Do), *get_args(Happened)])
def test_each_is_a_frozen_value(kind: type[attrs.AttrsInstance]) -> None:
    fields = attrs.fields(kind)
    value = kind(**{field.alias: None for field in fields if field.default is attrs.NOTHING})

    for name in (*(field.name for field in fields), "another"):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(value, name, None)


def test_every_kind_that_there_is_belongs_to_one_of_them() -> None:
    kinds = {one for one in vars(steps).values() if isinstance(one, type) and one.__module__ == steps.__name__}

    assert kinds == {*get_args(Do), *get_args(Happened)}
    assert not {*get_args(Do)} & {*get_args(Happened)}


def test_an_end_says_of_itself_neither_that_something_broke_nor_that_an_answer_was_lost() -> None:
    assert End(aborted=True) == End(aborted=True, error=None, unrecorded=None)
