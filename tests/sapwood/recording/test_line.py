"""Who stands at the line can record, or replay."""

from __future__ import annotations

import inspect

import pytest

from sapwood.recording.line import Line
from sapwood.recording.recorder import Recorder
from sapwood.recording.replaying import Replayer


@pytest.mark.parametrize("kind", [Recorder, Replayer])
def test_both_have_all_that_a_line_has(kind: type[object]) -> None:
    wanted = {name: member for name, member in vars(Line).items() if inspect.isfunction(member) and name[0] != "_"}

    assert wanted
    for name, member in wanted.items():
        mine = inspect.signature(getattr(kind, name)).parameters
        assert list(mine) == list(inspect.signature(member).parameters), name
