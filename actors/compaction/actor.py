"""The shell of the compaction: plan, ask extensions, have the summary written, append one entry, tell."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, assert_never

import attrs
import msgspec
import trio

from sapwood.actors.compaction.plan import Plan, plan
from sapwood.actors.compaction.telling import Telling
from sapwood.actors.compaction.threshold import Budget, CompactionSettings
from sapwood.actors.compaction.writing import Author, Draft
from sapwood.actors.exclusion.lease import Lease
from sapwood.actors.kernel import CRASHES, Actor, Ref, Reply, Start, insist
from sapwood.actors.projection.counter import UNITS_PER_TOKEN, heuristic, units
from sapwood.actors.projection.system_prompt import replay
from sapwood.actors.session_log.run_log import Pen
from sapwood.actors.stoppable import Stoppable
from sapwood.events.commands import Compacted
from sapwood.events.context import Surveyed
from sapwood.events.entries import Compaction as CompactionEntry
from sapwood.events.errors import CompactionFailed, Refused, SapwoodError, StaleLeaf, StoreError
from sapwood.events.ids import EntryId
from sapwood.events.messages import SystemMessage
from sapwood.events.models import Model
from sapwood.events.requests import (
    Acquire,
    Append,
    CatchUp,
    CheckCompaction,
    CompactNow,
    Measure,
    StopCompaction,
    Survey,
)
from sapwood.events.runtime import Diagnostic, Event

CANCELLED: Final = "Compaction cancelled"
"""Pi's words for one that somebody stopped."""


MEASURING: Final = 0.1
"""Seconds: half of what an abort may take."""


@attrs.frozen(kw_only=True)
class Means:
    """Whom a compaction asks, and what it goes by."""

    exclusion: Ref
    projection: Ref
    author: Author
    pen: Pen
    lease: Lease
    settings: CompactionSettings
    publish: Callable[[Event], int]


class Compaction(Actor[CompactNow | CheckCompaction | StopCompaction]):
    """Owns the compaction that is under way. Asked for one, and whether one could be; announces how it goes."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._under_way = Stoppable(_cancelled)
        self._checks = Stoppable(_cancelled)
        self._clamped: set[str] = set()
        """Models that are too small for the reserve that was set: each is told once (C1)."""

    def handle(self, message: CompactNow | CheckCompaction | StopCompaction) -> Reply | Start:
        match message:
            case CompactNow():
                return Start(lambda: self._one(message), name=f"compaction {message.key}")
            case CheckCompaction(key=key):
                work = partial(self._checks.run, key, partial(self._check, message))
                return Start(work, name=f"compaction check {key}")
            case StopCompaction(key=key):
                self._checks.stop(key)
                self._under_way.stop(key)
                return Reply()
            case _:
                assert_never(message)

    async def _one(self, asked: CompactNow) -> Compacted:
        telling = Telling(asked.reason, self._means.publish, will_retry=asked.will_retry)
        try:
            return await self._under_way.run(asked.key, lambda: self._held(asked, telling))
        finally:
            telling.failed(None)  # whoever asked has left, if nothing else was told

    async def _check(self, asked: CheckCompaction) -> None:
        """What can be known before anybody is stopped for it: that the log can be written, and that there is something to sum up."""
        await insist(self._means.pen.session_log, CatchUp())
        surveyed, budget = await self._surveyed(asked.model)
        planned = plan(surveyed, budget.keep_recent_tokens)
        if isinstance(planned, Refused):
            telling = Telling("manual", self._means.publish)
            telling.start()
            telling.failed(planned)
            raise planned

    async def _held(self, asked: CompactNow, telling: Telling) -> Compacted:
        """With the tree: its own lease, or that of the run which asks."""
        lease = self._means.lease
        if asked.reason != "manual":
            lease.compacting = True
            try:
                return await self._told(asked, telling)
            finally:
                lease.compacting = False
        try:
            await self._means.exclusion.ask(Acquire(newcomer="compaction", key=asked.key))
            await insist(self._means.pen.session_log, CatchUp())  # nobody is asked, or paid, for what cannot be written
            telling.start()
            return await self._told(asked, telling)
        finally:
            lease.release(asked.key)

    async def _told(self, asked: CompactNow, telling: Telling) -> Compacted:
        try:
            return await self._compact(asked, telling)
        except (StoreError, StaleLeaf) as fault:
            telling.failed(fault)
            raise CompactionFailed(str(fault)) from fault
        except Exception as fault:
            telling.failed(fault)
            raise

    async def _compact(self, asked: CompactNow, telling: Telling) -> Compacted:
        means = self._means
        surveyed, budget = await self._surveyed(asked.model)
        planned = plan(surveyed, budget.keep_recent_tokens)
        if isinstance(planned, Refused):
            raise planned
        telling.attempt()
        draft = await means.author.draft(asked, planned, surveyed, budget, telling)
        with trio.CancelScope(shield=True):  # what is being written ends well; a disk that refuses is not waited for
            try:
                entry = await self._append(asked.entry_id, planned, draft, surveyed)
            except SapwoodError as fault:
                if draft.model is not None:
                    await means.author.bill(draft.usage, draft.model, str(fault))
                raise
            tokens_after = await self._measured(planned, entry)
        telling.done(entry)  # and nothing is waited for until the tree is given back: who hears of it may have it
        return Compacted(entry=entry, tokens_after=tokens_after)

    async def _measured(self, planned: Plan, entry: CompactionEntry) -> int:
        """What the context comes to now; by the rule of thumb where it cannot be counted at once. The entry is in the log all the same."""
        with suppress(StoreError, *CRASHES), trio.move_on_after(MEASURING):
            measured = await insist(self._means.projection, Measure())
            return measured.tokens
        kept = sum(heuristic(message) for one in planned.kept for message in one.messages)
        return kept + units(entry.summary) // UNITS_PER_TOKEN

    async def _surveyed(self, model: Model) -> tuple[Surveyed, Budget]:
        """The selection, counted as far as a plan looks, and what the plan goes by."""
        budget = self._budget(model)
        return await insist(self._means.projection, Survey(tokens=2 * budget.keep_recent_tokens)), budget

    def _budget(self, model: Model) -> Budget:
        budget = self._means.settings.of(model)
        if budget.is_clamped and model.key not in self._clamped:
            self._clamped.add(model.key)
            told = (
                f"the window of {model.key} ({budget.window} tokens) does not bear a reserve of "
                f"{budget.asked_reserve_tokens}: it is taken as {budget.reserve_tokens}"
            )
            self._means.publish(Diagnostic(code="reserve_clamped", message=told, facts={"model": model.key}))
        return budget

    async def _append(self, entry_id: EntryId, planned: Plan, draft: Draft, surveyed: Surveyed) -> CompactionEntry:
        pen = self._means.pen
        first_kept = planned.first_kept if draft.first_kept is None else draft.first_kept
        entry = CompactionEntry(
            id=entry_id,
            parent_id=None,
            timestamp=pen.environment.timestamp(),
            summary=draft.text,
            first_kept_entry_id=entry_id if first_kept == "nothing" else EntryId(first_kept),
            tokens_before=planned.tokens_before,
            details=draft.details,
            usage=draft.usage,
            from_hook=draft.from_hook or None,
            system_message=_prompt_of(surveyed, pen.environment.now_ms()),
        )
        await insist(pen.session_log, Append(entries=(entry,), expected_leaf=surveyed.leaf, patient=False))
        tree = pen.view.tree
        place = tree.index(entry_id)
        parent = None if place is None else tree.parent(place)
        return msgspec.structs.replace(entry, parent_id=None if parent is None else tree.id(parent))


def _cancelled() -> CompactionFailed:
    return CompactionFailed(CANCELLED, aborted=True)


def _prompt_of(surveyed: Surveyed, now_ms: int) -> SystemMessage | None:
    """The whole prompt and tools at the boundary (C13)."""
    prompt = replay(message for one in surveyed.entries for message in one.messages)
    return None if prompt is None else msgspec.structs.replace(prompt, timestamp=now_ms)
