"""What an extension is: a name, and what it brings along: handlers, sections of the prompt, tools. No I/O, no awaits.

1. Handlers are asked in the order in which they were registered, extension by extension in the host's order (H1).
2. A handler that answers what its question does not admit is a type error for a checker; see `merging` for what it is at run time.
3. What is wrong with a registration is `Refused("bad-input", …)` at once, and nothing was registered.
4. A session has the handlers that were there when it was opened. Those of a question that nobody asks yet are told of then.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar, cast, get_args, overload

import attrs
from msgspec import UNSET, UnsetType

from sapwood.actors.extensions.context import ExtensionContext
from sapwood.actors.extensions.signature import check_handler
from sapwood.actors.foreign import LIMIT
from sapwood.actors.projection.section import Section, check_section
from sapwood.actors.projection.system_prompt import check_section_name
from sapwood.actors.tools.tool import Tool, tool
from sapwood.events.base import listed
from sapwood.events.errors import Refused
from sapwood.events.hooks import (
    AfterProviderResponse,
    AnyQuestion,
    ProviderStreamEvent,
    Question,
    SessionShutdown,
)
from sapwood.events.runtime import Event, News

LIMITS: Final[Mapping[type[Question[Any]], float]] = {
    SessionShutdown: 2.0,  # whoever closes a session does not wait for a half minute
}
"""Questions whose handlers have another limit, unless they say otherwise."""

ASKED: Final[frozenset[type[Question[Any]]]] = frozenset(get_args(AnyQuestion))
"""Every question: there is none that nobody asks."""
TOLD: Final[frozenset[type[Question[Any]]]] = frozenset({AfterProviderResponse, ProviderStreamEvent})
"""Questions that nobody waits for: their handlers are told as of events, beside what goes on."""

A = TypeVar("A")
Q = TypeVar("Q", bound=Question[Any])
Asked = TypeVar("Asked", bound=Question[Any], covariant=True)
N = TypeVar("N", bound=News)
Heard = TypeVar("Heard", bound=News, covariant=True)
F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T", bound=Tool | Callable[..., object])


@attrs.frozen(kw_only=True)
class Handler:
    """A function that answers one kind of question, or is told one kind of event."""

    extension: str
    question: type[Question[Any] | News]
    limit: float | None
    """Seconds; None: as long as it takes."""
    function: Callable[[Any, ExtensionContext], object]
    """Gives an answer, or something to await for one. Foreign code."""

    @property
    def event(self) -> str:
        """The `type` on the wire of what it hears, such as `tool_call`; `*` for every event."""
        return event_of(self.question)

    @property
    def asked(self) -> bool:
        """Whether somebody waits for its answer."""
        return issubclass(self.question, Question) and self.question not in TOLD


class Extension:
    """A named set of handlers, made by a host or by who writes an extension. One may serve any number of sessions."""

    def __init__(self, name: str) -> None:
        """`Refused` for what is no name: text of one line that shows something."""
        self._name = _taken_name(name)
        self._handlers: list[Handler] = []
        self._sections: dict[str, Section] = {}
        self._tools: list[Tool] = []

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

    @property
    def sections(self) -> Mapping[str, Section]:
        """Sections of the system prompt, by name."""
        return dict(self._sections)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """In the order of registration."""
        return tuple(self._tools)

    def changed(self, handler: Callable[[Handler], Handler], section: Callable[[str, Section], Section]) -> Extension:
        """The same one with something done to each handler and section, and without its tools."""
        other = Extension(self._name)
        other._handlers = [handler(one) for one in self._handlers]
        other._sections = {name: section(name, one) for name, one in self._sections.items()}
        return other

    @overload
    def on(self, question: type[Q], *, limit: float | UnsetType | None = UNSET) -> On[Q]: ...
    @overload
    def on(self, question: type[N], *, limit: float | UnsetType | None = UNSET) -> OnNews[N]: ...
    def on(self, question: Any, *, limit: float | UnsetType | None = UNSET) -> Any:
        """A decorator that registers a plain or an async function `(question, context)`. None is always an answer: as you would have done.

        An event of `sapwood.events.runtime` may stand in the place of a question, and `News` for all of them: its handler is told it, in
        order, beside what goes on, and answers nothing.
        What cannot be called with the two is `Refused`. A plain function is to be quick, for the loop waits for it. `limit` is in seconds:
        30 without it, 2 for `SessionShutdown`; None for what waits for a person.
        """
        asked = any(question is one for one in ASKED)
        if not asked and not any(question is one for one in (News, *get_args(Event))):
            raise Refused(
                "bad-input",
                "a handler is registered for a question of sapwood.events.hooks, or for an event of "
                f"sapwood.events.runtime, not for {question!r:.80}",
            )
        taken = LIMITS.get(question, LIMIT) if limit is UNSET else _taken_limit(limit)
        return (On if asked else OnNews)(self._name, question, taken, self._handlers.append)

    @overload
    def section(self, name: str, text: str) -> str: ...
    @overload
    def section(self, name: str) -> Callable[[F], F]: ...
    def section(self, name: str, text: object = UNSET) -> object:
        """Contribute a section of the system prompt (P6): text, or a decorator of a function that is asked for it before each turn.

        It takes the place of another one of its name, but for the preamble, which is the host's; of two extensions the later one has it.
        `Refused` for a name that is none, and for text that cannot be kept.
        """
        check_section_name(name)
        if text is not UNSET:
            self._sections[name] = check_section(name, text)
            return text

        def add(function: F) -> F:
            self._sections[name] = check_section(name, function)
            return function

        return add

    def tool(self, function: T) -> T:
        """Contribute a tool: a function as `open_session(tools=…)` takes it, or what `sapwood.tool` made of one. A decorator."""
        self._tools.append(function if isinstance(function, Tool) else tool(function))
        return function


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
        _add(handler, self._extension, self._question, self._limit, self._add)
        return handler


class OnNews(Generic[Heard]):
    """The decorator that `Extension.on` gives for an event. It hands the function back as it is."""

    def __init__(self, extension: str, event: type[Heard], limit: float | None, add: Callable[[Handler], None]) -> None:
        self._extension = extension
        self._event = event
        self._limit = limit
        self._add = add

    @overload
    def __call__(
        self, handler: Callable[[Heard, ExtensionContext], Awaitable[None]]
    ) -> Callable[[Heard, ExtensionContext], Awaitable[None]]: ...
    @overload
    def __call__(
        self, handler: Callable[[Heard, ExtensionContext], None]
    ) -> Callable[[Heard, ExtensionContext], None]: ...
    def __call__(self, handler: Callable[[Any, ExtensionContext], object]) -> Callable[[Any, ExtensionContext], object]:
        _add(handler, self._extension, self._event, self._limit, self._add)
        return handler


class Registered:
    """The handlers of one session, by question. Read by whoever asks and by who answers; it never changes."""

    def __init__(self, extensions: Iterable[Extension] = ()) -> None:
        """`Refused` for what is no list of extensions, and for two of one name: nobody could tell whose fault is told."""
        self._handlers: dict[type, tuple[Handler, ...]] = {}
        self._of_extension: dict[str, tuple[Handler, ...]] = {}
        self.extensions = _listed(extensions)
        names: set[str] = set()
        for extension in self.extensions:
            if extension.name in names:
                raise Refused(
                    "bad-input", f"two extensions are called {extension.name!r}: events could not tell them apart"
                )
            names.add(extension.name)
            self._of_extension[extension.name] = extension.handlers
            for handler in extension.handlers:
                self._handlers[handler.question] = (*self.of(handler.question), handler)

    def told(self, extension: str, kind: type) -> list[Handler]:
        """The handlers of one extension that are told things of this kind, in the order of registration."""
        kinds = (kind, News) if issubclass(kind, News) else (kind,)
        return [handler for handler in self._of_extension[extension] if handler.question in kinds]

    @property
    def events(self) -> tuple[type[News], ...]:
        """The events that somebody is told."""
        return tuple(kind for kind in self._handlers if issubclass(kind, News))

    @property
    def sections(self) -> dict[str, Section]:
        """The sections that they contribute: of one name, the last one's."""
        return {name: section for one in self.extensions for name, section in one.sections.items()}

    def tools(self, known: Mapping[str, Tool] | None) -> dict[str, Tool] | None:
        """The tools of a session, the host's first. `Refused` for two of one name: a call could not tell them apart."""
        taken = None if known is None else dict(known)
        for extension in self.extensions:
            for one in extension.tools:
                taken = {} if taken is None else taken
                if one.name in taken:
                    raise Refused(
                        "bad-input",
                        f"extension {extension.name!r} brings a tool {one.name!r}, and there is one already",
                    )
                taken[one.name] = one
        return taken

    def has(self, question: type[Question[Any]]) -> bool:
        """Whether anybody is asked. If not, there is no need to ask: the answer is None."""
        return question in self._handlers

    def of(self, question: type) -> tuple[Handler, ...]:
        """Who is asked, in order."""
        return self._handlers.get(question, ())

    def changed(self, handler: Callable[[Handler], Handler], section: Callable[[str, Section], Section]) -> Registered:
        """The same extensions with something done to each handler and section, in their order: who stands before them.

        Their tools are not among them: a session has those from its opening.
        """
        return Registered(one.changed(handler, section) for one in self.extensions)


def event_of(question: type[Question[Any] | News]) -> str:
    """The `type` on the wire of a question or an event; `*` for every event."""
    return "*" if question is News else str(question.__struct_config__.tag)


def _add(
    handler: object, extension: str, heard: type[Any], limit: float | None, add: Callable[[Handler], None]
) -> None:
    add(Handler(extension=extension, question=heard, limit=limit, function=check_handler(handler)))


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
