"""What an open session does for its extensions (H3): see `ExtensionContext`.

What is kept in the log goes there straight: a handler may be what the run waits for. What takes the tree is done by a task of the
extension's own, when nobody has it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import TypeVar

import trio

from sapwood.actors.agent.rewriting import entry_of
from sapwood.actors.extensions.companions import Work
from sapwood.actors.extensions.context import Deferred
from sapwood.actors.inbox import Handle
from sapwood.actors.kernel import CRASHES, ActorCrashed, Closed, insist
from sapwood.events.base import Json
from sapwood.events.commands import Compacted, Delivered
from sapwood.events.content import ImageContent, UserContent
from sapwood.events.context import ContextUsage
from sapwood.events.copies import detached
from sapwood.events.entries import Custom, KnownEntry, SessionInfo
from sapwood.events.errors import Refused, SessionClosed, no_entry
from sapwood.events.hooks import Draft, DraftLabel, DraftMessage, DraftState
from sapwood.events.ids import EntryId
from sapwood.events.requests import Append
from sapwood.events.runtime import ExtensionError, SessionInfoChanged
from sapwood.session import Session
from sapwood.taking import take_json, take_text
from sapwood.wiring import Wiring

T = TypeVar("T")


class Lending:
    """Of one session: what `Lent` asks for."""

    def __init__(self, session: Session, wiring: Wiring) -> None:
        self._session = session
        self._wiring = wiring
        self._works = count(1)

    async def append_custom(self, custom_type: str, data: Json) -> EntryId:
        return await self.append(DraftState(custom_type=take_text(custom_type, "a custom type"), data=take_json(data)))

    def kept(self, custom_type: str) -> tuple[Json, ...]:
        kind, view = take_text(custom_type, "a custom type"), self._wiring.view
        customs = map(view.entry, view.tree.latest(view.tree.path(view.tree.leaf), ("custom",)))
        newest_first = [one.data for one in customs if isinstance(one, Custom) and one.custom_type == kind]
        return tuple(map(detached, reversed(newest_first)))

    async def label(self, entry_id: EntryId, label: str | None) -> EntryId:
        if entry_id not in self._wiring.view.tree:
            raise no_entry(entry_id)
        text = None if label is None else take_text(label, "a label")
        return await self.append(DraftLabel(target_id=entry_id, label=text))

    async def append(self, draft: Draft) -> EntryId:
        """Append what is right: at once, at the leaf."""
        return await self._kept({"type": "append", "draft": draft}, lambda: self._append(draft))

    async def set_name(self, name: str | None) -> EntryId:
        text = None if name is None else take_text(name, "a name")
        return await self._kept({"type": "set_name", "name": text}, lambda: self._set_name(text))

    async def _set_name(self, text: str | None) -> EntryId:
        pen = self._wiring.pen
        named = SessionInfo(id=pen.new_id(), parent_id=None, timestamp=pen.environment.timestamp(), name=text)
        entry_id = await self._write(named)
        pen.publish(SessionInfoChanged(name=self._wiring.view.name()))
        return entry_id

    def context_usage(self) -> ContextUsage:
        return self._session.context_usage()

    def say(self, text: str, images: Sequence[ImageContent], *, now: bool) -> Handle:
        return self._session.say_for_extension("steer" if now else "follow_up", text, images)

    def prompt(self, extension: str, text: str, images: Sequence[ImageContent]) -> Deferred[Delivered]:
        self._wiring.heard.lent({"type": "prompt", "extension": extension, "text": text, "images": tuple(images)})

        async def said() -> Delivered:
            outcome = await self._session.say_for_extension("prompt", text, images).outcome()
            if not isinstance(outcome, Delivered):
                raise SessionClosed
            return outcome

        return self._later(extension, "prompt", said)

    def compact(self, extension: str, instructions: str | None) -> Deferred[Compacted]:
        self._wiring.heard.lent({"type": "compact", "extension": extension, "instructions": instructions})
        return self._later(extension, "compact", lambda: self._session.compact_for_extension(instructions))

    def append_message(
        self, extension: str, custom_type: str, content: UserContent, *, display: bool, details: Json
    ) -> Deferred[EntryId]:
        kind, facts = take_text(custom_type, "a custom type"), take_json(details)
        draft = DraftMessage(custom_type=kind, content=content, display=display, details=facts)
        self._wiring.heard.lent({"type": "append_message", "extension": extension, "draft": draft})
        return self._later(extension, "append_message", lambda: self._append(draft))

    def start_soon(self, extension: str, work: Callable[[], Awaitable[object]]) -> None:
        def ended(error: BaseException | None) -> None:
            if isinstance(error, CRASHES):
                failure = ExtensionError(extension=extension, event="background", error_message=str(error))
                self._wiring.pen.publish(failure)

        self._wiring.heard.lent({"type": "start_soon", "extension": extension})
        beside = self._wiring.heard.beside(f"work {next(self._works)}", work)
        self._begin(extension, "background", beside, ended)

    def _later(self, extension: str, what: str, work: Callable[[], Awaitable[T]]) -> Deferred[T]:
        deferred = Deferred[T](self._wiring.agent.guard)
        its_turn = self._wiring.heard.beside(f"later {next(self._works)}", _at_once)

        async def done() -> None:
            try:
                deferred.settle(await self._when_idle(work, its_turn))
            except trio.Cancelled:
                raise  # whoever cancelled it says why
            except BaseException as error:
                deferred.fail(error)
                raise

        def ended(error: BaseException | None) -> None:
            deferred.fail(SessionClosed() if error is None or isinstance(error, Closed) else error)

        self._begin(extension, what, done, ended)
        return deferred

    def _begin(
        self,
        extension: str,
        what: str,
        work: Callable[[], Awaitable[object]],
        ended: Callable[[BaseException | None], None],
    ) -> None:
        """Have it done by a task of the extension's own. `ended` is told when it is over, and of the crash or the close that ended it."""
        begun = False

        async def beginning() -> object:
            nonlocal begun
            await trio.lowlevel.checkpoint_if_cancelled()  # in a crash: it is begun by another task
            begun = True
            return await work()

        def ask(*, again: bool) -> None:
            def answered(error: BaseException | None) -> None:
                if isinstance(error, ActorCrashed) and again and not begun:
                    ask(again=False)
                else:
                    ended(error)

            self._wiring.companions.ask_soon(Work(extension, what, beginning), answered)

        ask(again=True)

    async def _when_idle(self, work: Callable[[], Awaitable[T]], its_turn: Callable[[], Awaitable[object]]) -> T:
        while True:
            await self._session.wait_idle()
            await its_turn()  # several may have waited
            try:
                return await work()
            except Refused as refusal:
                if refusal.reason != "busy":
                    raise

    async def _kept(self, told: Json, work: Callable[[], Awaitable[EntryId]]) -> EntryId:
        return await self._wiring.heard.doing(told, work, lent=True)

    async def _append(self, draft: Draft) -> EntryId:
        pen = self._wiring.pen
        return await self._write(entry_of(draft, pen.new_id(), pen.environment.timestamp()))

    async def _write(self, entry: KnownEntry) -> EntryId:
        await insist(self._wiring.pen.session_log, Append(entries=(entry,)))
        return entry.id


async def _at_once() -> None:
    """Nothing is waited for but a turn, where there are turns."""
