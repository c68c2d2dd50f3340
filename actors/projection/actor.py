"""The shell of the projection: pull, and answer from the fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from sapwood.actors.kernel import Actor, Reply
from sapwood.actors.projection.fold import Fold, Note
from sapwood.events.requests import Measure, Project
from sapwood.events.runtime import Diagnostic, EntryAppended, Event


class Projection(Actor[Project | Measure | EntryAppended]):
    """Owns the fold of the active branch. Made anew, it folds from the log again: nothing is lost with it."""

    def __init__(self, fold: Callable[[], Fold], publish: Callable[[Event], int]) -> None:
        self._fold = fold()
        self._publish = publish
        self._told: set[Note] = set()

    def handle(self, message: Project | Measure | EntryAppended) -> Reply | None:
        self._fold.pull()
        for note in self._fold.notes:
            if note not in self._told:
                self._told.add(note)
                self._publish(Diagnostic(code=note.code, message=note.message, entry_id=note.entry_id))
        match message:
            case Project():
                return Reply(self._fold.context())
            case Measure():
                return Reply(self._fold.measure())
            case EntryAppended():
                return None
            case _:
                assert_never(message)
