"""One lease, returned by a plain call, however often."""

from __future__ import annotations

from sapwood.actors.exclusion.lease import Cell


def test_a_cell_is_idle_until_somebody_is_granted_the_lease() -> None:
    cell = Cell()
    before = cell.holder

    cell.grant("run")

    assert (before, cell.holder) == ("idle", "run")


def test_releasing_gives_the_tree_back_and_ends_the_compacting() -> None:
    cell = Cell()
    lease = cell.grant("run")
    cell.compacting = True

    lease.release()

    assert (cell.holder, cell.compacting) == ("idle", False)


def test_releasing_an_old_lease_does_not_take_the_tree_from_the_new_holder() -> None:
    cell = Cell()
    old = cell.grant("run")
    old.release()
    cell.grant("navigation")

    old.release()

    assert cell.holder == "navigation"
