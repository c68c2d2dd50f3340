"""What a run may do and what may come of it are two closed sets of values."""

from __future__ import annotations

from typing import get_args

import attrs
import pytest

from sapwood.actors.agent import steps
from sapwood.actors.agent.steps import Do, End, Happened


@pytest.mark.parametrize("kind", [*get_args(Do), *get_args(Happened)])
def test_each_is_a_frozen_value(kind: type) -> None:
    assert attrs.has(kind)
    assert kind.__setattr__ is not object.__setattr__


def test_every_kind_that_there_is_belongs_to_one_of_them() -> None:
    kinds = {one for one in vars(steps).values() if isinstance(one, type) and one.__module__ == steps.__name__}

    assert kinds == {*get_args(Do), *get_args(Happened)}
    assert not {*get_args(Do)} & {*get_args(Happened)}


def test_an_end_may_say_what_broke_and_what_was_kept_out_of_the_log() -> None:
    assert (End(aborted=True).error, End(aborted=True).unrecorded) == (None, None)
