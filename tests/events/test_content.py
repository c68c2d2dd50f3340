"""Blocks: their names on the wire, and their text."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.events.base import Json
from sapwood.events.content import (
    AssistantBlock,
    ContentBlock,
    ImageContent,
    TextContent,
    ThinkingContent,
    UserBlock,
    mended,
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
    ("broken", "whole"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("plain 漢", "plain 漢"),
        ("", ""),
    ],
)
def test_half_a_character_is_replaced_and_two_halves_that_meet_are_one(broken: str, whole: str) -> None:
    assert without_surrogates(broken) == whole


def test_json_is_mended_in_its_texts_and_keys_and_what_was_handed_in_stays_as_it_was() -> None:
    broken = {"a\ud800": ["\ude00", {"b": ("\ud83d\ude00", 1, None, True)}]}

    assert mended(broken) == {"a\ufffd": ["\ufffd", {"b": ["😀", 1, None, True]}]}
    assert list(broken) == ["a\ud800"]
    assert mended("\ud800") == "\ufffd"
    assert mended({"b": "x"}, str.upper) == {"B": "X"}


def test_json_with_nothing_to_mend_comes_back_as_it_is() -> None:
    for clean in ({"a": ["漢", 1.5, ()]}, [], 5, None, [float("nan")]):
        assert mended(clean) is clean


def test_json_is_mended_however_deep_it_is_and_what_is_in_it_twice_once() -> None:
    deep: Json = "\ud800"
    for _ in range(10_000):
        deep = [deep]
    wide: Json = ["\ud800"]
    for _ in range(60):
        wide = [wide, wide]  # 2**60 texts, for who copies each

    found, doubled = mended(deep), mended(wide)

    for _ in range(10_000):
        (found,) = found
    for _ in range(60):
        assert doubled[0] is doubled[1]
        doubled = doubled[0]
    assert (found, doubled) == ("\ufffd", ["\ufffd"])
