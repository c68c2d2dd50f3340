"""The table is total, and says what is written out here."""

from __future__ import annotations

import re
from typing import Final, get_args

import pytest

from sapwood import Session
from sapwood.actors.exclusion.table import HOLDS, TABLE, AbortFirst, At, Busy, Grant, Queue, decide
from sapwood.events.requests import Newcomer

METHOD = re.compile(r"(\w+)\(\)")
PAIRS = {(at, newcomer) for at in get_args(At) for newcomer in get_args(Newcomer)}

BUSY = "Wait for the current compaction or tree navigation to finish before navigating the session tree."
RESPONDING = "Wait for the current response to finish before navigating the session tree."
COMPACTING = "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
RUNNING = "A run is in progress: "
NAVIGATING = "The session is moving to another branch: "

NEWCOMERS: Final[tuple[Newcomer, ...]] = ("prompt", "queued", "compaction", "navigation")
VERDICTS: Final[dict[At, tuple[str, str, str, str]]] = {
    # to each of the newcomers, in their order: what it gets, or how its refusal begins
    "idle": ("grant", "queue", "grant", "grant"),
    "run": (RUNNING, "queue", "abort first", RESPONDING),
    "run_compacting": (RUNNING, "queue", BUSY, BUSY),
    "compaction": (COMPACTING, "queue", BUSY, BUSY),
    "navigation": (NAVIGATING, "queue", BUSY, BUSY),
}


@pytest.mark.parametrize("at", get_args(At))
def test_each_newcomer_gets_what_is_written_here(at: At) -> None:
    for newcomer, verdict in zip(NEWCOMERS, VERDICTS[at], strict=True):
        match decide(at, newcomer):
            case Grant():
                assert verdict == "grant", newcomer
            case Queue():
                assert verdict == "queue", newcomer
            case AbortFirst():
                assert verdict == "abort first", newcomer
            case Busy(words):
                assert words.startswith(verdict), newcomer


def test_every_pair_that_can_come_up_has_a_cell_and_no_other() -> None:
    assert set(TABLE) == PAIRS == {(at, newcomer) for at in VERDICTS for newcomer in NEWCOMERS}


def test_nobody_holds_an_idle_tree_and_everybody_gets_it() -> None:
    granted = {newcomer for (at, newcomer), verdict in TABLE.items() if at == "idle" and verdict == Grant()}

    assert granted == set(HOLDS)


@pytest.mark.parametrize("at", get_args(At))
def test_what_is_queued_is_always_accepted(at: At) -> None:
    assert decide(at, "queued") == Queue()


def test_a_second_prompt_is_told_what_it_can_do_now_and_what_will_reach_the_run() -> None:
    verdict = decide("run", "prompt")

    assert isinstance(verdict, Busy)
    assert "steer() reaches it" in verdict.words  # R6
    assert "follow_up()" in verdict.words
    assert "abort() it" in verdict.words


def test_no_refusal_sends_anybody_to_a_method_that_there_is_not() -> None:
    spoken = {word for verdict in TABLE.values() if isinstance(verdict, Busy) for word in METHOD.findall(verdict.words)}

    assert spoken == {"steer", "follow_up", "abort"}
    assert [word for word in spoken if not hasattr(Session, word)] == []
