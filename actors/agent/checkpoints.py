"""Where a run looks at its context, and has it made smaller (C3, C16, C17)."""

from __future__ import annotations

from typing import Final

from sapwood.actors.agent.desk import Desk
from sapwood.actors.agent.one_run import Run
from sapwood.actors.agent.steps import Check, Checked, Hidden, Hide, Recover, Recovered
from sapwood.actors.compaction.progress import Progress
from sapwood.actors.compaction.sizes import largest, sent
from sapwood.actors.compaction.threshold import Budget
from sapwood.actors.kernel import CRASHES, insist
from sapwood.actors.projection.counter import heuristic
from sapwood.events.commands import Compacted
from sapwood.events.entries import ContextEdit
from sapwood.events.errors import CompactionFailed, ContextTooLarge, Refused
from sapwood.events.messages import UserMessage
from sapwood.events.requests import CompactNow, Measure, Select, StopCompaction, Survey
from sapwood.events.runtime import CompactionReason

IMPOSSIBLE: Final = 2
"""Windows: what no provider has taken in one request, whatever it reports."""
TOO_LITTLE: Final = "the last compaction freed too little"


class Checkpoints:
    """Of one session's runs."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._progress = Progress()
        self._asked = 0

    async def check(self, do: Check, run: Run) -> Checked:
        """Compact, if what is to be sent is beyond the threshold. Raises `ContextTooLarge` for what cannot be made to fit the window."""
        desk = self._desk
        budget = desk.settings.of(desk.chosen.model)
        if do.incoming or do.said:
            self._progress.has_input()
        if budget.enabled and desk.pen.view.tree.leaf is not None and not run.stopped:
            await self._look(do, budget, run)
        return Checked()

    async def _look(self, do: Check, budget: Budget, run: Run) -> None:
        desk, key = self._desk, self._desk.chosen.model.key
        incoming = sum(heuristic(UserMessage(content=one.content, timestamp=0)) for one in do.incoming)
        measured = await insist(desk.projection, Measure())
        tokens = measured.tokens + incoming
        if not budget.is_over(tokens):
            return
        if self._progress.may(tokens, key):
            compacted = await self._compact("threshold", run)
            if isinstance(compacted, Compacted):
                tokens = compacted.tokens_after + incoming
                if budget.is_over(tokens):
                    self._progress.came_to_nothing(tokens, budget.window, key, TOO_LITTLE)
            elif run.stopped:
                return
            else:
                self._progress.came_to_nothing(tokens, budget.window, key, str(compacted))
        if do.sends and tokens > budget.window and not await self._fits(budget.window - incoming):
            surveyed = await insist(desk.projection, Survey(tokens=budget.window))
            if tokens > IMPOSSIBLE * budget.window and sum(surveyed.tokens) + incoming <= budget.window:
                return  # a usage was reported that no request can have had: our own count says that it fits
            raise ContextTooLarge(tokens, budget.window, largest(surveyed), self._progress.why)

    async def _fits(self, room: int) -> bool:
        """Whether what goes out fits all the same: nobody knows the window, or the model's limits cut that much off."""
        model = self._desk.chosen.model
        if model.context_window is None:
            return True
        if model.limits is None:
            return False
        selection = await insist(self._desk.projection, Select())
        return sent(selection.messages, model) <= room

    async def hide(self, do: Hide, run: Run) -> Hidden:
        await run.log.add(
            lambda entry_id, timestamp: ContextEdit(
                id=entry_id, parent_id=None, timestamp=timestamp, target_id=do.entry_id, replacement=None
            )
        )
        return Hidden()

    async def recover(self, do: Recover, run: Run) -> Recovered:
        """Compact, whatever the estimate says: the provider has said that it is too much."""
        if run.stopped:
            return Recovered(done=False, stopped=True)
        compacted = await self._compact("overflow", run, will_retry=do.will_retry)
        return Recovered(done=do.will_retry and isinstance(compacted, Compacted), stopped=run.stopped)

    async def _compact(self, reason: CompactionReason, run: Run, *, will_retry: bool = False) -> Compacted | Exception:
        """What came of it; what failed is told by the compaction itself, and the run goes on without."""
        self._asked += 1
        key = f"{run.key}/compaction/{self._asked}"
        asked = CompactNow(
            key=key,
            entry_id=self._desk.pen.new_id(),
            reason=reason,
            model=self._desk.chosen.model,
            will_retry=will_retry,
        )
        try:
            compacted = await run.ask(self._desk.compaction, asked, StopCompaction(key=key))
        except (Refused, CompactionFailed, *CRASHES) as why:
            return why
        run.log.follow(compacted.entry.id)
        return compacted
