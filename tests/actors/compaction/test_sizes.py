"""What is large in a context (C17)."""

from __future__ import annotations

import pytest

from sapwood.actors.compaction.sizes import largest, sent
from sapwood.events.models import Limits, Model
from tests.actors.compaction.selected import survey
from tests.build import assistant, user


@pytest.mark.parametrize(
    ("line", "counted", "named"),
    [
        ("", None, ()),
        ("l l", None, ()),
        ("u10", None, (("0", 10),)),
        ("u10 a20 l a5 u30", None, (("4", 30), ("1", 20), ("0", 10))),
        ("u99 a20 a5 u30", 3, (("3", 30), ("1", 20), ("2", 5))),
        ("u99 a20 a5 u30", 0, ()),
        ("u7 a7 u7 a7", None, (("0", 7), ("1", 7), ("2", 7))),
    ],
)
def test_the_largest_of_what_was_counted_come_first(
    line: str, counted: int | None, named: tuple[tuple[str, int], ...]
) -> None:
    assert largest(survey(line, counted=counted)) == named


def test_what_goes_out_is_what_the_models_limits_leave_of_it() -> None:
    messages = (user("x" * 4_000), assistant("y" * 40))
    plain = Model(provider="p", id="m")

    assert sent(messages, plain) == 1_010
    assert sent(messages, Model(provider="p", id="m", limits=Limits(text_bytes=400))) <= 110
    assert sent((assistant("z", stop="error", error="no"),), plain) == 0
