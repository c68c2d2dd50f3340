"""Pi's numbers, and any other counter of texts over the same blocks."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.actors.projection.counter import TokenCounter, heuristic, units
from sapwood.events.content import ImageContent, ThinkingContent
from sapwood.events.messages import (
    BashExecutionMessage,
    CompactionSummaryMessage,
    Message,
    SystemMessage,
    ToolDefinition,
)
from tests.build import MS, assistant, call, result, text, user

WORDS = TokenCounter(name="o200k_base", text=lambda said: len(said.split()))
"""A counter of words."""
IMAGE = ImageContent(data="aGk=", mime_type="image/png")


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (user("123456789"), 3),  # Pi: nine characters are three
        (user((IMAGE,)), 1200),
        (user("😀😀"), 1),  # four UTF-16 units
        (user(""), 0),
        (assistant(ThinkingContent(thinking="hmmm"), call("x", path="a"), "1"), 6),  # 4 + 4 + 12 + 1 units
        (result("a", "12345"), 2),
        (CompactionSummaryMessage(summary="12345678", tokens_before=1, timestamp=MS), 2),
        (BashExecutionMessage(command="ls", output="ab", cancelled=False, truncated=False, timestamp=MS), 1),
        (SystemMessage(content=(text("abcd"),), sections={"a": "efgh", "b": None}, timestamp=MS), 2),
    ],
)
def test_a_message_counts_what_pi_counts(message: Message, tokens: int) -> None:
    assert heuristic(message) == tokens


def threes(said: str) -> list[str]:
    return [said[at : at + 3] for at in range(0, len(said), 3)]


def stepped(counter: TokenCounter, message: Message) -> tuple[list[int], int]:
    """How many characters each step had, and the tokens."""
    steps, lengths = counter.steps(message), list[int]()
    while True:
        try:
            lengths.append(next(steps))
        except StopIteration as end:
            return lengths, end.value


def test_a_message_counts_the_same_a_part_at_a_time() -> None:
    mixed = user((text("123456789"), IMAGE, text("1")))

    assert stepped(heuristic, mixed) == ([9, 1], heuristic(mixed)) == ([9, 1], 1203)
    assert stepped(attrs.evolve(heuristic, cut=threes), mixed) == ([3, 3, 3, 1], 1203)


def test_declared_tools_count_as_their_json() -> None:
    tool = ToolDefinition(name="a", description="b", parameters={})
    message = SystemMessage(content="", tools_added=(tool,), timestamp=MS)

    assert heuristic(message) == -(-len('[{"name":"a","description":"b","parameters":{}}]') // 4)


def test_numbers_count_as_javascript_writes_them() -> None:
    assert heuristic(assistant(call("x", a=1.0, b=[2.0]))) == heuristic(assistant(call("x", a=1, b=[2])))
    assert heuristic(assistant(call("x", a=1e21))) == -(-(4 + len('{"a":1e+21}')) // 4)


def test_characters_of_arguments_count_as_themselves_and_not_as_escapes() -> None:
    assert heuristic(assistant(call("x", a="漢字漢字"))) == -(-(4 + len('{"a":"漢字漢字"}')) // 4)


def test_a_text_is_as_long_as_javascript_says() -> None:
    assert [units(words) for words in ("abc", "é", "漢字", "😀", "\ud800")] == [3, 1, 2, 2, 1]


def test_a_text_counter_counts_every_block_and_an_image_is_twelve_hundred() -> None:
    message = assistant(ThinkingContent(thinking="let me see"), call("1", "find", path="a b"), "two words")

    assert WORDS(message) == 3 + 1 + 2 + 2
    assert WORDS(user((text("one"), IMAGE, IMAGE))) == 2401
    assert attrs.evolve(WORDS, image=85)(user((IMAGE,))) == 85
    assert (WORDS.image_is_fixed, heuristic.image_is_fixed) == (False, True)


BLOCKS = st.lists(st.one_of(st.text().map(text), st.just(IMAGE)))


@given(one=BLOCKS, other=BLOCKS)
def test_a_count_is_the_sum_over_the_blocks_and_grows_with_each(
    one: list[ImageContent], other: list[ImageContent]
) -> None:
    first, second, both = (user(tuple(blocks)) for blocks in (one, other, one + other))

    assert WORDS(both) == WORDS(first) + WORDS(second)
    assert heuristic(both) >= max(heuristic(first), heuristic(second))
    assert heuristic(both) <= heuristic(first) + heuristic(second)
