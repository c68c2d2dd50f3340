"""What extensions do beside a session: they hear of events, one after the other, and work on their own. Foreign code; nobody waits for it.

1. Each extension has its own queue: one that is slow is late itself, and nobody else is (H2).
2. A handler has its limit; what it raises is told by `extension_error`, and no extension is told of its own. What fails while it is told
   of a failure is told to no extension: two that fail at each other's would go on for ever.
3. All of it ends with the session: `Settle` waits until what was published is told, `Dismiss` cancels whatever still works.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import attrs
import trio

from sapwood.actors.extensions.context import Life
from sapwood.actors.extensions.extension import Handler, Registered
from sapwood.actors.extensions.handling import called
from sapwood.actors.extensions.merging import Came, NoAnswer
from sapwood.actors.extensions.posts import Post, Told
from sapwood.actors.foreign import LEAVE_AFTER, Fault, outcome_of, words_of
from sapwood.actors.kernel import Actor, Apart, OperationCrashed, Start, sealed
from sapwood.events.asking import Ask
from sapwood.events.copies import detached
from sapwood.events.runtime import Diagnostic, Event, ExtensionError, News

OF_FAILURE: Final[ContextVar[bool]] = ContextVar("sapwood.told_of_a_failure", default=False)
"""Whether what runs is what somebody does about a failure that it was told of."""


class Work(Ask[None], frozen=True):
    """Do this for an extension. Asked, so that who asked knows if it is lost in a crash."""

    extension: str
    what: str
    """What it is called where it fails."""
    work: Callable[[], Awaitable[object]]


@attrs.frozen
class Deliver:
    """Tell this extension what waits for it. Told by itself."""

    extension: str


class Settle(Ask[None], frozen=True):
    """Wait until everything that was published before is told."""


class Dismiss(Ask[None], frozen=True):
    """Cancel whatever still works."""


Message = Work | Deliver | Settle | Dismiss | Told


class Companions(Actor[Message]):
    """Owns what extensions do beside the session. Told events and work; announces what failed."""

    def __init__(
        self,
        *,
        registered: Registered,
        posts: Mapping[str, Post],
        life: Life,
        tell: Callable[[Deliver], None],
        publish: Callable[[Event], int],
        report: Callable[[str, BaseException], None],
    ) -> None:
        """`posts` outlive a crash; `tell` puts a message into its own mailbox."""
        self._registered = registered
        self._posts = posts
        self._life = life
        self._tell = tell
        self._publish = publish
        self._report = report
        self._at_work: set[str] = set()
        """Extensions that have something to be told, or are told it."""
        self._telling: set[str] = set()
        self._idle: list[trio.Event] = []
        self._scopes: set[trio.CancelScope] = set()
        self._dismissed = False
        self._hear_failures = not {ExtensionError, News}.isdisjoint(registered.events)
        self._kept_back: list[ExtensionError] = []
        """Failures that are published, and that no extension is to be told of."""
        for post in posts.values():
            if post.waiting:  # since before a crash
                self._due(post.extension)

    def handle(self, message: Message) -> Start | None:
        match message:
            case Work(extension=extension, what=what):
                return Start(lambda: self._work(message), name=f"{what} of extension {extension}", owner="actor")
            case Deliver(extension=extension) if extension in self._telling:
                return None  # one more, from before a crash
            case Deliver(extension=extension):
                post = self._posts[extension]
                self._telling.add(extension)
                return Start(lambda: self._deliver(post), name=f"news for extension {extension}", owner="actor")
            case Settle():
                return Start(self._settled, name="settle")
            case Dismiss():
                self._dismissed = True
                for scope in self._scopes:
                    scope.cancel(reason="the session ends")
                return Start(self._gone, name="dismiss")
            case _:
                self._put(message)
                return None

    def _put(self, one: Told) -> None:
        if isinstance(one, ExtensionError) and one in self._kept_back:
            self._kept_back.remove(one)
            return
        for extension, post in self._posts.items():
            own = isinstance(one, ExtensionError) and one.extension == extension
            if own or not self._registered.told(extension, type(one)):
                continue
            post.put(one)
            self._due(extension)

    def _due(self, extension: str) -> None:
        if extension not in self._at_work:
            self._at_work.add(extension)
            self._tell(Deliver(extension))

    async def _deliver(self, post: Post) -> None:
        with self._scope():
            try:
                while post.waiting:
                    one = post.waiting.popleft()
                    OF_FAILURE.set(isinstance(one, ExtensionError))
                    for handler in self._registered.told(post.extension, type(one)):
                        await self._call(handler, one)
                    self._own_up(post)
            finally:
                if self._dismissed and post.waiting:
                    post.lost += len(post.waiting)
                    post.waiting.clear()
                    self._own_up(post)
                self._telling.discard(post.extension)
                self._at_work.discard(post.extension)

    async def _call(self, handler: Handler, one: Told) -> None:
        limit = math.inf if handler.limit is None else handler.limit
        came: Came = NoAnswer(f"it did not come within {limit:g} s")
        part = Apart(
            lambda: called(handler, detached(one), self._life, _nothing, self._report),
            name=f"{handler.event} of extension {handler.extension}",
            grace=LEAVE_AFTER,
        )
        with trio.move_on_after(limit):
            try:
                came = await part.run()
            except OperationCrashed as crash:  # it left something open that is not its own
                came = NoAnswer(str(crash))
            except trio.Cancelled:
                if self._dismissed:
                    came = NoAnswer("it was at work when the session ended")
                    self._failed(handler.extension, handler.event, came.why)
                raise
        if isinstance(came, NoAnswer):
            self._failed(handler.extension, handler.event, came.why)

    def _failed(self, extension: str, what: str, why: str) -> None:
        failure = ExtensionError(extension=extension, event=what, error_message=why)
        if self._hear_failures and OF_FAILURE.get():
            self._kept_back.append(failure)
        self._publish(failure)

    def _own_up(self, post: Post) -> None:
        if post.lost:
            told = f"extension {post.extension!r} was too slow: it was not told of {post.lost} events"
            facts = {"extension": post.extension, "lost": post.lost}
            post.lost = 0
            self._publish(Diagnostic(code="events_left_out", message=told, facts=facts))

    async def _settled(self) -> None:
        while self._at_work:
            self._idle.append(trio.Event())
            await self._idle[-1].wait()

    async def _work(self, asked: Work) -> None:
        with self._scope():
            came: object = None
            try:
                came = await outcome_of(lambda: sealed(asked.work), lambda fault: self._report(asked.extension, fault))
            except Exception as crash:  # noqa: BLE001 - what is raised with a part that ends more than this
                came = Fault(crash)
            if isinstance(came, Fault):
                self._failed(asked.extension, asked.what, words_of(came.error))

    async def _gone(self) -> None:
        while self._scopes:
            self._idle.append(trio.Event())
            await self._idle[-1].wait()

    @contextmanager
    def _scope(self) -> Generator[None]:
        """Cancelled when the session ends."""
        scope = trio.CancelScope()
        if self._dismissed:
            scope.cancel(reason="the session ends")
        self._scopes.add(scope)
        try:
            with scope:
                yield
        finally:
            self._scopes.discard(scope)
            self._wake()

    def _wake(self) -> None:
        for idle in self._idle:
            idle.set()
        self._idle.clear()


def _nothing(answer: object) -> Came:
    return None if answer is None else NoAnswer(f"it gave {answer!r:.80}, where nothing is to be answered")
