"""The shell reads the table and hands out the lease."""

from __future__ import annotations

from sapwood.actors.exclusion.actor import Exclusion
from sapwood.actors.exclusion.lease import Cell
from sapwood.actors.exclusion.table import BUSY
from sapwood.actors.kernel import Refuse, Reply
from sapwood.events.errors import Refused
from sapwood.events.requests import Acquire, Newcomer


def acquire(cell: Cell, newcomer: Newcomer) -> Reply | Refuse:
    return Exclusion(cell).handle(Acquire(newcomer=newcomer))


def refusal(verdict: Reply | Refuse) -> str:
    assert isinstance(verdict, Refuse)
    assert isinstance(verdict.error, Refused)
    assert verdict.error.reason == "busy"
    return str(verdict.error)


def test_an_idle_tree_is_leased() -> None:
    cell = Cell()

    assert isinstance(acquire(cell, "prompt"), Reply)
    assert cell.holder == "run"


def test_a_refusal_leaves_the_holder_as_it_was() -> None:
    cell = Cell()
    cell.grant("compaction")

    assert refusal(acquire(cell, "navigation")) == BUSY
    assert cell.holder == "compaction"


def test_a_run_that_compacts_refuses_a_compaction_in_the_seeds_words() -> None:
    cell = Cell()
    cell.grant("run")
    cell.compacting = True

    assert refusal(acquire(cell, "compaction")) == BUSY


def test_a_restarted_actor_still_knows_who_holds_the_tree() -> None:
    cell = Cell()
    acquire(cell, "prompt")

    assert "steer()" in refusal(acquire(cell, "prompt"))


def test_whoever_may_abort_the_holder_is_told_to_wait_for_it() -> None:
    cell = Cell()
    cell.grant("run")

    assert refusal(acquire(cell, "compaction"))
    assert cell.holder == "run"
