"""What a handler is told besides its question, and what it may ask its session for (H3).

1. What is kept in the log is there when the call returns: nobody who waits for the handler is waited for.
2. What takes the tree, a prompt or a compaction, is done when nobody has it: waiting for that inside a handler that a run waits for is
   `WouldDeadlock`.
3. When its session has ended a context raises `StaleContext`, whatever is asked of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs
import trio

from sapwood.actors.inbox import Handle
from sapwood.events.base import Json
from sapwood.events.commands import Compacted, Delivered
from sapwood.events.content import ImageContent, UserContent
from sapwood.events.context import ContextUsage
from sapwood.events.errors import StaleContext
from sapwood.events.ids import EntryId, SessionId

T = TypeVar("T")


class Deferred(Generic[T]):
    """What will have come of something that is done later, once."""

    def __init__(self, guard: Callable[[], None] = lambda: None) -> None:
        """`guard` raises `WouldDeadlock` where nobody may wait for it."""
        self._guard = guard
        self._done = trio.Event()
        self._values: list[T] = []
        self._error: BaseException | None = None

    async def outcome(self) -> T:
        """Wait for it. Raises what it came to, and `WouldDeadlock` in code that the run itself waits for."""
        self._guard()
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return self._values[0]

    def settle(self, value: T) -> None:
        """For the session alone: it is done."""
        self._values.append(value)
        self._done.set()

    def fail(self, error: BaseException) -> None:
        """For the session alone: it could not be done. What it came to first stands."""
        if self._done.is_set():
            return
        self._error = error
        self._done.set()


class Lent(Protocol):
    """What a session does for its extensions; `extension` is the one that asks."""

    async def append_custom(self, custom_type: str, data: Json) -> EntryId: ...
    def kept(self, custom_type: str) -> tuple[Json, ...]: ...
    async def label(self, entry_id: EntryId, label: str | None) -> EntryId: ...
    async def set_name(self, name: str | None) -> EntryId: ...
    def context_usage(self) -> ContextUsage: ...
    def say(self, text: str, images: Sequence[ImageContent], *, now: bool) -> Handle: ...
    def prompt(self, extension: str, text: str, images: Sequence[ImageContent]) -> Deferred[Delivered]: ...
    def compact(self, extension: str, instructions: str | None) -> Deferred[Compacted]: ...
    def append_message(
        self, extension: str, custom_type: str, content: UserContent, *, display: bool, details: Json
    ) -> Deferred[EntryId]: ...
    def start_soon(self, extension: str, work: Callable[[], Awaitable[object]]) -> None: ...


@attrs.define(kw_only=True, eq=False)
class Life:
    """A session, as far as its extensions know it: what it lends them, from its beginning to its end."""

    session_id: SessionId
    cwd: str
    lent: Lent | None = None
    """None before it has begun and when it has ended."""
    over: bool = False


class ExtensionContext:
    """What a handler is told besides its question. Made by the session; one for each call of a handler."""

    __slots__ = ("_extension", "_life")

    def __init__(self, life: Life, extension: str) -> None:
        self._life = life
        self._extension = extension

    def __repr__(self) -> str:
        return (
            f"<ExtensionContext of {self._extension} in {self._life.session_id}{', over' if self._life.over else ''}>"
        )

    @property
    def session_id(self) -> SessionId:
        return self._living().session_id

    @property
    def cwd(self) -> str:
        """The working folder that the session notes."""
        return self._living().cwd

    async def append_custom(self, custom_type: str, data: Json = None) -> EntryId:
        """Keep state in the log, at the leaf; the model does not see it. `Refused` for what is no JSON; `StoreError`."""
        return await self._session().append_custom(custom_type, data)

    def kept(self, custom_type: str) -> tuple[Json, ...]:
        """The data of each `custom` entry of this type on the way to the leaf, the oldest first; copies of it.

        What was kept on a branch that was left is not in it, and is again when the session moves back; a compaction takes nothing away.
        `Refused` for what is no type; `StoreConflict` if another program changed the file.
        """
        return self._session().kept(custom_type)

    async def label(self, entry_id: EntryId, label: str | None) -> EntryId:
        """Mark an entry; None takes the mark off. `Refused` for an entry that there is not; `StoreError`."""
        return await self._session().label(entry_id, label)

    async def set_name(self, name: str | None) -> EntryId:
        """Name the session, or take its name away. `StoreError`."""
        return await self._session().set_name(name)

    def context_usage(self) -> ContextUsage:
        """How full the window of the session's model is (T5)."""
        return self._session().context_usage()

    def steer(self, text: str, *, images: Sequence[ImageContent] = ()) -> Handle:
        """As `Session.steer`, said by the extension."""
        return self._session().say(text, images, now=True)

    def follow_up(self, text: str, *, images: Sequence[ImageContent] = ()) -> Handle:
        """As `Session.follow_up`, said by the extension."""
        return self._session().say(text, images, now=False)

    def prompt(self, text: str, *, images: Sequence[ImageContent] = ()) -> Deferred[Delivered]:
        """Say something to the model when nobody has the tree: behind the run that is on. What comes of it can be waited for elsewhere."""
        return self._session().prompt(self._extension, text, images)

    def compact(self, instructions: str | None = None) -> Deferred[Compacted]:
        """Summarise the past when nobody has the tree."""
        return self._session().compact(self._extension, instructions)

    def append_message(
        self, custom_type: str, content: UserContent, *, display: bool = True, details: Json = None
    ) -> Deferred[EntryId]:
        """Append a message that the model reads as a user's, when nobody has the tree. Within a run `Boundary(entries=…)` is the way."""
        return self._session().append_message(self._extension, custom_type, content, display=display, details=details)

    def start_soon(self, work: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Do something beside the session, until that ends: then it is cancelled. What it raises is an `extension_error`."""
        self._session().start_soon(self._extension, lambda: work(*args))

    def _living(self) -> Life:
        if self._life.over:
            raise StaleContext(self._life.session_id)
        return self._life

    def _session(self) -> Lent:
        lent = self._living().lent
        if lent is None:
            raise StaleContext(self._life.session_id)
        return lent
