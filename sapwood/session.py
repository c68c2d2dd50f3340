"""The handle that a host holds of an open session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import attrs
import trio

from sapwood.actors.environment import Environment
from sapwood.actors.exclusion.lease import Lease
from sapwood.actors.inbox import Handle, Shelf
from sapwood.actors.kernel import (
    CRASHES,
    ActorCrashed,
    Closed,
    Reader,
    Ref,
    System,
    insist,
)
from sapwood.actors.projection.fold import Fold
from sapwood.actors.projection.system_prompt import rendered, replay
from sapwood.actors.session_log.view import View
from sapwood.events.commands import Abort, Delivered, Prompt, SessionState
from sapwood.events.content import ImageContent
from sapwood.events.context import ContextUsage
from sapwood.events.errors import SapwoodError, SessionBroken, SessionClosed
from sapwood.events.ids import EntryId
from sapwood.events.models import Model
from sapwood.events.requests import Resolve, Restore
from sapwood.events.runtime import Event
from sapwood.reading import Reading
from sapwood.taking import take_event, take_input, take_since

CLOSING_SECONDS = 2.0
"""How long closing waits for a run to record where it was stopped: an abort settles in a tenth of that (R4)."""


@attrs.frozen(kw_only=True)
class Wiring:
    """What a session is made of. The runtime puts it together."""

    system: System
    agent: Ref
    session_log: Ref
    inbox: Ref
    shelf: Shelf
    lease: Lease
    view: View
    fold: Callable[[], Fold]
    environment: Environment
    let_go: Callable[[], Awaitable[None]]
    """Closes the store, when nothing is being written."""
    new_id: Callable[[], EntryId]
    """Makes an entry's id that no entry has, and no input that is on its way."""
    model: Model


class Session(Reading):
    """An open session. Made by `Runtime.open_session`, and closed when that block is left."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring.view, wiring.fold)
        self._wiring = wiring
        self._closed = False
        self._is_closed = trio.Event()

    async def prompt(self, text: str, *, images: Sequence[ImageContent] = ()) -> Delivered:
        """Say something to the model, and return when all that follows has settled (R6).

        What reached the log is returned: `Delivered`, with the last answer, a failed or aborted one too; `failed` tells those from whole
        ones. What kept the input out of the log is raised: `Refused` (it is no input, or somebody else has the tree; nothing was
        changed), `StoreError` (the disk), `SessionClosed`, `SessionBroken`.
        Whoever waits may be cancelled; the run goes on. Code that the run itself waits for gets `WouldDeadlock` at once.
        """
        self._wiring.agent.guard()
        match await self.submit(text, images=images).outcome():
            case Delivered() as delivered:
                return delivered
            case other:
                raise AssertionError(f"what kept a prompt out of the log is raised, not returned: {other}")

    def submit(self, text: str, *, images: Sequence[ImageContent] = ()) -> Handle:
        """As `prompt`, without waiting: the handle has exactly one outcome (R3).

        `Refused` at once for what is no text or no image, and for an input with neither.
        """
        if self._closed:
            raise SessionClosed
        wiring = self._wiring
        taken = take_input(text, images, entry_id=wiring.new_id(), now_ms=wiring.environment.now_ms())
        handle = wiring.shelf.put(taken, wiring.agent.guard)
        self._deliver(Prompt(input=taken))
        return handle

    def context_usage(self, model: Model | None = None) -> ContextUsage:
        """How full the window of the session's model is, or of `model`, in tokens (T5)."""
        return super().context_usage(self.model if model is None else model)

    def events(self, *, since: int | None = None) -> Reader:
        """A channel of `Published(seq, event)`, from now on or from after `since`; `Resync` for a reader that lags too far."""
        return self._wiring.system.ring.reader(take_since(since))

    def feed(self, event: Event) -> int:
        """Publish an event as if an actor of the session had: for scenarios, and for tests of extensions. Its number in the ring.

        `Refused` for what is no event.
        """
        if self._closed:
            raise SessionClosed
        return self._wiring.system.publish(take_event(event))

    @property
    def state(self) -> SessionState:
        """Who may change the tree right now."""
        return self._wiring.lease.holder

    @property
    def model(self) -> Model:
        return self._wiring.model

    @property
    def system_prompt(self) -> str | None:
        """What the branch's system messages come to, as one text; None if they come to nothing (P7).

        What `open_session(system_prompt=…)` asks for is in it from the next prompt on.
        """
        fold = self._fold()
        fold.pull()
        prompt = replay(fold.context().messages)
        return (rendered(prompt) or None) if prompt is not None else None

    @property
    def read_only(self) -> bool:
        """Whether nothing can be appended: it was opened so, or a later release wrote its file (S2)."""
        return self._wiring.view.read_only

    async def abort(self) -> None:
        """Stop what runs; returns when it has settled. What came of the answer is recorded as aborted (R4).

        Raises `SessionBroken`, and `WouldDeadlock` in code that the run itself waits for.
        """
        self._wiring.agent.guard()
        try:
            await self._stop()
        except SapwoodError as error:
            raise _told(error) from error

    async def restore(self) -> str | None:
        """Put a file that somebody deleted or replaced back to its path, from what is open of it (S9); then prompts go on.

        What stands at the path now gets a name beside it, which is returned. Raises `StoreError`: a `StoreConflict` where there is nothing
        to put back; `SessionClosed`, `SessionBroken`, and `WouldDeadlock` in code that the run itself waits for.
        """
        self._wiring.agent.guard()
        if self._closed:
            raise SessionClosed
        try:
            return await insist(self._wiring.session_log, Restore())
        except SapwoodError as error:
            raise _told(error) from error

    async def close(self) -> None:
        """Stop what runs, record it as stopped, let go of the file, and refuse what comes after.

        Twice does nothing, and waits for the first.
        Code that the run itself waits for gets `WouldDeadlock`.
        """
        self._wiring.agent.guard()
        if self._closed:
            await self._is_closed.wait()
            return
        self._closed = True
        try:
            with trio.move_on_after(CLOSING_SECONDS, shield=True), suppress(SapwoodError):
                await self._stop()  # an agent that cannot be asked has nothing left to stop
        finally:
            try:
                with trio.CancelScope(
                    shield=True
                ):  # what is being hardened cannot be left, and who asked for it is to be told the truth
                    await self._wiring.let_go()
            finally:
                for handle in self._wiring.shelf.handles():
                    self._give_up(handle.entry_id, SessionClosed())
                self._is_closed.set()

    async def _stop(self) -> None:
        handles = self._wiring.shelf.handles()
        if self.state != "idle" or handles:
            await insist(self._wiring.agent, Abort())
        for handle in handles:
            await handle.done()

    def _deliver(self, prompt: Prompt, *, again: bool = True) -> None:
        """Ask the agent, and see to it that the handle has an outcome, whoever crashes on the way."""
        entry_id = prompt.input.entry_id

        def answered(error: BaseException | None) -> None:
            if again and isinstance(error, ActorCrashed) and error.actor == self._wiring.agent.name:
                self._deliver(prompt, again=False)
            elif error is not None and entry_id not in self._wiring.view.tree:
                self._give_up(entry_id, _told(error))
            else:
                self._resolve(entry_id)

        self._wiring.agent.ask_soon(prompt, answered)

    def _resolve(self, entry_id: EntryId, *, again: bool = True) -> None:
        def answered(error: BaseException | None) -> None:
            if isinstance(error, ActorCrashed) and again:
                self._resolve(entry_id, again=False)
            elif error is not None:
                self._give_up(entry_id, _told(error))

        self._wiring.inbox.ask_soon(Resolve(entry_id=entry_id), answered)

    def _give_up(self, entry_id: EntryId, error: SapwoodError) -> None:
        """Nobody is left who could resolve the handle: the log says whether the input was delivered."""
        if entry_id in self._wiring.view.tree:
            self._wiring.shelf.resolve(entry_id, Delivered(entry_id=entry_id, aborted=True))
        else:
            self._wiring.shelf.fail(entry_id, error)


def _told(error: BaseException) -> SapwoodError:
    """The error as a host is told it: the kernel's `Closed` is this session's end, and it knows of no actors."""
    match error:
        case SapwoodError() if isinstance(error, CRASHES):
            broken = SessionBroken(str(error))
            broken.__cause__ = error
            return broken
        case SapwoodError() if not isinstance(error, Closed):
            return error
        case _:
            return SessionClosed()
