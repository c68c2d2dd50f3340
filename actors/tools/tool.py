"""A tool, as its author declares it: a plain function with typed arguments. No I/O.

1. What the model is told of the arguments, and what it is held to, come from the function's own annotations.
2. A parameter of the type `ToolContext` is ours to fill; the model knows nothing of it.
3. What makes no tool is refused when it is declared, not when the model calls it.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Literal, Protocol, cast, get_args, get_type_hints, overload

import attrs
import msgspec

from sapwood.events.base import Json, listed
from sapwood.events.content import ToolCall
from sapwood.events.copies import detached
from sapwood.events.errors import Refused, shown
from sapwood.events.ids import SessionId, ToolCallId
from sapwood.events.messages import ToolDefinition

NAME: Final = re.compile(r"[a-z0-9_-]{1,64}", re.IGNORECASE)
"""What every provider takes for a tool's name."""
Mode = Literal["parallel", "sequential"]
"""Whether it may run beside the other calls of its answer. One that may not makes all of them wait their turn."""
Kind = Literal["ask"]
"""`ask`: it asks the person something, and its result may be answered anew (N8)."""


class AskPerson(Protocol):
    """Puts a question to whoever sits before the host; their answer."""

    def __call__(self, question: str, /) -> Awaitable[str]: ...


@attrs.frozen(kw_only=True)
class ToolContext:
    """What a tool may know of its call, and do beside returning."""

    session_id: SessionId
    cwd: str
    """The session's working folder."""
    call_id: ToolCallId
    progress: Callable[[Json], None]
    """Tell those who watch how far it is: any JSON. From any thread too. What is told after the call has ended is nobody's."""
    ask: AskPerson
    """Asks the person. `Refused` where the host has no way to."""


class BadArguments(Exception):
    """The arguments do not fit the function; in words for the model. Nothing was called."""


@attrs.frozen(kw_only=True)
class Tool:
    """A function that a model may call. Made by `tool`."""

    name: str
    description: str
    function: Callable[..., object]
    arguments: type[msgspec.Struct]
    """Its parameters, without the context."""
    parameters: Json
    """The same as JSON Schema."""
    context: str | None = None
    """The name of the parameter that takes the context."""
    mode: Mode = "parallel"
    kind: Kind | None = None
    reads: tuple[str, ...] = ()
    """Arguments that are paths which it reads."""
    writes: tuple[str, ...] = ()
    """Arguments that are paths which it writes."""

    adapted: Callable[[dict[str, Json]], dict[str, Json]] = lambda given: given
    """Puts arguments as another agent's tool of this name takes them into this one's form. Total."""

    @property
    def definition(self) -> ToolDefinition:
        """What the model is told."""
        return ToolDefinition(name=self.name, description=self.description, parameters=self.parameters)

    def read(self, call: ToolCall) -> dict[str, Any]:
        """The arguments as the function takes them. Raises `BadArguments`, whatever a type of its author's raises when it is made.

        A number that came as text, and the like, is taken for what it says; null for a parameter that may be left out is left out.
        """
        if call.arguments_error is not None:
            raise BadArguments(f"The arguments for {self.name!r} are no JSON object: {call.arguments_error}")
        given = self.adapted(detached(call.arguments))  # the function may do with them as it likes
        try:
            read = self._converted(given)
        except Exception as fault:  # noqa: BLE001 - what is no ValidationError is the foreign code of a type
            optional = {field.name for field in msgspec.structs.fields(self.arguments) if not field.required}
            trimmed = {name: value for name, value in given.items() if value is not None or name not in optional}
            try:
                read = self._converted(trimmed)
            except Exception:  # noqa: BLE001 - as above; the first one speaks of what was given
                sent, why = msgspec.json.encode(given).decode(), _words(fault)
                raise BadArguments(f"The arguments for {self.name!r} do not fit: {why}\nThey were: {sent}") from fault
        return {field.name: getattr(read, field.name) for field in msgspec.structs.fields(self.arguments)}

    def _converted(self, given: dict[str, Json]) -> msgspec.Struct:
        return msgspec.convert(given, self.arguments, strict=False)

    def paths(self, call: ToolCall) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The paths that a call reads, and those that it writes, as its arguments say (C12)."""
        return _texts(call, self.reads), _texts(call, self.writes)


@overload
def tool(function: Callable[..., object], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    mode: Mode = "parallel",
    kind: Kind | None = None,
    reads: Iterable[str] = (),
    writes: Iterable[str] = (),
) -> Callable[[Callable[..., object]], Tool]: ...
def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    mode: Mode = "parallel",
    kind: Kind | None = None,
    reads: Iterable[str] = (),
    writes: Iterable[str] = (),
) -> Tool | Callable[[Callable[..., object]], Tool]:
    """A tool of a plain or an async function: `@tool`, or `@tool(reads=["path"])`.

    Args:
        function: with an annotation for each parameter; `Annotated[int, msgspec.Meta(ge=1, description="…")]` says more of one. A plain
            function is run in a thread. What it returns is the result: text, an image, a list of those, a `ToolResult`, or any JSON.
        name: how the model calls it; the function's own name if None.
        description: what the model is told of it; the function's docstring if None.
        mode: `sequential`: it runs beside no other call.
        kind: `ask` for one that asks the person.
        reads: names of parameters that are paths which it reads.
        writes: names of parameters that are paths which it writes.

    Raises `Refused` for what makes no tool.
    """

    def made(function: Callable[..., object]) -> Tool:
        given: object = function
        if isinstance(given, functools.partial) or not inspect.isroutine(given):  # a partial tells of no annotations
            raise Refused(
                "bad-input",
                f"a tool is a function with typed arguments, not {shown(function)}: write one, with an annotation for each argument",
            )
        called: object = name if name is not None else getattr(function, "__name__", "")
        if not isinstance(called, str) or not NAME.fullmatch(called):
            raise Refused("bad-input", f"a tool is named by letters, digits, _ and -, up to 64: not {called!r:.80}")
        fields, context = _fields(called, function)
        unknown = [one for one in (*reads, *writes) if one not in {field[0] for field in fields}]
        if unknown:
            raise Refused("bad-input", f"the tool {called!r} has no parameter {unknown[0]!r} that could be a path")
        arguments, parameters = _described(called, fields)
        told: object = description if description is not None else inspect.getdoc(function)
        if not isinstance(told, str | None):
            raise Refused("bad-input", f"the description of the tool {called!r} is text, not {shown(told)}")
        return Tool(
            name=called,
            description=(told or "").strip(),
            function=function,
            arguments=arguments,
            parameters=parameters,
            context=context,
            mode=mode,
            kind=kind,
            reads=tuple(reads),
            writes=tuple(writes),
        )

    if mode not in get_args(Mode):
        raise Refused("bad-input", f"the mode of a tool is 'parallel' or 'sequential', not {shown(mode)}")
    if kind is not None and kind not in get_args(Kind):
        raise Refused("bad-input", f"the kind of a tool is 'ask' or None, not {shown(kind)}")
    reads, writes = _names("reads", reads), _names("writes", writes)
    return made if function is None else made(function)


def _names(what: str, value: object) -> tuple[str, ...]:
    given = listed(value)
    if given is None or not all(isinstance(one, str) for one in given):
        raise Refused("bad-input", f"what a tool {what} is a list of names of parameters, not {shown(value)}")
    return cast("tuple[str, ...]", given)


Field = tuple[str, Any] | tuple[str, Any, Any]


def _fields(called: str, function: Callable[..., object]) -> tuple[list[Field], str | None]:
    """What the model may give, with types and defaults, and which parameter takes the context."""
    try:
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError, NameError) as fault:
        raise Refused("bad-input", f"the annotations of the tool {called!r} cannot be read: {fault}") from fault
    fields: list[Field] = []
    context: str | None = None
    for parameter in parameters:
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise Refused("bad-input", f"the tool {called!r} has a parameter {parameter} that cannot be given by name")
        if parameter.name not in hints:
            raise Refused("bad-input", f"the parameter {parameter.name!r} of the tool {called!r} has no annotation")
        hint = hints[parameter.name]
        if hint is ToolContext:
            if context is not None:
                raise Refused(
                    "bad-input",
                    f"the tool {called!r} takes the context twice: as {context!r} and as {parameter.name!r}",
                )
            context = parameter.name
        elif parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint, parameter.default))
    return fields, context


def _described(called: str, fields: list[Field]) -> tuple[type[msgspec.Struct], Json]:
    try:
        arguments, top, shared = _struct(called, fields)
    except (TypeError, ValueError) as fault:
        raise Refused("bad-input", _untold(called, fields, fault)) from fault
    mine = shared.pop(str(top["$ref"]).rpartition("/")[2]) if "$ref" in top else top
    schema = {key: value for key, value in mine.items() if key != "title"}
    return arguments, {**schema, "$defs": shared} if shared else schema


def _struct(called: str, fields: list[Field]) -> tuple[type[msgspec.Struct], dict[str, Any], dict[str, Any]]:
    arguments = msgspec.defstruct(called, fields, kw_only=True)
    [top], shared = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    return arguments, top, shared


def _untold(called: str, fields: list[Field], fault: Exception) -> str:
    """Which parameter cannot be told to a model, and what could."""
    for name, kind, *default in fields:
        try:
            _struct(called, [(name, kind)])
        except (TypeError, ValueError):
            return (
                f"the parameter {name!r} of the tool {called!r} is of a type that no model can be told: {_named(kind)}. "
                "Use str, int, float, bool, Literal, list, dict, a dataclass or a msgspec.Struct, None beside them, "
                "or Any for whatever comes"
            )
        try:
            _struct(called, [(name, kind, *default)] if default else [(name, kind)])
        except (TypeError, ValueError) as one:
            return f"the parameter {name!r} of the tool {called!r} has a default that is none: {one}"
    return f"the parameters of the tool {called!r} cannot be told to a model: {fault}"


def _named(kind: object) -> str:
    return kind.__qualname__ if isinstance(kind, type) and not get_args(kind) else f"{kind!s:.80}"


def _words(fault: Exception) -> str:
    if isinstance(fault, msgspec.ValidationError):
        return str(fault)
    try:
        said = str(fault)
    except Exception:  # noqa: BLE001 - foreign code, down to its words
        return type(fault).__name__
    return f"{type(fault).__name__}: {said:.1000}"


def _texts(call: ToolCall, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(value for name in names if isinstance(value := call.arguments.get(name), str))
