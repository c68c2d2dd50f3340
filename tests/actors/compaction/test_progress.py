"""When another compaction by itself is worth trying (C17)."""

from __future__ import annotations

import pytest

from sapwood.actors.compaction.progress import Progress


def test_at_first_any_context_may_be_compacted() -> None:
    progress = Progress()

    assert progress.may(0, "m")
    assert progress.why is None


@pytest.mark.parametrize(("tokens", "may"), [(100, False), (899, False), (950, False), (951, True)])
def test_what_came_to_nothing_is_tried_again_once_the_context_has_grown_by_a_twentieth_of_the_window(
    tokens: int, *, may: bool
) -> None:
    progress = Progress()

    progress.came_to_nothing(900, 1000, "m", "no answer")

    assert progress.may(tokens, "m") is may
    assert progress.why == "no answer"


def test_it_is_tried_again_once_there_is_new_input() -> None:
    progress = Progress()
    progress.came_to_nothing(900, 1000, "m", "no answer")

    progress.has_input()

    assert progress.may(1, "m")
    assert progress.why is None


def test_the_last_one_counts() -> None:
    progress = Progress()
    progress.came_to_nothing(900, 1000, "m", "no answer")
    progress.came_to_nothing(100, 1000, "m", "too little")

    assert [progress.may(150, "m"), progress.may(151, "m"), progress.why] == [False, True, "too little"]


def test_another_model_is_another_matter() -> None:
    progress = Progress()
    progress.came_to_nothing(900, 1000, "m", "no answer")

    assert [progress.may(900, "m"), progress.may(900, "smaller")] == [False, True]
