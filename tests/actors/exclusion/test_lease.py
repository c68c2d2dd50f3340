"""One lease, given back by a plain call with its key, however often."""

from __future__ import annotations

from sapwood.actors.exclusion.lease import Lease


def test_nobody_has_the_tree_until_it_is_granted() -> None:
    lease = Lease()
    before = lease.holder

    lease.grant("run", "a")

    assert (before, lease.holder, lease.compacting) == ("idle", "run", False)


def test_whoever_holds_the_tree_gives_it_back_and_ends_the_compacting() -> None:
    lease = Lease()
    lease.grant("run", "a")
    lease.compacting = True

    lease.release("a")
    lease.release("a")

    assert (lease.holder, lease.compacting) == ("idle", False)


def test_whoever_does_not_hold_the_tree_cannot_take_it_from_the_holder() -> None:
    lease = Lease()
    lease.grant("run", "a")
    lease.release("a")
    lease.grant("navigation", "b")

    lease.release("a")
    lease.release("")

    assert lease.holder == "navigation"


def test_where_it_is_tells_a_run_that_compacts_from_others() -> None:
    lease = Lease()
    seen = [lease.at]
    lease.compacting = True
    seen.append(lease.at)  # nobody has it: whatever compacted is over
    lease.grant("run", "a")
    seen.append(lease.at)
    lease.compacting = False
    seen.append(lease.at)
    lease.release("a")
    lease.grant("compaction", "b")
    lease.compacting = True
    seen.append(lease.at)

    assert seen == ["idle", "idle", "run_compacting", "run", "compaction"]
