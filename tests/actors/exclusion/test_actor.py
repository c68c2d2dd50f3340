"""The shell reads the table and hands out the lease."""

from __future__ import annotations

from sapwood.actors.exclusion.actor import Exclusion
from sapwood.actors.exclusion.lease import Lease
from sapwood.actors.exclusion.table import BUSY
from sapwood.actors.kernel import Refuse, Reply
from sapwood.events.errors import Refused
from sapwood.events.requests import Acquire, Newcomer


def acquire(lease: Lease, newcomer: Newcomer) -> Reply | Refuse:
    return Exclusion(lease).handle(Acquire(newcomer=newcomer, key="a"))


def refusal(verdict: Reply | Refuse) -> str:
    assert isinstance(verdict, Refuse)
    assert isinstance(verdict.error, Refused)
    assert verdict.error.reason == "busy"
    return str(verdict.error)


def test_an_idle_tree_is_leased() -> None:
    lease = Lease()

    assert isinstance(acquire(lease, "prompt"), Reply)
    assert lease.holder == "run"


def test_a_refusal_leaves_the_holder_as_it_was() -> None:
    lease = Lease()
    lease.grant("compaction", "b")

    assert refusal(acquire(lease, "navigation")) == BUSY
    assert lease.holder == "compaction"


def test_a_run_that_compacts_refuses_a_compaction_in_the_seeds_words() -> None:
    lease = Lease()
    lease.grant("run", "b")
    lease.compacting = True

    assert refusal(acquire(lease, "compaction")) == BUSY


def test_a_restarted_actor_still_knows_who_holds_the_tree() -> None:
    lease = Lease()
    acquire(lease, "prompt")

    assert "steer()" in refusal(acquire(lease, "prompt"))


def test_whoever_may_abort_the_holder_is_told_to_wait_for_it() -> None:
    lease = Lease()
    lease.grant("run", "b")

    assert refusal(acquire(lease, "compaction"))
    assert lease.holder == "run"
