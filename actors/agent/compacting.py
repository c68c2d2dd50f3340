"""A compaction that a person asks for (C15)."""

from __future__ import annotations

import msgspec

from sapwood.actors.agent.desk import Desk
from sapwood.actors.agent.one_run import Runs
from sapwood.actors.agent.under_way import UnderWay
from sapwood.actors.exclusion.table import AbortFirst, Busy, decide
from sapwood.actors.kernel import insist
from sapwood.events.commands import Compact, Compacted
from sapwood.events.entries import Compaction
from sapwood.events.errors import Refused
from sapwood.events.ids import EntryId
from sapwood.events.requests import CompactNow, Measure, StopCompaction


class Compacting:
    """Those of one session."""

    def __init__(self, desk: Desk, runs: Runs) -> None:
        self._desk = desk
        self._runs = runs
        self.under_way = UnderWay(desk.compaction, lambda key: StopCompaction(key=key), desk.shelf.queues)

    async def compact(self, message: Compact) -> Compacted:
        """Stop the run that is on, hand back what waits to be said, and compact. `Refused` where another one has the tree."""
        desk, key = self._desk, f"compact {message.entry_id}"
        there = await self._there(message.entry_id)
        if there is not None:
            return there
        with self.under_way.one(key):
            while isinstance(verdict := decide(desk.lease.at, "compaction"), AbortFirst):
                await self._runs.abort()
            if isinstance(verdict, Busy):
                raise Refused("busy", verdict.words)
            returned = desk.shelf.hand_back(desk.pen.view.tree.ids)
            if returned:
                desk.publish(desk.shelf.news())
            asked = CompactNow(
                key=key,
                entry_id=message.entry_id,
                reason="manual",
                model=desk.chosen.model,
                instructions=message.instructions,
                ask_extensions=message.ask_extensions,
            )
            compacted = await desk.compaction.ask(asked)
            return msgspec.structs.replace(compacted, returned=returned)

    async def _there(self, entry_id: EntryId) -> Compacted | None:
        """Asked again after a crash: it is in the log, and that is all there was to do."""
        view = self._desk.pen.view
        place = view.tree.index(entry_id)
        entry = None if place is None else view.entry(place)
        if not isinstance(entry, Compaction):
            return None
        measured = await insist(self._desk.projection, Measure())
        return Compacted(entry=entry, tokens_after=measured.tokens)
