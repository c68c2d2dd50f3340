"""Whatever a function returns is a result, or an error that says why it is none."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec
import pytest

from sapwood.actors.tools.results import CallOutcome, ToolResult, failed, message_of, of_returned, unknown_tool
from sapwood.events.content import ImageContent, TextContent
from sapwood.events.messages import Cost, ToolResultMessage, Usage
from tests.build import MS, call, text

IMAGE = ImageContent(data="aGk=", mime_type="image/png")
USAGE = Usage.of(input=1, output=2)


@pytest.mark.parametrize(
    ("returned", "content"),
    [
        (None, ()),
        ("done", (text("done"),)),
        ("half \ud800", (text("half �"),)),
        (IMAGE, (IMAGE,)),
        (text("a \udc00"), (text("a �"),)),
        (["a", IMAGE, text("b")], (text("a"), IMAGE, text("b"))),
        (("a",), (text("a"),)),
        ([], ()),
        (7, (text("7"),)),
        ({"a": [1, None]}, (text('{"a":[1,null]}'),)),
        ([1, "a"], (text('[1,"a"]'),)),
        (USAGE, (text('{"input":1,"output":2,"cacheRead":0,"cacheWrite":0}'),)),
    ],
)
def test_what_is_returned_is_its_content(returned: object, content: tuple[TextContent | ImageContent, ...]) -> None:
    assert of_returned(returned) == CallOutcome(content=content, is_error=False)


def test_a_tool_may_say_more() -> None:
    said = ToolResult(
        content=["no", IMAGE], details={"exit": 1}, is_error=True, useless=True, terminate=True, usage=USAGE
    )

    assert of_returned(said) == CallOutcome(
        content=(text("no"), IMAGE),
        details={"exit": 1},
        is_error=True,
        useless=True,
        terminate=True,
        usage=USAGE,
    )
    assert of_returned(ToolResult()) == CallOutcome(content=(), is_error=False)


def circle() -> list[Any]:
    round_: list[Any] = []
    round_.append(round_)
    return round_


@pytest.mark.parametrize("returned", [object(), {1, object()}, circle(), ToolResult(details=object())])
def test_what_is_no_result_is_an_error_that_says_so(returned: object) -> None:
    outcome = of_returned(returned)

    assert outcome.is_error
    [block] = outcome.content
    assert isinstance(block, TextContent)
    assert block.text.startswith("The tool ran, and what it returned is no result: ")


def foreign(**said: Any) -> ToolResult:
    """With values that are not what they are declared to be."""
    return attrs.evolve(ToolResult(content="done"), **said)


NO_IMAGE: Any = {"data": 5, "mime_type": "image/png"}
NO_TEXT: Any = {"text": 5}


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (foreign(usage="lots"), "its usage: Expected `object | null`, got `str`"),
        (foreign(usage={"input": 1}), "its usage: Object missing required field `output`"),
        (foreign(content=ImageContent(**NO_IMAGE)), "Expected `str`, got `int` - at `$.data`"),
        (foreign(content=["a", TextContent(**NO_TEXT)]), "Expected `str`, got `int` - at `$.text`"),
        (ImageContent(**NO_IMAGE), "Expected `str`, got `int` - at `$.data`"),
        (TextContent(**NO_TEXT), "Expected `str`, got `int` - at `$.text`"),
    ],
)
def test_what_is_not_what_it_is_declared_to_be_never_reaches_the_log(returned: object, why: str) -> None:
    """It used to be recorded, and broke whoever counted the totals; or the file had what nobody could read."""
    outcome = of_returned(returned)

    assert (outcome.is_error, outcome.usage) == (True, None)
    [block] = outcome.content
    assert isinstance(block, TextContent)
    assert block.text.startswith(f"The tool ran, and what it returned is no result: {why}")


def test_a_usage_is_a_copy_that_is_one() -> None:
    said: Any = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}

    assert of_returned(foreign(usage=said)).usage == USAGE


def test_what_is_recorded_is_of_the_call() -> None:
    outcome = CallOutcome(content=(text("hi"),), is_error=False, details=[1], usage=USAGE, useless=True)

    assert message_of(call("c1", "read"), outcome, timestamp=MS, duration_ms=5) == ToolResultMessage(
        tool_call_id=call("c1").id,
        tool_name="read",
        content=(text("hi"),),
        details=[1],
        usage=USAGE,
        is_error=False,
        useless=True,
        timestamp=MS,
        duration_ms=5,
    )
    plain = message_of(call("c1"), failed("no"), timestamp=MS, duration_ms=None)
    assert (plain.useless, plain.is_error, plain.duration_ms) == (None, True, None)


def test_what_cannot_be_written_is_an_error_that_says_so() -> None:
    outcome = CallOutcome(content=(text("hi"),), is_error=False, details=float("inf"), usage=USAGE)

    kept = message_of(call("c1"), outcome, timestamp=MS, duration_ms=None)

    assert kept.is_error
    assert (kept.details, kept.usage) == (None, USAGE), "it was paid for"
    [block] = kept.content
    assert isinstance(block, TextContent)
    assert block.text.startswith("The tool ran, and its result cannot be kept: ")


def test_a_bill_that_cannot_be_written_is_left_out() -> None:
    endless = Cost(input=0, output=0, cache_read=0, cache_write=0, total=float("inf"))
    outcome = CallOutcome(content=(text("hi"),), is_error=False, usage=msgspec.structs.replace(USAGE, cost=endless))

    kept = message_of(call("c1"), outcome, timestamp=MS, duration_ms=None)

    assert (kept.is_error, kept.usage) == (True, None)


def test_what_is_no_result_was_paid_for_all_the_same() -> None:
    assert of_returned(foreign(details=object(), usage=USAGE)).usage == USAGE


def test_a_tool_that_there_is_not_is_told_with_those_that_there_are() -> None:
    assert unknown_tool("x", ["a", "b"]) == failed("There is no tool called 'x'. The tools are: a, b.")
    assert unknown_tool("x", []) == failed("There is no tool called 'x'. There are none.")
