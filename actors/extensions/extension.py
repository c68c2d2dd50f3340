"""What an extension is: a name, and the handlers that it answers questions with. No I/O, no awaits.

1. Handlers are asked in the order in which they were registered, extension by extension in the host's order (H1).
2. A handler that answers what its question does not admit is a type error for a checker; see `merging` for what it is at run time.
3. What is wrong with a registration is `Refused("bad-input", …)` at once, and nothing was registered.
4. A session has the handlers that were there when it was opened. Those of a question that nobody asks yet are told of then.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar, cast, get_args, overload

import attrs
from msgspec import UNSET, UnsetType

from sapwood.events.base import listed
from sapwood.events.errors import Refused
from sapwood.events.hooks import (
    AnyQuestion,
    Question,
    SessionBeforeCompact,
    SessionBeforeFork,
    SessionBeforeTree,
    SessionShutdown,
    ToolCallQuestion,
    ToolResultQuestion,
)
from sapwood.events.ids import SessionId
from sapwood.events.runtime import Diagnostic

LIMIT: Final = 30.0
"""Seconds that a handler has, unless it says otherwise (H2). Somebody waits for an answer."""
LIMITS: Final[Mapping[type[Question[Any]], float]] = {
    SessionShutdown: 2.0,  # whoever closes a session does not wait for a half minute
}
"""Questions whose handlers have another limit, unless they say otherwise."""

ASKED: Final[frozenset[type[Question[Any]]]] = frozenset(
    {
        SessionBeforeCompact,
        SessionBeforeFork,
        SessionBeforeTree,
        ToolCallQuestion,
        ToolResultQuestion,
    }
)
"""The questions that this release asks: handlers of the others wait for a later one, and their extension is told so."""

A = TypeVar("A")
Q = TypeVar("Q", bound=Question[Any])
Asked = TypeVar("Asked", bound=Question[Any], covariant=True)


@attrs.frozen(kw_only=True)
class ExtensionContext:
    """What a handler is told besides its question."""

    session_id: SessionId
    cwd: str
    """The working folder that the session notes."""


@attrs.frozen(kw_only=True)
class Handler:
    """A function that answers one kind of question."""

    extension: str
    question: type[Question[Any]]
    limit: float | None
    """Seconds; None: as long as it takes."""
    function: Callable[[Any, ExtensionContext], object]
    """Gives an answer, or something to await for one. Foreign code."""

    @property
    def event(self) -> str:
        """The question's `type` on the wire, such as `tool_call`."""
        return event_of(self.question)


class Extension:
    """A named set of handlers, made by a host or by who writes an extension. One may serve any number of sessions."""

    def __init__(self, name: str) -> None:
        """`Refused` for what is no name: text of one line that shows something."""
        self._name = _taken_name(name)
        self._handlers: list[Handler] = []

    def __repr__(self) -> str:
        return f"<Extension {self._name}>"

    @property
    def name(self) -> str:
        """The name that events tell of it by."""
        return self._name

    @property
    def handlers(self) -> tuple[Handler, ...]:
        """In the order of registration."""
        return tuple(self._handlers)

    def on(self, question: type[Q], *, limit: float | UnsetType | None = UNSET) -> On[Q]:
        """A decorator that registers a plain or an async function `(question, context)`. None is always an answer: as you would have done.

        A plain one is to be quick, for the loop waits for it. `limit` is in seconds: 30 without it, 2 for `SessionShutdown`; None for what
        waits for a person.
        """
        if not any(question is one for one in get_args(AnyQuestion)):
            raise Refused(
                "bad-input", f"a handler is registered for a question of sapwood.events.hooks, not for {question!r:.80}"
            )
        taken = LIMITS.get(question, LIMIT) if limit is UNSET else _taken_limit(limit)
        return On(self._name, question, taken, self._handlers.append)


class On(Generic[Asked]):
    """The decorator that `Extension.on` gives. It hands the function back as it is."""

    def __init__(
        self, extension: str, question: type[Asked], limit: float | None, add: Callable[[Handler], None]
    ) -> None:
        self._extension = extension
        self._question = question
        self._limit = limit
        self._add = add

    @overload
    def __call__(
        self: On[Question[A]], handler: Callable[[Asked, ExtensionContext], Awaitable[A]]
    ) -> Callable[[Asked, ExtensionContext], Awaitable[A]]: ...
    @overload
    def __call__(
        self: On[Question[A]], handler: Callable[[Asked, ExtensionContext], A]
    ) -> Callable[[Asked, ExtensionContext], A]: ...
    def __call__(self, handler: Callable[[Any, ExtensionContext], object]) -> Callable[[Any, ExtensionContext], object]:
        if not callable(handler):
            raise Refused("bad-input", f"a handler is a function (question, context), not {handler!r:.80}")
        self._add(Handler(extension=self._extension, question=self._question, limit=self._limit, function=handler))
        return handler


class Registered:
    """The handlers of one session, by question. Read by whoever asks and by who answers; it never changes."""

    def __init__(self, extensions: Iterable[Extension] = ()) -> None:
        """`Refused` for what is no list of extensions, and for two of one name: nobody could tell whose fault is told."""
        self._handlers: dict[type[Question[Any]], tuple[Handler, ...]] = {}
        names: set[str] = set()
        for extension in _listed(extensions):
            if extension.name in names:
                raise Refused(
                    "bad-input", f"two extensions are called {extension.name!r}: events could not tell them apart"
                )
            names.add(extension.name)
            for handler in extension.handlers:
                self._handlers[handler.question] = (*self.of(handler.question), handler)

    def has(self, question: type[Question[Any]]) -> bool:
        """Whether anybody is asked. If not, there is no need to ask: the answer is None."""
        return question in self._handlers

    def of(self, question: type[Question[Any]]) -> tuple[Handler, ...]:
        """Who is asked, in order."""
        return self._handlers.get(question, ())

    def unasked(self) -> Iterator[Diagnostic]:
        """What is to be told when a session is opened: which handlers wait in vain, by extension and question."""
        waiting = {
            (one.extension, one.event): None
            for asked in self._handlers.values()
            for one in asked
            if one.question not in ASKED
        }
        for extension, event in waiting:
            yield Diagnostic(
                code="question_not_asked",
                message=f"extension {extension!r} has a handler of {event}, which this release does not ask",
                facts={"extension": extension, "event": event},
            )


def event_of(question: type[Question[Any]]) -> str:
    """The question's `type` on the wire."""
    return str(question.__struct_config__.tag)


def _taken_name(name: object) -> str:
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        raise Refused("bad-input", f"the name of an extension is text of one line, not {name!r:.80}")
    return name


def _taken_limit(limit: object) -> float | None:
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < math.inf:
        raise Refused(
            "bad-input", f"the limit of a handler is a number of seconds above zero, or None, not {limit!r:.80}"
        )
    return float(limit)


def _listed(extensions: object) -> tuple[Extension, ...]:
    given = listed(extensions)
    if given is None:
        raise Refused("bad-input", f"extensions is a list of extensions, not {extensions!r:.80}")
    for one in given:
        if not isinstance(one, Extension):
            raise Refused("bad-input", f"an extension is a sapwood.Extension(name), not {one!r:.80}")
    return cast("tuple[Extension, ...]", given)
