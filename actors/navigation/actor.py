"""The shell of a navigation: check, ask extensions, have the summary written, append once, tell."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, assert_never

import attrs
import trio

from sapwood.actors.exclusion.lease import Lease
from sapwood.actors.kernel import CRASHES, Actor, Ref, Reply, Start, insist
from sapwood.actors.navigation.moving import Draft, Stamp, entries_of
from sapwood.actors.navigation.route import NO_MODEL, Route, route
from sapwood.actors.navigation.telling import Telling
from sapwood.actors.navigation.writing import Author, Bill, Wishes
from sapwood.actors.session_log.run_log import Pen
from sapwood.actors.stoppable import Stoppable
from sapwood.events.commands import Navigated
from sapwood.events.entries import BranchSummary
from sapwood.events.errors import NavigationFailed, Refused, StoreError
from sapwood.events.requests import Acquire, Append, CatchUp, NavigateTo, Select, StopNavigation
from sapwood.events.runtime import Diagnostic, Event

CANCELLED: Final = "Navigation cancelled"
"""What is raised for one that somebody stopped."""


@attrs.frozen(kw_only=True)
class Means:
    """Whom a navigation asks, and what it goes by."""

    exclusion: Ref
    projection: Ref
    author: Author
    pen: Pen
    lease: Lease
    asks: Callable[[str], bool]
    """Whether the tool of this name asks the person."""
    publish: Callable[[Event], int]


class Navigation(Actor[NavigateTo | StopNavigation]):
    """Owns the move that is under way. Asked for one; announces how it ends."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._stoppable = Stoppable(lambda: NavigationFailed(CANCELLED, aborted=True))

    def handle(self, message: NavigateTo | StopNavigation) -> Reply | Start:
        match message:
            case NavigateTo():
                work = partial(self._stoppable.run, message.key, partial(self._held, message))
                return Start(work, name=f"navigation {message.key}")
            case StopNavigation(key=key):
                self._stoppable.stop(key)
                return Reply()
            case _:
                assert_never(message)

    async def _held(self, asked: NavigateTo) -> Navigated:
        """With the tree; it is given back before anybody can have heard of the end."""
        means, telling = self._means, Telling(asked, self._means.publish)
        try:
            await means.exclusion.ask(Acquire(newcomer="navigation", key=asked.key))
            return await self._navigate(asked, telling)
        except BaseException as fault:  # else somebody stopped it
            telling.failed(fault if isinstance(fault, Exception) else None)
            raise
        finally:
            means.lease.release(asked.key)

    async def _navigate(self, asked: NavigateTo, telling: Telling) -> Navigated:
        means, view = self._means, self._means.pen.view
        await insist(means.pen.session_log, CatchUp())  # a session that cannot be written asks nobody
        way = route(view, asked, means.asks)
        if isinstance(way, Refused):
            raise way
        ends = way.destination
        if way.stays:
            if asked.label is not None:  # nothing happens (N1): extensions, who may refuse it, are not asked either
                self._label_dropped(
                    asked.label, "the session is where the move ends already. `label` marks an entry without one"
                )
            return Navigated(leaf=view.leaf, text=ends.text or "", images=ends.images)
        if asked.summarize and means.author.model_for(asked) is None:
            raise Refused("no-model", NO_MODEL)
        telling.attempt()
        wishes = await means.author.wishes(asked, way, telling)
        bill = Bill(wishes.usage)
        try:
            draft = await self._draft(asked, way, wishes, bill)
            if wishes.label is not None and draft is None and asked.target is None:
                self._label_dropped(wishes.label, "before the first entry there is none, and no summary was made")
            return await self._move(asked, way, draft, wishes, telling)
        except BaseException as why:
            if telling.due:  # else the entry has it
                await means.author.settle(asked, bill, why)
            raise

    def _label_dropped(self, label: str, why: str) -> None:
        told = f"the label {label!r} stands nowhere: {why}"
        self._means.publish(Diagnostic(code="label_dropped", message=told))

    async def _draft(self, asked: NavigateTo, way: Route, wishes: Wishes, bill: Bill) -> Draft | None:
        """The summary that is to be stored, if one is."""
        if wishes.draft is not None or not asked.summarize:
            return wishes.draft
        selected = await insist(self._means.projection, Select())
        return await self._means.author.draft(asked, way, wishes, selected.thinking_level, bill)

    async def _move(
        self, asked: NavigateTo, way: Route, draft: Draft | None, wishes: Wishes, telling: Telling
    ) -> Navigated:
        """The one write. What is begun of it ends well, and is told; a disk that refuses is not waited for."""
        means, pen = self._means, self._means.pen
        stamp = Stamp(new_id=pen.new_id, timestamp=pen.environment.timestamp(), now_ms=pen.environment.now_ms())
        await trio.lowlevel.checkpoint_if_cancelled()
        with trio.CancelScope(shield=True):
            left = pen.view.leaf
            entries = entries_of(
                way,
                left=left,
                target=asked.target,
                answer=asked.answer,
                draft=draft,
                label=wishes.label,
                stamp=stamp,
            )
            if draft is None:
                entries = (*entries, *means.author.unsummed(asked, Bill(wishes.usage), "none was made"))
            append = Append(entries=entries, expected_leaf=way.leaf, under=way.to, patient=False)
            appended = await insist(pen.session_log, append)
            with suppress(StoreError, *CRASHES):  # whoever asks next folds it; that it happened is told all the same
                await insist(means.projection, Select())
            summary = next(
                (found for one in entries if isinstance(found := pen.view.find(one.id), BranchSummary)), None
            )
            telling.done(left, appended.leaf, summary)
        ends = way.destination
        return Navigated(leaf=appended.leaf, text=ends.text or "", images=ends.images, summary=summary)
