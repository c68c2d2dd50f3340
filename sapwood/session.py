"""The handle that a host holds of an open session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from typing import Final, Literal, TypeVar

import trio
from msgspec import to_builtins

from sapwood.actors.inbox import Handle
from sapwood.actors.kernel import ActorCrashed, Inquiry, OperationCrashed, Reader, insist
from sapwood.commanding import Commanding
from sapwood.events.commands import (
    Abort,
    Delivered,
    FollowUp,
    Prompt,
    QueuedInputs,
    Returned,
    SessionState,
    Steer,
    Withdraw,
)
from sapwood.events.content import ImageContent
from sapwood.events.context import ContextUsage
from sapwood.events.errors import SapwoodError, SessionClosed
from sapwood.events.hooks import Source
from sapwood.events.ids import EntryId
from sapwood.events.models import Model
from sapwood.events.requests import Resolve
from sapwood.events.runtime import Event
from sapwood.reading import in_place
from sapwood.taking import (
    take_event,
    take_input,
    take_since,
)
from sapwood.wiring import Wiring

T = TypeVar("T")

CLOSING_SECONDS: Final = 2.0
"""How long closing waits for a run to record where it was stopped: an abort settles in a tenth of that (R4)."""


class Session(Commanding):
    """An open session. Made by `Runtime.open_session`, and closed when that block is left.

    Whatever waits is called in the `trio.run` that opened it: elsewhere it is refused (`WrongThread`), and nothing is touched. What is a
    plain function may be called from a thread too, a tool's for one: it is done in that `trio.run`, and the thread waits for it.
    """

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring)
        self._is_closed = trio.Event()

    def hand_over(self, work: Callable[[], T]) -> T:
        """Do it where the session lives. A session that is closed changes no more, and is read anywhere."""
        return work() if self._is_closed.is_set() else self._wiring.system.loop.call(work)

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

    @in_place
    def submit(self, text: str, *, images: Sequence[ImageContent] = ()) -> Handle:
        """As `prompt`, without waiting: the handle has exactly one outcome (R3).

        `Refused` at once for what is no text or no image, and for an input with neither.
        """
        return self._say(Prompt, text, images)

    @in_place
    def steer(self, text: str, *, images: Sequence[ImageContent] = ()) -> Handle:
        """Say something to a run that is on: it enters before the next request, behind the tools of the present turn (R3).

        Where no run is on it waits for the next one, and enters behind what that begins with. The handle has exactly one outcome, when the
        run that took it up has settled; until it enters it can be taken back: `Handle.cancel`. `Refused` as for `submit`.
        """
        return self._say(Steer, text, images)

    @in_place
    def follow_up(self, text: str, *, images: Sequence[ImageContent] = ()) -> Handle:
        """Say something when the run would end: it gets a turn of its own then (R3). As `steer` otherwise."""
        return self._say(FollowUp, text, images)

    @in_place
    def say_for_extension(
        self, how: Literal["prompt", "steer", "follow_up"], text: str, images: Sequence[ImageContent] = ()
    ) -> Handle:
        """As `submit`, `steer` and `follow_up`: extensions that are asked about inputs are told that one of them says it.

        A prompt is one that is said later: `Heard.lent` heard of it when it was asked for.
        """
        kinds: dict[str, type[Prompt | Steer | FollowUp]] = {"prompt": Prompt, "steer": Steer, "follow_up": FollowUp}
        return self._say(kinds[how], text, images, source="extension")

    @in_place
    def queue(self) -> QueuedInputs:
        """What waits to be said, oldest first."""
        return self._wiring.shelf.queues.present()

    async def wait_idle(self) -> None:
        """Wait until nobody changes the tree: what was asked for has settled. What waits in a queue may still wait.

        `WouldDeadlock` in code that the run itself waits for.
        """
        self._wiring.agent.guard()
        while True:
            for handle in self._asked_for():
                await handle.done()
            await self._wiring.lease.idle()
            if self.state == "idle" and not self._asked_for():
                return

    def _asked_for(self) -> list[Handle]:
        """Runs that are asked for: one may not have the tree yet. What was said into a queue has a run only when it is taken from there."""
        return [handle for handle in self._wiring.shelf.under_way() if not handle.queued]

    @in_place
    def context_usage(self, model: Model | None = None) -> ContextUsage:
        """How full the window of the session's model is, or of `model`, in tokens (T5)."""
        return super().context_usage(self.model if model is None else model)

    @in_place
    def events(self, *, since: int | None = None) -> Reader:
        """A channel of `Published(seq, event)`, from now on or from after `since`; `Resync` for a reader that lags too far."""
        return self._wiring.system.ring.reader(take_since(since))

    @in_place
    def feed(self, event: Event) -> int:
        """Publish an event as if an actor of the session had: for scenarios, and for tests of extensions. Its number in the ring.

        `Refused` for what is no event.
        """
        if self._closed:
            raise SessionClosed
        taken = take_event(event)
        self._wiring.heard.host({"type": "feed", "event": to_builtins(taken)})
        return self._wiring.system.publish(taken)

    @property
    def state(self) -> SessionState:
        """Who may change the tree right now."""
        return self._wiring.lease.holder

    @property
    def model(self) -> Model:
        return self._wiring.chosen.model

    @property
    def read_only(self) -> bool:
        """Whether nothing can be appended: it was opened so, or a later release wrote its file (S2)."""
        return self._wiring.view.read_only

    async def abort(self) -> None:
        """Stop what runs; returns when it has settled. What came of the answer is recorded as aborted (R4).

        Raises `SessionBroken`, and `WouldDeadlock` in code that the run itself waits for.
        """
        self._wiring.agent.guard()
        await self._wiring.heard.rest()
        self._wiring.heard.host({"type": "abort"})
        try:
            await self._stop()
        except SapwoodError as error:
            raise self._told(error) from error

    async def _withdraw(self, entry_id: EntryId) -> bool:
        """Nobody's question: a tool may take back what it said. The inbox waits for nobody."""
        if self._closed:
            return False
        self._wiring.heard.host({"type": "withdraw", "entryId": entry_id})
        try:
            return await Inquiry(self._wiring.inbox, Withdraw(entry_id=entry_id)).come()
        except SapwoodError as error:
            raise self._told(error) from error

    def _say(
        self,
        kind: type[Prompt | Steer | FollowUp],
        text: str,
        images: Sequence[ImageContent],
        *,
        source: Source = "host",
    ) -> Handle:
        if self._closed:
            raise SessionClosed
        lent = source == "extension" and kind is Prompt
        with nullcontext() if lent else self._wiring.heard.hosting():
            pen = self._wiring.pen
            now_ms = pen.environment.now_ms()
            taken = take_input(text, images, entry_id=pen.new_id(), now_ms=now_ms, source=source)
        said = kind(input=taken)
        if not lent:
            self._wiring.heard.host(said)
        return self.say_as_taken(said)

    def say_as_taken(self, said: Prompt | Steer | FollowUp) -> Handle:
        """Say what was looked at, and has its id and its time: what a recording's host said is said with those that it had."""
        withdraw = None if isinstance(said, Prompt) else self._withdraw
        handle = self._wiring.shelf.put(said.input, self._wiring.agent.guard, withdraw)
        self._deliver(said)
        return handle

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
                await self._wiring.heard.rest()
                self._wiring.heard.host({"type": "close"})
                await self._stop()  # an agent that cannot be asked has nothing left to stop
        finally:
            try:
                # what is being hardened cannot be left, and who asked for it is to be told the truth
                with trio.CancelScope(shield=True):
                    await self._wiring.attendance.ends()
                    await self._wiring.let_go()
            finally:
                self._end()

    def _end(self) -> None:
        """Every handle has its outcome, and who reads events comes to their end."""
        shelf, tree = self._wiring.shelf, self._wiring.view.tree
        queue = shelf.queues.present()
        for waiting in (*queue.steering, *queue.follow_up):
            if waiting.entry_id not in tree:  # an inbox that is down has not heard of those that are
                shelf.resolve(waiting.entry_id, Returned(text=waiting.text, images=waiting.images))
        for handle in shelf.handles():
            self._give_up(handle.entry_id, SessionClosed())
        self._is_closed.set()
        self._wiring.ring.close()

    async def _stop(self) -> None:
        under_way = self._wiring.shelf.under_way()
        if self.state != "idle" or under_way:
            try:
                await insist(self._wiring.agent, Abort())
            except OperationCrashed:
                # who wants it stopped is not told that the stopping broke: it is done again
                await insist(self._wiring.agent, Abort())
        for handle in under_way:
            await handle.done()

    def _deliver(self, said: Prompt | Steer | FollowUp, *, again: bool = True) -> None:
        """Ask the agent, and see to it that the handle has an outcome, whoever crashes on the way."""
        entry_id = said.input.entry_id

        def answered(error: BaseException | None) -> None:
            if again and isinstance(error, ActorCrashed) and error.actor == self._wiring.agent.name:
                self._deliver(said, again=False)
            elif entry_id in self._wiring.shelf.queues:
                pass  # it is accepted, whoever crashed behind that: it waits for its turn
            elif error is not None and entry_id not in self._wiring.view.tree:
                self._give_up(entry_id, self._told(error))
            elif isinstance(said, Prompt):
                self._resolve(entry_id)

        self._wiring.agent.ask_soon(said, answered)

    def _resolve(self, entry_id: EntryId, *, again: bool = True) -> None:
        def answered(error: BaseException | None) -> None:
            if isinstance(error, ActorCrashed) and again:
                self._resolve(entry_id, again=False)
            elif error is not None:
                self._give_up(entry_id, self._told(error))

        self._wiring.inbox.ask_soon(Resolve(entry_id=entry_id), answered)

    def _give_up(self, entry_id: EntryId, error: SapwoodError) -> None:
        """Nobody is left who could resolve the handle: the log says whether the input was delivered."""
        if entry_id in self._wiring.view.tree:
            self._wiring.shelf.resolve(entry_id, Delivered(entry_id=entry_id, aborted=True))
        else:
            self._wiring.shelf.fail(entry_id, error)
