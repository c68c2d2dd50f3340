"""The table is total, and says what the design page says."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from sapwood import Session
from sapwood.actors.exclusion.table import BUSY, HOLDS, TABLE, At, Busy, Grant, Queue, decide
from sapwood.events.requests import Newcomer

METHOD = re.compile(r"(\w+)\(\)")
PAIRS = [(at, newcomer) for at in get_args(At) for newcomer in get_args(Newcomer)]


@pytest.mark.parametrize(("at", "newcomer"), PAIRS)
def test_every_pair_has_its_cell(at: At, newcomer: Newcomer) -> None:
    assert decide(at, newcomer) is TABLE[at, newcomer]


def test_the_table_has_no_cell_that_cannot_come_up() -> None:
    assert set(PAIRS) == set(TABLE)


def test_compaction_and_navigation_refuse_each_other_in_the_same_words() -> None:
    words = "Wait for the current compaction or tree navigation to finish before navigating the session tree."

    assert Busy(words) == TABLE["compaction", "navigation"] == TABLE["navigation", "compaction"]
    assert words == BUSY


def test_nobody_holds_an_idle_tree_and_everybody_gets_it() -> None:
    granted = {newcomer for (at, newcomer), verdict in TABLE.items() if at == "idle" and verdict == Grant()}

    assert granted == set(HOLDS)


@pytest.mark.parametrize("at", get_args(At))
def test_what_is_queued_is_always_accepted(at: At) -> None:
    assert decide(at, "queued") == Queue()


def test_a_second_prompt_is_told_what_it_can_do_now_and_what_will_reach_the_run() -> None:
    verdict = decide("run", "prompt")

    assert isinstance(verdict, Busy)
    assert "wait for its handle, or abort() it" in verdict.words
    assert "steer() and follow_up()" in verdict.words  # R6
    assert "with a later release" in verdict.words


def test_no_refusal_sends_anybody_to_a_method_that_there_is_not() -> None:
    spoken = {word for verdict in TABLE.values() if isinstance(verdict, Busy) for word in METHOD.findall(verdict.words)}

    assert {word for word in spoken if not hasattr(Session, word)} == {"steer", "follow_up"}
    for verdict in TABLE.values():
        if isinstance(verdict, Busy) and "follow_up()" in verdict.words:
            assert "later release" in verdict.words
