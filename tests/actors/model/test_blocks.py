"""Blocks open, grow and close; a call is whole when it is closed, and its arguments are an object or say why not."""

from __future__ import annotations

import pytest

from sapwood.actors.model.blocks import LONGEST_BROKEN, Blocks, arguments_of, as_arguments
from sapwood.events.content import TextContent, ThinkingContent
from sapwood.events.deltas import (
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from sapwood.events.ids import ToolCallId
from tests.build import call, text


def test_a_block_opens_grows_and_closes_once() -> None:
    blocks = Blocks()

    assert blocks.open("a", "text") == [TextStart(content_index=0)]
    assert blocks.open("a", "text") == []
    assert blocks.add("a", "so") == [TextDelta(content_index=0, delta="so")]
    assert blocks.add("a", "") == []
    assert blocks.close("a") == [TextEnd(content_index=0, content="so")]
    assert (blocks.close("a"), blocks.add("a", "more"), blocks.add("b", "x"), blocks.close("b")) == ([], [], [], [])
    assert ("a" in blocks, "b" in blocks, len(blocks)) == (True, False, 1)
    assert blocks.content == (text("so"),)


def test_blocks_stand_where_they_were_opened_whenever_they_close() -> None:
    blocks = Blocks()
    assert blocks.open("t", "thinking") == [ThinkingStart(content_index=0)]
    assert blocks.open("c", "call", call_id="c1", name="read") == [
        ToolCallStart(content_index=1, id=ToolCallId("c1"), tool_name="read")
    ]
    assert blocks.add("c", '{"path"') == [ToolCallDelta(content_index=1, delta='{"path"')]
    blocks.add("t", "hm")
    blocks.add("c", ':"x"}')
    blocks.sign("t", "sig")
    blocks.sign("c", "other")
    blocks.sign("nobody", "lost")

    assert blocks.close_all() == [
        ThinkingEnd(content_index=0, content="hm"),
        ToolCallEnd(content_index=1, tool_call=blocks.content[1]),  # type: ignore[arg-type]
    ]
    thought, made = blocks.content
    assert thought == ThinkingContent(thinking="hm", thinking_signature="sig")
    assert made == call("c1", "read", path="x").__class__(
        id=ToolCallId("c1"), name="read", arguments={"path": "x"}, thought_signature="other"
    )
    assert blocks.calls


def test_what_the_wire_says_at_last_is_what_a_block_is() -> None:
    blocks = Blocks()
    blocks.open("a", "text")
    blocks.add("a", "sp")
    blocks.replace("a", "so")
    blocks.replace("b", "nothing")

    assert (blocks.text_of("a"), blocks.text_of("b"), blocks.content) == ("so", "", (text("so"),))
    assert not blocks.calls


def test_a_block_of_nothing_is_none_unless_it_is_signed() -> None:
    blocks = Blocks()
    for key in ("a", "b", "c"):
        blocks.open(key, "text")
    blocks.open("d", "thinking")
    blocks.sign("b", "sig")
    blocks.sign("d", "data", redacted=True)

    assert blocks.content == (
        TextContent(text="", text_signature="sig"),
        ThinkingContent(thinking="", thinking_signature="data", redacted=True),
    )


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("", {}),
        ("  ", {}),
        ("{}", {}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"a": "two\nlines\tand \x00"}', {"a": "two\nlines\tand \x00"}),
        (r'{"a": "\ud800"}', {"a": "\ud800"}),
    ],
)
def test_h06_arguments_are_an_object(said: str, arguments: dict[str, object]) -> None:
    assert arguments_of(said) == (arguments, None)


@pytest.mark.parametrize(
    "said", ['{"a": ', "[1]", "null", '"text"', "7", '{"a": NaN}', '{"a": Infinity}', "[" * 100_000, "nope"]
)
def test_h06_what_is_no_object_is_none_and_says_so(said: str) -> None:
    arguments, broken = arguments_of(said)

    assert arguments == {}
    assert broken is not None
    assert said.startswith(broken.removesuffix(" …"))
    assert len(broken) <= LONGEST_BROKEN + 2


def test_arguments_of_megabytes_are_read() -> None:
    assert len(arguments_of('{"text": "' + "x" * 10_000_000 + '"}')[0]["text"]) == 10_000_000


def test_arguments_that_come_as_a_value_are_text_like_others() -> None:
    assert (as_arguments({"a": None}), as_arguments('{"a"')) == ('{"a":null}', '{"a"')
