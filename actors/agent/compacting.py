"""A compaction that a person asks for (C15)."""

from __future__ import annotations

import msgspec

from sapwood.actors.agent.desk import Desk
from sapwood.actors.agent.one_run import Runs
from sapwood.actors.agent.under_way import UnderWay
from sapwood.actors.exclusion.table import AbortFirst, Busy, decide
from sapwood.actors.kernel import insist
from sapwood.events.commands import Compact, Compacted, Returned
from sapwood.events.entries import Compaction
from sapwood.events.errors import CompactionFailed, Refused, StoreError
from sapwood.events.ids import EntryId
from sapwood.events.requests import CheckCompaction, CompactNow, Measure, StopCompaction


class Compacting:
    """Those of one session."""

    def __init__(self, desk: Desk, runs: Runs) -> None:
        self._desk = desk
        self._runs = runs
        self.under_way = UnderWay(desk.compaction, lambda key: StopCompaction(key=key), desk.shelf.queues)

    async def compact(self, message: Compact) -> Compacted:
        """Stop the run that is on, hand back what waits to be said, and compact.

        `Refused` where it cannot be done, as far as that is known before: then nobody was stopped, and what waits goes on waiting. What
        comes to nothing behind that is `CompactionFailed`, with what it has cost.
        """
        desk, key = self._desk, f"compact {message.entry_id}"
        there = await self._there(message.entry_id)
        if there is not None:
            return there
        asked = CompactNow(
            key=key,
            entry_id=message.entry_id,
            reason="manual",
            model=desk.chosen.model,
            instructions=message.instructions,
            ask_extensions=message.ask_extensions,
        )
        with self.under_way.one(key):
            self._granted()
            waits = desk.shelf.queues.present()
            if desk.lease.holder == "run" or waits.steering or waits.follow_up:
                with self._runs.held():
                    await desk.compaction.ask(CheckCompaction(key=key, model=asked.model))
            stopped_run, returned = False, tuple[Returned, ...]()
            try:
                while not self._granted():
                    stopped_run = True
                    await self._runs.abort()
                returned = desk.shelf.hand_back(desk.pen.view.tree.ids)
                if returned:
                    desk.publish(desk.shelf.news())
                compacted = await desk.compaction.ask(asked)
            except (Refused, CompactionFailed, StoreError) as why:
                if not (stopped_run or returned):
                    raise
                aborted = isinstance(why, CompactionFailed) and why.aborted
                raise CompactionFailed(str(why), aborted=aborted, stopped_run=stopped_run, returned=returned) from why
            return msgspec.structs.replace(compacted, returned=returned)

    def _granted(self) -> bool:
        """Whether the tree can be had as it is; False: once the run that is on is stopped. `Refused` where it cannot."""
        verdict = decide(self._desk.lease.at, "compaction")
        if isinstance(verdict, Busy):
            raise Refused("busy", verdict.words)
        return not isinstance(verdict, AbortFirst)

    async def _there(self, entry_id: EntryId) -> Compacted | None:
        """Asked again after a crash: it is in the log, and that is all there was to do."""
        view = self._desk.pen.view
        place = view.tree.index(entry_id)
        entry = None if place is None else view.entry(place)
        if not isinstance(entry, Compaction):
            return None
        measured = await insist(self._desk.projection, Measure())
        return Compacted(entry=entry, tokens_after=measured.tokens)
