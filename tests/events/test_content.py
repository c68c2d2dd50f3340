"""Blocks: their names on the wire, and their text."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.events.content import (
    AssistantBlock,
    ContentBlock,
    ImageContent,
    TextContent,
    ThinkingContent,
    UserBlock,
    text_of,
    without_surrogates,
)
from tests.build import call, text
from tests.events.wire import assert_round_trip, shapes, tag_fields
from tests.strategies import of


def test_the_names_on_the_wire_are_pis() -> None:
    assert tag_fields(ContentBlock) == {"type"}
    assert shapes(ContentBlock) == {
        "text": "text textSignature?",
        "image": "data mimeType",
        "thinking": "thinking thinkingSignature? redacted?",
        "toolCall": "id name arguments thoughtSignature? namespace? argumentsError?",
    }
    assert list(shapes(UserBlock)) == ["text", "image"]
    assert list(shapes(AssistantBlock)) == ["text", "thinking", "toolCall"]


@given(block=of(ContentBlock))
def test_a_block_comes_back_as_it_was(block: ContentBlock) -> None:
    assert_round_trip(block, ContentBlock)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("plain", "plain"),
        ("", ""),
        ((), ""),
        ((text("a"), text(""), text("b\n"), text("c")), "ab\nc"),
        ((ImageContent(data="aGk=", mime_type="image/png"), text("seen")), "seen"),
        ((ThinkingContent(thinking="hm"), text("said"), call("c1", path="x")), "said"),
    ],
)
def test_only_text_counts_as_text(content: str | tuple[ContentBlock, ...], words: str) -> None:
    assert text_of(content) == words


def test_blocks_are_joined_with_nothing_between() -> None:
    assert text_of((TextContent(text="half a w"), TextContent(text="ord"))) == "half a word"


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("plain 漢", "plain 漢"),
        ("", ""),
    ],
)
def test_half_a_character_is_replaced_and_two_halves_that_meet_are_one(broken: str, mended: str) -> None:
    assert without_surrogates(broken) == mended
