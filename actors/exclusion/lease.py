"""The one lease, and the cell that says who has it. The cell outlives the actor: whoever held the tree before a restart still does."""

from __future__ import annotations

from sapwood.events.requests import Holder


class Cell:
    """Who may change the tree. Written by the exclusion actor and by leases alone; anybody may read `holder`."""

    def __init__(self) -> None:
        self._current: _Lease | None = None
        self.compacting = False
        """Whether the run that holds the tree is compacting under its own lease."""

    @property
    def holder(self) -> Holder:
        return "idle" if self._current is None else self._current.holder

    def grant(self, holder: Holder) -> _Lease:
        """For the exclusion actor alone: a new lease, which is the current one from now on."""
        lease = _Lease(self, holder)
        self._current = lease
        return lease

    def give_back(self, lease: _Lease) -> None:
        """Called by the lease; an old one changes nothing."""
        if self._current is lease:
            self._current = None
            self.compacting = False


class _Lease:
    def __init__(self, cell: Cell, holder: Holder) -> None:
        self._cell = cell
        self.holder: Holder = holder

    def release(self) -> None:
        """Give the tree back. Twice does nothing."""
        self._cell.give_back(self)
