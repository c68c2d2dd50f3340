"""What a job may do and what may come of it are two closed sets of values."""

from __future__ import annotations

from typing import get_args

import attrs
import pytest

from sapwood.actors.summaries import steps
from sapwood.actors.summaries.steps import Do, GaveUp, Happened, Job, Sizes


@pytest.mark.parametrize("kind", [*get_args(Do), *get_args(Happened), Job, Sizes])
def test_each_is_a_frozen_value(kind: type) -> None:
    assert attrs.has(kind)
    assert kind.__setattr__ is not object.__setattr__


def test_every_kind_that_there_is_belongs_to_one_of_them() -> None:
    kinds = {one for one in vars(steps).values() if isinstance(one, type) and one.__module__ == steps.__name__}

    assert kinds == {*get_args(Do), *get_args(Happened), Job, Sizes}
    assert not {*get_args(Do)} & {*get_args(Happened)}


def test_sizes_are_told_where_size_was_the_trouble() -> None:
    assert GaveUp(reason="overloaded", aborted=False, usage=None, calls=4).sizes is None
