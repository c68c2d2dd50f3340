"""Where a compaction cuts: the walk, and how it snaps (C5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.compaction.cut import Cut, find_cut
from sapwood.events.context import Surveyed
from sapwood.events.messages import AssistantMessage, UserMessage
from tests.actors.compaction.selected import survey


def cut(line: str, keep: int, *, counted: int | None = None) -> Cut | None:
    surveyed = survey(line, counted=counted)
    return find_cut(surveyed.entries, surveyed.tokens, start=int(surveyed.compacted), keep=keep)


# (the selection, tokens to keep, where it is cut, where the split turn starts)
TABLE = [
    # the budget is reached in a turn that is no larger: it stays whole, so at most one turn is kept over the budget
    ("u100 a100 u5 a5 a5 a5 u5 a10", 25, 2, None),
    ("u10 a10 u10 a10 u10 a10", 20, 4, None),
    ("u10 a10 u10 a10 u10 a10", 21, 2, None),
    ("u10 a10 u10 a10 u10 a10", 15, 4, None),
    ("u10 a10 u10 a10 u10 a10", 10, 5, 4),
    ("u10 a10 u10 a10 u10 a10", 1, 5, 4),
    ("u10 a10 u10 a10 u10 a10", 0, 5, 4),
    # a turn that is larger than the budget is cut inside, at the first legal place at or behind the point
    ("u10 a10 u10 a30 a30 a30", 50, 4, 2),
    ("u10 a10 u10 t30 r30 a30", 50, 5, 2),
    ("u10 a10 u10 t30 r30 a30", 60, 5, 2),
    ("u10 a10 u10 t30 r30 a30", 61, 3, 2),
    # results alone exceed the budget: their call is kept with them
    ("u10 a10 u10 t30 r90", 50, 3, 2),
    ("u10 a10 u10 t30 r90 r90", 50, 3, 2),
    ("t5 r90", 50, 0, None),
    ("c5 t5 r90", 50, 1, None),
    # the budget is reached in the results of the turn before: that turn stays whole if it is small, else the next turn is the cut
    ("u10 a10 u5 t5 r20 u5 a5", 30, 2, None),
    ("u10 a10 u5 t5 r50 u5 a5", 30, 5, None),
    # what the model does not see makes no turn and splits none
    ("u10 a10 l l u50 a10", 55, 4, None),
    ("u10 a10 h e u50 a10", 55, 4, None),
    ("u10 a10 s3 u50 a10", 55, 3, None),
    # the budget is never reached: everything would stay
    ("u10 a10", 21, 0, None),
    ("s10 u10 a10", 99, 1, None),
    # behind a compaction that speaks: the turn may have begun before what is there
    ("c5 a10 a10 u10 a10", 10, 4, 3),
    ("c5 a10 a10 a10 a10", 15, 3, None),
    ("c5 u10 a10", 99, 1, None),
    # an input that fills the budget alone, and an attempt that was hidden behind it
    ("u10 a10 u90 h e", 50, 3, 2),
    ("u10 a10 u90 h e l", 50, 3, 2),
    ("u10 a10 u90 l", 50, 2, None),
    ("u10 a10 u90 g e", 50, 2, None),
    ("u10 a10 u90 h e x", 50, 2, None),
    ("u10 a10 u90 h e c0", 50, 2, None),
    ("u90 h e", 50, 1, 0),
]


@pytest.mark.parametrize(("line", "keep", "at", "turn_start"), TABLE)
def test_the_cut(line: str, keep: int, at: int, turn_start: int | None) -> None:
    assert cut(line, keep) == Cut(at, turn_start)


@pytest.mark.parametrize("line", ["", "l l", "s5", "r5 r5", "c5", "c5 l"])
def test_where_nothing_may_be_cut_at_there_is_no_cut(line: str) -> None:
    assert cut(line, 10) is None


LINES = st.lists(
    st.tuples(st.sampled_from("uuaatrrslh"), st.integers(0, 40)).map(lambda word: f"{word[0]}{word[1]}"), max_size=30
).map(" ".join)


@given(LINES, st.integers(0, 80))
def test_more_than_twice_the_budget_need_not_be_counted(line: str, keep: int) -> None:
    surveyed = survey(line)
    needed, total = 0, 0
    for size in reversed(surveyed.tokens):
        if total > 2 * keep:
            break
        needed, total = needed + 1, total + size

    assert cut(line, keep, counted=needed) == cut(line, keep)


@given(LINES, st.integers(0, 80))
def test_what_is_kept_begins_with_an_input_or_an_answer_and_goes_at_most_a_turn_beyond_the_budget(
    line: str, keep: int
) -> None:
    surveyed = survey(line)
    found = cut(line, keep)
    if found is None:
        return
    kept = [one for one in surveyed.entries[found.at :] if one.messages]

    assert not kept or isinstance(kept[0].messages[0], UserMessage | AssistantMessage)
    if found.turn_start is None:
        behind = [at for at in range(found.at + 1, len(surveyed.entries)) if starts_here(surveyed, at)]
        own = sum(surveyed.tokens[found.at : behind[0] if behind else None])
        rest = sum(surveyed.tokens[found.at :]) - own
        assert rest < max(keep, 1) or not any(surveyed.tokens[: found.at])


def starts_here(surveyed: Surveyed, at: int) -> bool:
    return any(isinstance(message, UserMessage) for message in surveyed.entries[at].messages)
