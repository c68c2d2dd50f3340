"""The shell of the projection: pull, count what nobody has counted yet, and answer from the fold.

A log that cannot be read now is no crash: a question is refused with what the store says, news is passed over, and whoever asks next
pulls again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, assert_never

from sapwood.actors.environment import RunSync
from sapwood.actors.kernel import Actor, Refuse, Reply, Start
from sapwood.actors.projection.counts import Counts, Uncounted, go_on
from sapwood.actors.projection.fold import Fold, Note
from sapwood.events.context import Context, Measured, Surveyed
from sapwood.events.errors import StoreError
from sapwood.events.ids import EntryId
from sapwood.events.requests import Measure, PrepareCounting, Project, Select, Survey
from sapwood.events.runtime import Diagnostic, EntryAppended, Event

AT_A_TIME: Final = 262_144
"""Characters that are counted in one go elsewhere, where nobody can cancel it: a fifth of a second at most. So long waits who leaves."""


class Projection(Actor[Select | Project | Measure | Survey | PrepareCounting | EntryAppended]):
    """Owns the fold of the active branch. Made anew, it folds from the log again: nothing is lost with it, and nothing counted twice."""

    def __init__(
        self, fold: Callable[[], Fold], publish: Callable[[Event], int], counts: Counts, run_sync: RunSync
    ) -> None:
        self._fold = fold()
        self._publish = publish
        self._counts = counts
        self._run_sync = run_sync
        self._told: set[Note] = set()

    def handle(
        self, message: Select | Project | Measure | Survey | PrepareCounting | EntryAppended
    ) -> Reply | Refuse | Start | None:
        match message:
            case PrepareCounting():
                return Start(self._prepare, "load_counter")
            case EntryAppended(entry_id=entry_id):
                return self._ahead(entry_id) if self._pull() is None else None
            case Select() | Project() | Measure() | Survey():
                unread = self._pull()
                return self._asked(message) if unread is None else Refuse(unread)
            case _:
                assert_never(message)

    def _pull(self) -> StoreError | None:
        """What keeps the log from being read, if something does: then the fold is of what could be."""
        try:
            self._fold.pull()
        except StoreError as error:
            return error
        self._warn()
        for note in self._fold.notes:
            if note not in self._told:
                self._told.add(note)
                self._publish(Diagnostic(code=note.code, message=note.message, entry_id=note.entry_id))
        return None

    def _asked(self, question: Select | Project | Measure | Survey) -> Reply | Start:
        match question:
            case Select():
                return Reply(self._fold.selection())
            case Project() | Measure() | Survey():
                if not self._counts.belong_elsewhere(self._lacking(question)):
                    return Reply(self._answer(question))
                return Start(partial(self._count, question), "count")
            case _:
                assert_never(question)

    def _lacking(self, question: Project | Measure | Survey) -> list[Uncounted]:
        return self._counts.lacking(self._fold.counted_for(question))

    def _answer(self, question: Project | Measure | Survey) -> Context | Measured | Surveyed:
        match question:
            case Project():
                return self._fold.context()
            case Measure():
                return self._fold.measure()
            case Survey(tokens=tokens):
                return self._fold.survey(tokens)
            case _:
                assert_never(question)

    def _ahead(self, entry_id: EntryId) -> Start | None:
        """What is large is counted before anybody asks for it, where that holds up nobody."""
        one = self._fold.uncounted(entry_id)
        if one is None or not self._counts.is_much([one]):
            return None
        return Start(partial(self._elsewhere, [one]), "count_ahead")

    async def _elsewhere(self, lacking: Sequence[Uncounted]) -> None:
        """Count these, so much at a time that a stop can come between."""
        counting = self._counts.counting(lacking)
        while await self._run_sync(partial(go_on, counting, AT_A_TIME)):
            pass

    async def _prepare(self) -> None:
        await self._run_sync(self._counts.prepare)
        self._warn()

    async def _count(self, question: Project | Measure | Survey) -> Context | Measured | Surveyed:
        """Count until little is left; then what is asked is answered as things stand by then."""
        while self._counts.belong_elsewhere(lacking := self._lacking(question)):
            await self._elsewhere(lacking)
            if (unread := self._pull()) is not None:
                raise unread
        return self._answer(question)

    def _warn(self) -> None:
        if (warning := self._counts.warning()) is not None:
            self._publish(Diagnostic(code="counter_unavailable", message=warning))
