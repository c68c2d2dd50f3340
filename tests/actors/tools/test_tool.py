"""A tool is what its function's annotations say, and what makes none is refused when it is declared."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, cast

import msgspec
import pytest

from sapwood.actors.tools.tool import BadArguments, Tool, ToolContext, tool
from sapwood.events.content import ToolCall
from sapwood.events.errors import Refused
from sapwood.events.ids import ToolCallId
from tests.build import call


class Edit(msgspec.Struct):
    old: str
    new: str


@tool(reads=["path"], writes=["backup"], mode="sequential", kind="ask")
def change(
    path: str,
    edits: list[Edit],
    context: ToolContext,
    backup: str | None = None,
    limit: Annotated[int, msgspec.Meta(ge=1, description="lines at most")] = 100,
) -> str:
    """Change a file.

    Each edit once.
    """
    return f"{path} {edits} {context} {backup} {limit}"


def test_what_the_model_is_told_comes_from_the_function() -> None:
    definition = change.definition

    assert (definition.name, definition.description) == ("change", "Change a file.\n\nEach edit once.")
    parameters: Any = definition.parameters
    assert parameters["type"] == "object"
    assert parameters["required"] == ["path", "edits"]
    assert [*parameters["properties"]] == ["path", "edits", "backup", "limit"], "the context is ours"
    assert parameters["properties"]["limit"] == {
        "type": "integer",
        "minimum": 1,
        "default": 100,
        "description": "lines at most",
    }
    assert parameters["properties"]["edits"]["items"] == {"$ref": "#/$defs/Edit"}
    assert [*parameters["$defs"]["Edit"]["properties"]] == ["old", "new"]
    assert "title" not in parameters
    assert (change.mode, change.kind, change.context) == ("sequential", "ask", "context")


def test_a_plain_function_is_a_tool_and_what_is_said_of_it_wins() -> None:
    @tool
    def plain(a: int) -> int:
        return a

    named = tool(name="other", description="Another one.")(plain.function)

    assert plain.definition.description == ""
    assert plain.definition.parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
    }
    assert (named.name, named.description) == ("other", "Another one.")
    assert (plain.mode, plain.kind, plain.reads, plain.writes, plain.context) == ("parallel", None, (), (), None)


def test_arguments_are_read_as_the_function_takes_them() -> None:
    given = call("c1", "change", path="a", edits=[{"old": "x", "new": "y"}], limit="7", more=True, backup=None)

    assert change.read(given) == {"path": "a", "edits": [Edit("x", "y")], "backup": None, "limit": 7}


def test_null_for_what_may_be_left_out_is_left_out_and_for_nothing_else() -> None:
    assert change.read(call("c1", "change", path="a", edits=[], limit=None))["limit"] == 100
    with pytest.raises(BadArguments, match=r"`\$\.path`"):
        change.read(call("c1", "change", path=None, edits=[]))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "missing required field `path`"),
        ({"path": 3, "edits": []}, r"Expected `str`, got `int` - at `\$.path`"),
        ({"path": "a", "edits": [{"old": "x"}]}, r"missing required field `new` - at `\$.edits\[0\]`"),
        ({"path": "a", "edits": [], "limit": 0}, r"Expected `int` >= 1 - at `\$.limit`"),
    ],
)
def test_arguments_that_do_not_fit_are_told_precisely_with_what_was_sent(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(BadArguments, match=told) as caught:
        change.read(call("c1", "change", **arguments))

    assert str(caught.value).startswith("The arguments for 'change' do not fit: ")
    assert str(caught.value).endswith("They were: " + msgspec.json.encode(arguments).decode())


def test_arguments_that_are_no_object_are_told_as_such() -> None:
    broken = ToolCall(id=ToolCallId("c1"), name="change", arguments={}, arguments_error="unexpected end")

    with pytest.raises(BadArguments, match="are no JSON object: unexpected end"):
        change.read(broken)


class Zone(msgspec.Struct):
    """Knows one zone, and has no words for that."""

    name: str

    def __post_init__(self) -> None:
        if self.name == "wordless":
            raise WordlessError
        _ = {"UTC": 0}[self.name]


class WordlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def at(zone: Zone) -> str:
    return zone.name


@pytest.mark.parametrize(("name", "why"), [("MEZ", "KeyError: 'MEZ'"), ("wordless", "WordlessError")])
def test_what_a_type_of_an_argument_raises_is_told_as_a_misfit(name: str, why: str) -> None:
    """Only a ValueError was one: anything else broke the calls beside it, and told of effects that there were not."""
    with pytest.raises(BadArguments) as caught:
        tool(at).read(call("c1", "at", zone={"name": name}))
    sent = msgspec.json.encode({"zone": {"name": name}}).decode()
    assert str(caught.value) == f"The arguments for 'at' do not fit: {why}\nThey were: {sent}"
    assert isinstance(caught.value.__cause__, KeyError | WordlessError)


def test_what_a_function_is_given_is_its_own() -> None:
    def anything(data: Any) -> None: ...

    one = call("c1", "anything", data={"a": [1]})
    tool(anything).read(one)["data"]["a"].append(2)
    assert one.arguments == {"data": {"a": [1]}}


def test_paths_are_what_the_arguments_say() -> None:
    assert change.paths(call("c1", "change", path="a", backup="b")) == (("a",), ("b",))
    assert change.paths(call("c1", "change", path=3)) == ((), ())


def unannotated(a) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    pass


def many(*a: int) -> None:
    pass


def positional(a: int, /) -> None:
    pass


def unheard(a: int, b: object) -> None:
    pass


def unknown(a: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821 # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]
    pass


def told_twice(one: ToolContext, other: ToolContext) -> None:
    pass


def declared(**how: Any) -> Tool:
    return tool(**how)(change.function)


def mutable(a: list[int] = [1]) -> None:  # noqa: B006
    pass


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (
            lambda: tool(cast("Callable[..., object]", unannotated)),
            "the parameter 'a' of the tool 'unannotated' has no annotation",
        ),
        (lambda: tool(many), r"has a parameter \*a: 'int' that cannot be given by name"),
        (lambda: tool(positional), "cannot be given by name"),
        (
            lambda: tool(unheard),
            "the parameter 'b' of the tool 'unheard' is of a type that no model can be told: object",
        ),
        (lambda: tool(mutable), "the parameter 'a' of the tool 'mutable' has a default that is none"),
        (
            lambda: tool(cast("Callable[..., object]", unknown)),
            "the annotations of the tool 'unknown' cannot be read: name 'Nowhere' is not defined",
        ),
        (lambda: tool(cast("Any", "text")), "a tool is a function with typed arguments, not 'text'"),
        (lambda: tool(name="x")(cast("Any", 5)), "a tool is a function with typed arguments, not 5"),
        (lambda: tool(functools.partial(many, 1)), "a tool is a function with typed arguments, not functools.partial"),
        (lambda: tool(name="x")(functools.partial(many, 1)), "a tool is a function with typed arguments"),
        (lambda: tool(Edit), "a tool is a function with typed arguments, not <class '.*Edit'>"),
        (lambda: tool(lambda: None), "a tool is named by letters"),
        (lambda: tool(name="a b")(change.function), "a tool is named by letters"),
        (lambda: tool(name="x" * 65)(change.function), "up to 64"),
        (lambda: tool(reads=["nowhere"])(change.function), "has no parameter 'nowhere' that could be a path"),
        (lambda: declared(name=5), "a tool is named by letters, digits, _ and -, up to 64: not 5"),
        (lambda: declared(description=5), "the description of the tool 'change' is text, not 5"),
        (lambda: declared(mode="sequental"), "the mode of a tool is 'parallel' or 'sequential', not 'sequental'"),
        (lambda: declared(mode=None), "the mode of a tool is 'parallel' or 'sequential', not None"),
        (lambda: declared(kind="aks"), "the kind of a tool is 'ask' or None, not 'aks'"),
        (lambda: declared(reads="path"), "what a tool reads is a list of names of parameters, not 'path'"),
        (lambda: declared(writes=[5]), "what a tool writes is a list of names of parameters"),
        (lambda: tool(told_twice), "the tool 'told_twice' takes the context twice: as 'one' and as 'other'"),
        (lambda: tool(name="x")(len), "cannot be given by name|has no annotation"),
    ],
)
def test_what_makes_no_tool_is_refused_when_it_is_declared(made: Callable[[], Tool], why: str) -> None:
    with pytest.raises(Refused, match=why):
        made()
