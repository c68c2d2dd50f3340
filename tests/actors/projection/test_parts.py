"""What of a message is counted: every block of every kind."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.projection.parts import length_of, parts_of
from sapwood.events.base import Json
from sapwood.events.content import ImageContent, ThinkingContent
from sapwood.events.messages import (
    BashExecutionMessage,
    CompactionSummaryMessage,
    Message,
    SystemMessage,
    ToolDefinition,
)
from sapwood.events.odd_json import DEEPEST
from tests.build import MS, assistant, call, result, text, user

IMAGE = ImageContent(data="aGk=", mime_type="image/png")
TOOL = ToolDefinition(name="a", description="b", parameters={})


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        (user("one"), ["one"]),
        (user((text("one"), IMAGE, text("two"))), ["one", IMAGE, "two"]),
        (
            assistant(ThinkingContent(thinking="hm"), call("1", "find", path="漢"), "x"),
            ["hm", "find", '{"path":"漢"}', "x"],
        ),
        (result("a", "out"), ["out"]),
        (
            SystemMessage(content="c", sections={"a": "one", "b": None}, tools_added=(TOOL,), timestamp=MS),
            ["c", "one", '[{"name":"a","description":"b","parameters":{}}]'],
        ),
        (
            BashExecutionMessage(command="ls", output="a.txt", cancelled=False, truncated=False, timestamp=MS),
            ["ls", "a.txt"],
        ),
        (CompactionSummaryMessage(summary="s", tokens_before=1, timestamp=MS), ["s"]),
    ],
)
def test_every_block_is_a_part(message: Message, parts: list[str | ImageContent]) -> None:
    assert list(parts_of(message)) == parts


def test_numbers_are_written_as_javascript_writes_them() -> None:
    assert list(parts_of(assistant(call("1", "x", a=1.0, b=[2.0, {"c": 3.5}])))) == ["x", '{"a":1,"b":[2,{"c":3.5}]}']
    assert list(parts_of(assistant(call("1", "x", a=1e21)))) == ["x", '{"a":1e+21}']


def test_the_length_is_of_the_texts_alone() -> None:
    assert length_of(user((text("12345"), IMAGE, text("67")))) == 7
    assert length_of(assistant(call("1", "x", a="漢"))) == len('x{"a":"漢"}')


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(0.5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=9,
)


@given(value=VALUES)
def test_arguments_are_counted_as_json_without_a_blank(value: Json) -> None:
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    assert list(parts_of(assistant(call("1", "x", a=value)))) == ["x", f'{{"a":{written}}}']


def test_what_is_nested_as_deep_as_a_line_may_be_is_counted_wherever_the_asker_stands() -> None:
    """From 490 levels on this used to be a `RecursionError`, out of `context()` and `sapwood show` too."""
    deep: Json = 1
    for _ in range(DEEPEST):
        deep = {"a": [deep]}
    nested = '{"a":[' * DEEPEST + "1" + "]}" * DEEPEST

    def standing(calls: int) -> list[str | ImageContent]:
        return standing(calls - 1) if calls else list(parts_of(assistant(call("1", "x", a=deep))))

    assert standing(400) == ["x", f'{{"a":{nested}}}']
    tool = msgspec.structs.replace(TOOL, parameters=deep, constrained_sampling=deep)
    assert list(parts_of(SystemMessage(content="c", tools_added=(tool,), timestamp=MS))) == [
        "c",
        f'[{{"name":"a","description":"b","parameters":{nested},"constrainedSampling":{nested}}}]',
    ]
